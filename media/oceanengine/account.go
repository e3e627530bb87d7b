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

// infoMost is how many accounts one call for details takes.
const infoMost = 100

// forbiddenMost is how many forbidden accounts a listing searches for. A login with more of them lacks the permission
// itself.
const forbiddenMost = 50

// errNoID reports a row without an id.
var errNoID = errors.New("a row has no id")

// AccountTable implements media.Platform.
func (Platform) AccountTable() rawtable.Table {
	return rawtable.Table{Name: "oceanengine_account", Shape: rawtable.AccountRows, Columns: []rawtable.Column{
		{Name: "advertiser_name", Kind: rawtable.Text},
		{Name: "account_role", Kind: rawtable.Text},
		// From the details, which are NULL for an account that its login may not see.
		{Name: "company", Kind: rawtable.Text},
		{Name: "account_status", Kind: rawtable.Text},
	}}
}

// Accounts implements media.Platform. It lists the advertisers that authorised us directly and those of the
// containers that did, with details that it requests for 100 accounts at a time. It leaves out accounts that the
// login has lost and accounts that carry no ads. Some accounts of a list may be forbidden.
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

// listedAccount is an account of a list, with its details. The list of authorised accounts marks advertiser_id,
// advertiser_name and account_role as deprecated.
type listedAccount struct {
	AccountID      wire.ID
	AdvertiserID   wire.ID
	AccountName    string
	AdvertiserName string
	AccountType    string
	AccountRole    string
	AdvertiserType string // in workbenches' lists
	IsValid        *bool

	raw    json.RawMessage
	faults []wire.Fault
	lost   bool            // its id is unusable
	detail json.RawMessage // nil without details
}

func (a *listedAccount) id() wire.ID  { return cmp.Or(a.AccountID, a.AdvertiserID) }
func (a *listedAccount) name() string { return cmp.Or(a.AccountName, a.AdvertiserName) }
func (a *listedAccount) role() string { return cmp.Or(a.AccountType, a.AccountRole, a.AdvertiserType) }

// isLost reports whether the login no longer manages the account (document 1696710506574848).
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
		case !id.IsNumber(): // Calls need a number.
			r.Lose("account_id", fmt.Errorf("%.40q is not a number", string(id)))
		}
		a.raw, a.faults, a.lost = r.JSON(), r.Faults(), r.Lost()
		listed[i] = a
	}
	return listed
}

// found returns the account with its details, which are "info" in its row_json.
func (a *listedAccount) found() media.FoundAccount {
	f := media.FoundAccount{
		ExternalID: string(a.id()), Name: wire.Cut(a.name()), Timezone: zoneName, Currency: currency,
		Raw: []any{wire.Text(a.name()), wire.Text(a.role()), nil, nil}, JSON: a.raw, Faults: a.faults, Lost: a.lost,
	}
	if a.detail == nil || a.lost {
		return f
	}
	info, whole := wire.Open(a.detail), wire.Open(a.raw).Fields()
	if a.name() == "" { // An agency's list has only ids.
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

// details requests the details of a login's accounts.
type details struct {
	api       media.API
	forbidden int // forbidden accounts so far
}

// ask sets the details of the accounts. One forbidden account fails the call for all of them (document
// 1696710508983311); then the call is repeated for each half.
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

// readDetails assigns the rows of an answer to their accounts. Without a readable list the accounts stay as they are
// in the list of accounts.
func readDetails(data json.RawMessage, accounts []listedAccount) {
	var rows []json.RawMessage
	if err := json.Unmarshal(data, &rows); err != nil {
		accounts[0].faults = append(accounts[0].faults,
			wire.Fault{Field: "info", Kind: wire.AttributeFault, Why: "is not a list"})
	}
	for _, raw := range rows {
		id := wire.Open(raw).ID("id") // A row with an unusable id matches no account, which then stays as it is in the list.
		for i := range accounts {
			if !accounts[i].lost && accounts[i].id() == id {
				accounts[i].detail = raw
			}
		}
	}
}
