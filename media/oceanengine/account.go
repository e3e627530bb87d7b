package oceanengine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const (
	accountsEndpoint = "oauth2/advertiser/get/"
	infoEndpoint     = "2/advertiser/info/"
)

// infoMost is how many accounts a call may ask about.
const infoMost = 100

// forbiddenMost is how many forbidden accounts a listing looks for. A login with more of them lacks the permission
// itself.
const forbiddenMost = 50

// errNoID says that a row lacks what it is known by.
var errNoID = errors.New("a row has no id")

// AccountTable implements media.Platform.
func (Platform) AccountTable() rawtable.Table {
	return rawtable.Table{Name: "oceanengine_account", Shape: rawtable.AccountRows, Columns: []rawtable.Column{
		{Name: "advertiser_name", Kind: rawtable.Text},
		{Name: "account_role", Kind: rawtable.Text},
		// Of the details, which are NULL of an account that its login may not see.
		{Name: "company", Kind: rawtable.Text},
		{Name: "account_status", Kind: rawtable.Text},
	}}
}

// Accounts implements media.Platform: the advertisers that authorised us directly and those of the containers that
// did, with the details of each hundred. Accounts that the login has lost are left out, as is what carries no ads;
// some that a list still has are forbidden all the same.
func (Platform) Accounts(ctx context.Context, api media.API, _ string, yield func([]media.FoundAccount) error) error {
	data, err := api.Get(ctx, accountsEndpoint, url.Values{})
	if err != nil {
		return err
	}
	authorised, err := readAccounts(data)
	if err != nil {
		return media.Broken(accountsEndpoint, err)
	}
	d := details{api: api}
	take := func(listed []listedAccount) error {
		for page := range slices.Chunk(listed, infoMost) {
			if err := d.ask(ctx, page); err != nil {
				return err
			}
			found := make([]media.FoundAccount, len(page))
			for i := range page {
				found[i] = page[i].found()
			}
			if err := yield(found); err != nil {
				return err
			}
		}
		return nil
	}
	return expansion{api: api, take: take, leave: yield, seen: map[wire.ID]bool{}}.all(ctx, authorised)
}

// listedAccount is an account of a list, and what its details say. The list of what was authorised marks
// advertiser_id, advertiser_name and account_role as ones that go.
type listedAccount struct {
	AccountID      wire.ID
	AdvertiserID   wire.ID
	AccountName    string
	AdvertiserName string
	AccountType    string
	AccountRole    string
	AdvertiserType string // of workbenches' lists
	IsValid        *bool

	raw    json.RawMessage
	faults []wire.Fault
	lost   bool            // its id cannot be used
	detail json.RawMessage // nil when they are not told
}

func (a *listedAccount) id() wire.ID  { return cmp.Or(a.AccountID, a.AdvertiserID) }
func (a *listedAccount) name() string { return cmp.Or(a.AccountName, a.AdvertiserName) }
func (a *listedAccount) role() string { return cmp.Or(a.AccountType, a.AccountRole, a.AdvertiserType) }

// isLost tells an account that the login no longer manages (document 1696710506574848).
func (a *listedAccount) isLost() bool { return a.IsValid != nil && !*a.IsValid }

func readAccounts(data json.RawMessage) ([]listedAccount, error) {
	var answer struct {
		List wire.List `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	return readListed(answer.List), nil
}

func readListed(rows []json.RawMessage) []listedAccount {
	listed := make([]listedAccount, len(rows))
	for i, raw := range rows {
		r := wire.Open(raw)
		a := listedAccount{
			AccountID: r.ID("account_id"), AdvertiserID: r.ID("advertiser_id"), AccountName: r.Text("account_name"),
			AdvertiserName: r.Text("advertiser_name"),
			AccountType:    r.Text("account_type"), AccountRole: r.Text("account_role"),
			AdvertiserType: r.Text("advertiser_type"),
			IsValid:        r.Truth("is_valid"),
		}
		switch id := a.id(); {
		case id == "":
			r.Lose("account_id", errNoID)
		case !id.IsNumber(): // Calls take it as one.
			r.Lose("account_id", fmt.Errorf("%.40q is not a number", string(id)))
		}
		a.raw, a.faults, a.lost = r.JSON(), r.Faults(), r.Lost()
		listed[i] = a
	}
	return listed
}

// found is the account with its details, which its row_json has as "info".
func (a *listedAccount) found() media.FoundAccount {
	f := media.FoundAccount{
		ExternalID: string(a.id()), Name: wire.Cut(a.name()), Timezone: zoneName, Currency: currency,
		Raw: []any{wire.Text(a.name()), wire.Text(a.role()), nil, nil}, JSON: a.raw, Faults: a.faults, Lost: a.lost,
	}
	if a.detail == nil || a.lost {
		return f
	}
	info, whole := wire.Open(a.detail), wire.Open(a.raw).Fields()
	if a.name() == "" { // An agency's list has ids alone.
		name := info.Text("name")
		f.Name, f.Raw[0] = wire.Cut(name), wire.Text(name)
	}
	f.Raw[2], f.Raw[3] = wire.Text(info.Text("company")), wire.Text(info.Text("status"))
	whole["info"] = info.JSON()
	if text, err := json.Marshal(whole); err == nil {
		f.JSON = text
	}
	for _, fault := range info.Faults() {
		fault.Field = "info." + fault.Field
		f.Faults = append(f.Faults, fault)
	}
	return f
}

// details asks for the details of a login's accounts.
type details struct {
	api       media.API
	forbidden int // accounts that are, so far
}

// ask gives the accounts their details. One account that is forbidden fails the call for all of them (document
// 1696710508983311), which is then asked in halves.
func (d *details) ask(ctx context.Context, accounts []listedAccount) error {
	if len(accounts) == 0 || d.forbidden >= forbiddenMost {
		return nil
	}
	var ids []json.Number
	for _, a := range accounts {
		if !a.lost {
			ids = append(ids, json.Number(a.id()))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return media.Broken(accountsEndpoint, err)
	}
	data, err := d.api.Get(ctx, infoEndpoint, url.Values{"advertiser_ids": {string(text)}})
	if e, ok := errors.AsType[*media.Error](err); ok && e.Parks == media.Revoked {
		if len(accounts) == 1 {
			d.forbidden++
			return nil
		}
		half := len(accounts) / 2
		if err := d.ask(ctx, accounts[:half]); err != nil {
			return err
		}
		return d.ask(ctx, accounts[half:])
	}
	if err != nil {
		return err
	}
	readDetails(data, accounts)
	return nil
}

// readDetails puts the rows of an answer to their accounts. Without a list of them the accounts keep what the list of
// accounts says.
func readDetails(data json.RawMessage, accounts []listedAccount) {
	var rows []json.RawMessage
	if err := json.Unmarshal(data, &rows); err != nil {
		accounts[0].faults = append(accounts[0].faults,
			wire.Fault{Field: "info", Kind: wire.AttributeFault, Why: "is not a list"})
	}
	for _, raw := range rows {
		id := wire.Open(raw).ID("id") // One that cannot be used is nobody's: the account keeps what the list says.
		for i := range accounts {
			if !accounts[i].lost && accounts[i].id() == id {
				accounts[i].detail = raw
			}
		}
	}
}
