package oceanengine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const (
	accountsEndpoint = "oauth2/advertiser/get/"
	infoEndpoint     = "2/advertiser/info/"
)

// infoMost is how many accounts a call may ask about.
const infoMost = 100

// forbiddenMost is how many forbidden accounts a listing looks for. A login with more of them lacks the permission itself.
const forbiddenMost = 50

// errNoID says that a row lacks what it is known by.
var errNoID = errors.New("a row has no id")

// AccountTable implements media.Platform.
func (Platform) AccountTable() store.RawTable {
	return store.RawTable{Name: "oceanengine_account", Shape: store.AccountRows, Columns: []store.RawColumn{
		{Name: "advertiser_name", Kind: store.Text},
		{Name: "account_role", Kind: store.Text},
		// Of the details, which are NULL of an account that its login may not see.
		{Name: "company", Kind: store.Text},
		{Name: "account_status", Kind: store.Text},
	}}
}

// Accounts implements media.Platform: the advertisers that authorised us directly and those of the containers that did, with the details
// of each hundred. Accounts that the login has lost are left out, as is what carries no ads; some that a list still has are forbidden all the
// same.
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
				if found[i], err = page[i].found(); err != nil {
					return media.Broken(infoEndpoint, err)
				}
			}
			if err := yield(found); err != nil {
				return err
			}
		}
		return nil
	}
	return expansion{api: api, take: take, leave: yield, seen: map[wire.ID]bool{}}.all(ctx, authorised)
}

// listedAccount is an account of a list, and what its details say. The list of what was authorised marks advertiser_id, advertiser_name and
// account_role as ones that go.
type listedAccount struct {
	AccountID      wire.ID `json:"account_id"`
	AdvertiserID   wire.ID `json:"advertiser_id"`
	AccountName    string  `json:"account_name"`
	AdvertiserName string  `json:"advertiser_name"`
	AccountType    string  `json:"account_type"`
	AccountRole    string  `json:"account_role"`
	AdvertiserType string  `json:"advertiser_type"` // of workbenches' lists
	IsValid        *bool   `json:"is_valid"`

	raw    json.RawMessage
	detail json.RawMessage // nil when they are not told
}

func (a *listedAccount) id() wire.ID  { return cmp.Or(a.AccountID, a.AdvertiserID) }
func (a *listedAccount) name() string { return cmp.Or(a.AccountName, a.AdvertiserName) }
func (a *listedAccount) role() string { return cmp.Or(a.AccountType, a.AccountRole, a.AdvertiserType) }

// isLost tells an account that the login no longer manages (document 1696710506574848).
func (a *listedAccount) isLost() bool { return a.IsValid != nil && !*a.IsValid }

func readAccounts(data json.RawMessage) ([]listedAccount, error) {
	var answer struct {
		List []json.RawMessage `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	return readListed(answer.List)
}

func readListed(rows []json.RawMessage) ([]listedAccount, error) {
	listed := make([]listedAccount, len(rows))
	for i, raw := range rows {
		if err := json.Unmarshal(raw, &listed[i]); err != nil {
			return nil, err
		}
		if listed[i].id() == "" {
			return nil, errNoID
		}
		listed[i].raw = raw
	}
	return listed, nil
}

// found is the account with its details, which its row_json has as "info".
func (a *listedAccount) found() (media.FoundAccount, error) {
	f := media.FoundAccount{
		ExternalID: string(a.id()), Name: wire.Cut(a.name()), Timezone: zoneName, Currency: currency,
		Raw: []any{wire.Text(a.name()), wire.Text(a.role()), nil, nil}, JSON: a.raw,
	}
	if a.detail == nil {
		return f, nil
	}
	var info struct {
		Name    string `json:"name"`
		Company string `json:"company"`
		Status  string `json:"status"`
	}
	whole := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(a.detail, &info), json.Unmarshal(a.raw, &whole)); err != nil {
		return f, err
	}
	if a.name() == "" { // An agency's list has ids alone.
		f.Name, f.Raw[0] = wire.Cut(info.Name), wire.Text(info.Name)
	}
	f.Raw[2], f.Raw[3] = wire.Text(info.Company), wire.Text(info.Status)
	whole["info"] = a.detail
	var err error
	f.JSON, err = json.Marshal(whole)
	return f, err
}

// details asks for the details of a login's accounts.
type details struct {
	api       media.API
	forbidden int // accounts that are, so far
}

// ask gives the accounts their details. One account that is forbidden fails the call for all of them (document 1696710508983311), which
// is then asked in halves.
func (d *details) ask(ctx context.Context, accounts []listedAccount) error {
	if len(accounts) == 0 || d.forbidden >= forbiddenMost {
		return nil
	}
	ids := make([]json.Number, len(accounts))
	for i, a := range accounts {
		ids[i] = json.Number(a.id())
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
	if err := readDetails(data, accounts); err != nil {
		return media.Broken(infoEndpoint, err)
	}
	return nil
}

// readDetails puts the rows of an answer to their accounts.
func readDetails(data json.RawMessage, accounts []listedAccount) error {
	var rows []json.RawMessage
	if err := json.Unmarshal(data, &rows); err != nil {
		return err
	}
	for _, raw := range rows {
		var row struct {
			ID wire.ID `json:"id"`
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return err
		}
		for i := range accounts {
			if accounts[i].id() == row.ID {
				accounts[i].detail = raw
			}
		}
	}
	return nil
}
