package tencent

import (
	"slices"
	"strconv"
	"strings"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tencentRole is the role of a login, which decides how its accounts are listed: the last part of an
// account_role_type.
type tencentRole string

const (
	tencentOrganisation tencentRole = "BUSINESS_MANAGER" // organization_account_relation/get lists its accounts
	tencentAgency       tencentRole = "AGENCY"           // advertiser/get lists its customers
	// agency/get lists its agencies, and advertiser/get the customers of one.
	tencentAgencies   tencentRole = "ORGANIZATION_AGENCY_MDM"
	tencentAdvertiser tencentRole = "ADVERTISER" // advertiser/get shows the account itself
)

// agenciesOfCompany is how many agencies a company of agencies has.
const agenciesOfCompany = 2

// tencentRoleOf returns a login's role. A login with a single account is an advertiser. Of the others each third is
// an agency and each fourth a company of agencies.
func tencentRoleOf(l *world.Login) tencentRole {
	switch {
	case l.Last-l.First == 1:
		return tencentAdvertiser
	case l.Index%4 == 2:
		return tencentAgency
	case l.Index%4 == 3:
		return tencentAgencies
	}
	return tencentOrganisation
}

// name returns the display name of a login with the role.
func (r tencentRole) name(id int64) string {
	return strings.ToLower(strings.ReplaceAll(string(r), "_", " ")) + " " + strconv.FormatInt(id, 10)
}

// Ids of agencies and of their logins are below those of accounts.
const (
	agencyBase   = 5_000_000
	agencyLogins = 6_000_000
)

// agencyID returns the id of an agency of a company.
func agencyID(l *world.Login, n int) int64 { return agencyBase + int64(l.Index*agenciesOfCompany+n) }

// agencyNamed returns the agency of a company that a call names.
func (t *tencent) agencyNamed(c *platform.Call, l *world.Login, name string) (int, *platform.Failure) {
	id, err := strconv.ParseInt(c.Query.Get(name), 10, 64)
	if err != nil {
		return 0, platform.Failf(18002, "%s", name)
	}
	n := int(id - agencyID(l, 0))
	if n < 0 || n >= agenciesOfCompany {
		return 0, platform.Failf(12201, "%s %d", name, id)
	}
	return n, nil
}

// reached lists the accounts that advertiser/get shows to a login. By the page an advertiser must name its account,
// and a company of agencies one agency; other logins need no parameter.
func (t *tencent) reached(c *platform.Call, l *world.Login) ([]world.Account, *platform.Failure) {
	role := tencentRoleOf(l)
	switch {
	case c.Query.Get("account_id") != "":
		a, err := t.account(c, l)
		if err != nil {
			return nil, err
		}
		return []world.Account{a}, nil
	case role == tencentAdvertiser:
		return nil, platform.Failf(18001, "account_id")
	case role == tencentAgencies && c.Query.Get("agency_id") == "":
		return nil, platform.Failf(18001, "agency_id")
	}
	list := t.accountsOf(c, l)
	if role == tencentAgencies {
		n, err := t.agencyNamed(c, l, "agency_id")
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(a world.Account) bool { return a.Index%agenciesOfCompany != n })
	}
	return list, nil
}

// tencentAgencyFields are the fields of agency/get.
var tencentAgencyFields = map[string]platform.Write[int64]{
	"account_id":       func(w *platform.Writer, id int64) { w.Number(id) },
	"corporation_name": func(w *platform.Writer, id int64) { w.Text("Agency " + strconv.FormatInt(id, 10)) },
	"system_status":    platform.Fixed[int64](`"CUSTOMER_STATUS_NORMAL"`),
	"reject_message":   platform.Fixed[int64](`""`),
	"parent_agency_id": platform.Fixed[int64]("0"),
	"memo":             platform.Fixed[int64](`""`),
}

// agencies answers agency/get: an agency names itself, a company of agencies one of its agencies or none.
func (t *tencent) agencies(c *platform.Call, l *world.Login) *platform.Failure {
	fields, err := readFields(c, func(f string) bool { return tencentAgencyFields[f] != nil })
	if err != nil {
		return err
	}
	for name, missing := range map[string]bool{"fields": fields == nil, "page": c.Query.Get("page") == "",
		"page_size": c.Query.Get("page_size") == ""} {
		if missing {
			return platform.Failf(18001, "%s", name)
		}
	}
	page, err := integer(c, "page", 1, 1000)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	ids, err := t.agencyIDs(c, l)
	if err != nil {
		return err
	}
	from, to, total := c.PageOf(page, size, len(ids))
	w := begin(c)
	w.OpenArray("list")
	for _, id := range ids[from:to] {
		w.Open('{')
		for _, f := range fields {
			w.Key(f)
			tencentAgencyFields[f](&w, id)
		}
		w.Close('}')
	}
	w.Close(']')
	w.PageInfo(page, size, total)
	end(c, &w)
	return nil
}

func (t *tencent) agencyIDs(c *platform.Call, l *world.Login) (ids []int64, _ *platform.Failure) {
	named := c.Query.Get("account_id")
	user, _ := t.about.User(c.Sim.World, l)
	switch role := tencentRoleOf(l); {
	case role == tencentAgency && named == "":
		return nil, platform.Failf(18001, "account_id")
	case role == tencentAgency && named == strconv.FormatInt(user, 10):
		return []int64{user}, nil
	case role != tencentAgencies:
		return nil, platform.Failf(12201, "account_id %s", named)
	case named != "":
		n, err := t.agencyNamed(c, l, "account_id")
		return []int64{agencyID(l, n)}, err
	}
	for n := range agenciesOfCompany {
		ids = append(ids, agencyID(l, n))
	}
	return ids, nil
}
