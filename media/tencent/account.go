package tencent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const (
	relationsEndpoint   = "organization_account_relation/get"
	advertisersEndpoint = "advertiser/get"
	agenciesEndpoint    = "agency/get"
)

// accountsPage is how many accounts a page holds at most.
const accountsPage = 100

// wechatOnly is why an account is left out: the interfaces of v3.0 are for accounts of Tencent's own delivery.
const wechatOnly = "WeChat MP, which the Marketing API v3.0 does not serve"

// AccountTable implements media.Platform.
func (Platform) AccountTable() rawtable.Table {
	return rawtable.Table{Name: "tencent_account", Shape: rawtable.AccountRows, Columns: []rawtable.Column{
		{Name: "corporation_name", Kind: rawtable.Text},
	}}
}

// Accounts implements media.Platform. It lists the accounts below the organisation that authorised us. Any other
// login has none there: it is an agency, whose customers advertiser/get lists; an advertiser, which advertiser/get
// lists by its own id; or the company of several agencies, whose customers are listed for each agency. Only the
// answers show which of these a login is.
func (Platform) Accounts(ctx context.Context, api media.API, login string,
	yield func([]media.FoundAccount) error) error {
	l := accountLister{ctx: ctx, api: api, yield: yield}
	first := l.list(relationsEndpoint, url.Values{})
	if l.found || !isInconclusive(first) {
		return first
	}
	customers := url.Values{"fields": {asJSON([]string{"account_id", "corporation_name", "mdm_name", "system_status",
		"agency_account_id", "memo"})}}
	tries := []func() error{
		func() error { return l.list(advertisersEndpoint, customers) },
		func() error { return l.list(advertisersEndpoint, with(customers, "account_id", login)) },
		func() error { return l.ofAgencies(customers) },
	}
	if strings.Trim(login, "0123456789") != "" || login == "" {
		tries = append(tries[:1], tries[2])
	}
	answered := first == nil
	for _, try := range tries {
		err := try()
		if l.found || !isInconclusive(err) {
			return err
		}
		answered = answered || err == nil
	}
	if answered {
		return nil
	}
	return first
}

// isInconclusive reports whether an answer does not show what a login is: it lists no account, or is a refusal.
func isInconclusive(err error) bool {
	e, ok := errors.AsType[*media.Error](err)
	return err == nil || ok && (e.Class == media.Invalid || e.Class == media.Bug)
}

func with(query url.Values, name, value string) url.Values {
	both := maps.Clone(query)
	both.Set(name, value)
	return both
}

type accountLister struct {
	ctx   context.Context
	api   media.API
	yield func([]media.FoundAccount) error
	found bool
}

// list yields all pages of a list. It pages by cursor, since numbered pages end at 1,000 rows.
func (l *accountLister) list(endpoint string, query url.Values) error {
	query = with(query, "pagination_mode", "PAGINATION_MODE_CURSOR")
	query.Set("page_size", strconv.Itoa(accountsPage))
	for cursor := ""; ; {
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		data, err := l.api.Get(l.ctx, endpoint, query)
		if err != nil {
			return err
		}
		found, next, err := readAccounts(data)
		if err != nil {
			return media.Broken(endpoint, err)
		}
		l.found = l.found || len(found) > 0
		if err := l.yield(found); err != nil {
			return err
		}
		// A repeated cursor would loop forever.
		if next == "" || next == cursor {
			return nil
		}
		cursor = next
	}
}

// ofAgencies lists the customers of all agencies of a company. The platform lists only the first 1,000 agencies.
func (l *accountLister) ofAgencies(customers url.Values) error {
	var agencies []string
	for page := 1; ; page++ {
		data, err := l.api.Get(l.ctx, agenciesEndpoint, url.Values{
			"fields": {asJSON([]string{"account_id"})}, "page": {strconv.Itoa(page)}, "page_size": {strconv.Itoa(accountsPage)},
		})
		if err != nil {
			return err
		}
		ids, lost, more, err := readAgencies(data, page)
		if err != nil {
			return media.Broken(agenciesEndpoint, err)
		}
		if len(lost) > 0 {
			l.found = true
			if err := l.yield(lost); err != nil {
				return err
			}
		}
		agencies = append(agencies, ids...)
		if !more {
			break
		}
	}
	for _, id := range agencies {
		if err := l.list(advertisersEndpoint, with(customers, "agency_id", id)); err != nil {
			return err
		}
	}
	return nil
}

// readAgencies reads the ids of a page of agencies. An agency with an unusable id is lost, with its customers.
func readAgencies(data json.RawMessage, page int) (ids []string, lost []media.FoundAccount, more bool, err error) {
	var answer struct {
		List wire.List       `json:"list"`
		Info json.RawMessage `json:"page_info"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, nil, false, err
	}
	for _, raw := range answer.List {
		agency := media.OpenAccount(raw, func(row *wire.Row) media.FoundAccount {
			return media.FoundAccount{ExternalID: row.KeyNumber("account_id")}
		})
		if agency.Lost {
			lost = append(lost, agency)
		} else {
			ids = append(ids, agency.ExternalID)
		}
	}
	pages := wire.Open(answer.Info).Int("total_page")
	more = len(answer.List) > 0 && int64(page) < pages.Value || !pages.Set && len(answer.List) == accountsPage
	return ids, lost, more, nil
}

func readAccounts(data json.RawMessage) (found []media.FoundAccount, next string, err error) {
	var answer struct {
		List   wire.List       `json:"list"`
		Cursor json.RawMessage `json:"cursor_page_info"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, "", err
	}
	for _, raw := range answer.List {
		found = append(found, media.OpenAccount(raw, readAccount))
	}
	if cursor := wire.Open(answer.Cursor).Fields(); wire.Flag(cursor["has_more"]) {
		next = wire.String(cursor["cursor"])
	}
	return found, next, nil
}

func readAccount(row *wire.Row) media.FoundAccount {
	name := row.Text("corporation_name")
	a := media.FoundAccount{
		ExternalID: row.KeyNumber("account_id"), Name: wire.Cut(name), Timezone: zoneName, Currency: currency,
		Raw: []any{wire.Text(name)},
	}
	if isBid := row.Truth("is_bid"); row.Bool("is_mp") && isBid != nil && !*isBid {
		a.LeftOut = wechatOnly
	}
	return a
}
