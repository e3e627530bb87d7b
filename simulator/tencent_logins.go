package simulator

import (
	"slices"
	"strconv"
	"strings"
)

// tencentRole is what a login is, which decides how its accounts can be listed: the last part of an account_role_type.
type tencentRole string

const (
	tencentOrganisation tencentRole = "BUSINESS_MANAGER"        // organization_account_relation/get lists its accounts
	tencentAgency       tencentRole = "AGENCY"                  // advertiser/get lists its customers
	tencentAgencies     tencentRole = "ORGANIZATION_AGENCY_MDM" // agency/get lists its agencies, and advertiser/get the customers of one
	tencentAdvertiser   tencentRole = "ADVERTISER"              // advertiser/get shows the account itself
)

// agenciesOfCompany is how many agencies a company of agencies has.
const agenciesOfCompany = 2

// tencentRoleOf is a login's role. One that reaches a single account is that of an advertiser, and of others each third
// is an agency's and each fourth that of a company of agencies.
func tencentRoleOf(l *login) tencentRole {
	switch {
	case l.last-l.first == 1:
		return tencentAdvertiser
	case l.index%4 == 2:
		return tencentAgency
	case l.index%4 == 3:
		return tencentAgencies
	}
	return tencentOrganisation
}

// name is what people call a login of the role.
func (r tencentRole) name(id int64) string {
	return strings.ToLower(strings.ReplaceAll(string(r), "_", " ")) + " " + strconv.FormatInt(id, 10)
}

// Ids of agencies and of their logins are below those of accounts.
const (
	agencyBase   = 5_000_000
	agencyLogins = 6_000_000
)

// agencyID is the id of an agency of a company.
func agencyID(l *login, n int) int64 { return agencyBase + int64(l.index*agenciesOfCompany+n) }

// agencyNamed finds the agency of a company that a call names.
func (t *tencent) agencyNamed(c *call, l *login, name string) (int, *apiError) {
	id, err := strconv.ParseInt(c.query.Get(name), 10, 64)
	if err != nil {
		return 0, failure(18002, "%s", name)
	}
	n := int(id - agencyID(l, 0))
	if n < 0 || n >= agenciesOfCompany {
		return 0, failure(12201, "%s %d", name, id)
	}
	return n, nil
}

// reached lists the accounts that advertiser/get shows a login. The page says that an advertiser must name its account,
// and a company of agencies one of them, which others need not.
func (t *tencent) reached(c *call, l *login) ([]account, *apiError) {
	role := tencentRoleOf(l)
	switch {
	case c.query.Get("account_id") != "":
		a, err := t.account(c, l)
		if err != nil {
			return nil, err
		}
		return []account{a}, nil
	case role == tencentAdvertiser:
		return nil, failure(18001, "account_id")
	case role == tencentAgencies && c.query.Get("agency_id") == "":
		return nil, failure(18001, "agency_id")
	}
	list := t.accountsOf(c, l)
	if role == tencentAgencies {
		n, err := t.agencyNamed(c, l, "agency_id")
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(a account) bool { return a.index%agenciesOfCompany != n })
	}
	return list, nil
}

// tencentAgencyFields are those of agency/get.
var tencentAgencyFields = map[string]write[int64]{
	"account_id":       func(w *jsonWriter, id int64) { w.number(id) },
	"corporation_name": func(w *jsonWriter, id int64) { w.text("Agency " + strconv.FormatInt(id, 10)) },
	"system_status":    fixed[int64](`"CUSTOMER_STATUS_NORMAL"`),
	"reject_message":   fixed[int64](`""`),
	"parent_agency_id": fixed[int64]("0"),
	"memo":             fixed[int64](`""`),
}

// agencies answers agency/get: an agency names itself, a company of agencies one of its own or none.
func (t *tencent) agencies(c *call, l *login) *apiError {
	fields, err := t.fields(c, func(f string) bool { return tencentAgencyFields[f] != nil })
	if err != nil {
		return err
	}
	for name, missing := range map[string]bool{"fields": fields == nil, "page": c.query.Get("page") == "", "page_size": c.query.Get("page_size") == ""} {
		if missing {
			return failure(18001, "%s", name)
		}
	}
	page, err := t.integer(c, "page", 1, 1000)
	if err != nil {
		return err
	}
	size, err := t.integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	ids, err := t.agencyIDs(c, l)
	if err != nil {
		return err
	}
	from, to, total := c.pageOf(page, size, len(ids))
	w := t.begin(c)
	w.openArray("list")
	for _, id := range ids[from:to] {
		w.open('{')
		for _, f := range fields {
			w.key(f)
			tencentAgencyFields[f](&w, id)
		}
		w.close('}')
	}
	w.close(']')
	w.pageInfo(page, size, total)
	t.end(c, &w)
	return nil
}

func (t *tencent) agencyIDs(c *call, l *login) (ids []int64, _ *apiError) {
	named := c.query.Get("account_id")
	user, _ := t.about.user(c.sim.world, l)
	switch role := tencentRoleOf(l); {
	case role == tencentAgency && named == "":
		return nil, failure(18001, "account_id")
	case role == tencentAgency && named == strconv.FormatInt(user, 10):
		return []int64{user}, nil
	case role != tencentAgencies:
		return nil, failure(12201, "account_id %s", named)
	case named != "":
		n, err := t.agencyNamed(c, l, "account_id")
		return []int64{agencyID(l, n)}, err
	}
	for n := range agenciesOfCompany {
		ids = append(ids, agencyID(l, n))
	}
	return ids, nil
}
