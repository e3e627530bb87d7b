package tiktok

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

const (
	accountsEndpoint = "oauth2/advertiser/get/"
	infoEndpoint     = "advertiser/info/"
)

// infoMost is how many accounts one call for details takes.
const infoMost = 100

// forbiddenMost is how many accounts without details a listing looks for. A login with more of them lacks the
// permission itself, and the listing fails.
const forbiddenMost = 50

// detailFields are the fields of an account that are requested.
var detailFields = []string{"advertiser_id", "name", "company", "role", "status", "currency", "timezone",
	"display_timezone", "create_time"}

// forbidden is why an account is left out: without details its zone and its currency are unknown.
const forbidden = "the login may not read its details"

// AppSigned implements media.AppSigner.
func (Platform) AppSigned(endpoint string) bool { return endpoint == accountsEndpoint }

// SignApp implements media.AppSigner: the list of accounts takes the app and its secret in the query.
func (Platform) SignApp(query url.Values, body []byte, app media.App, _ string) ([]byte, error) {
	query.Set("app_id", app.ID)
	query.Set("secret", app.Secret.Reveal())
	return body, nil
}

// AccountTable implements media.Platform.
func (Platform) AccountTable() rawtable.Table {
	return rawtable.Table{Name: Name + "_account", Shape: rawtable.AccountRows, Columns: []rawtable.Column{
		{Name: "name", Kind: rawtable.Text}, {Name: "company", Kind: rawtable.Text}, {Name: "role", Kind: rawtable.Text},
		{Name: "status", Kind: rawtable.Text}, {Name: "currency", Kind: rawtable.Text},
		{Name: "timezone", Kind: rawtable.Text}, {Name: "create_time", Kind: rawtable.Instant},
	}}
}

// Accounts implements media.Platform. The list has all accounts that the login has authorised, without pages. Their
// details come from another endpoint, 100 accounts at a time.
func (Platform) Accounts(ctx context.Context, api media.API, _ string, yield func([]media.FoundAccount) error) error {
	data, err := api.Get(ctx, accountsEndpoint, url.Values{})
	if err != nil {
		return err
	}
	ids, lost, err := readAccounts(data)
	if err != nil {
		return media.Broken(accountsEndpoint, err)
	}
	if len(lost) > 0 {
		if err := yield(lost); err != nil {
			return err
		}
	}
	d := details{api: api}
	for some := range slices.Chunk(ids, infoMost) {
		found, err := d.ask(ctx, some)
		if err != nil {
			return err
		}
		if err := yield(found); err != nil {
			return err
		}
	}
	return nil
}

// Describe implements media.Describer: only the list of accounts takes the app's secret.
func (Platform) Describe(ctx context.Context, api media.API) (media.FoundAccount, error) {
	d := details{api: api, none: forbiddenMost}
	found, err := d.ask(ctx, []string{api.Account().ExternalID})
	if err != nil {
		return media.FoundAccount{}, err
	}
	return found[0], nil
}

// readAccounts returns the ids of the accounts of a list, each once, and the rows without a usable one.
func readAccounts(data json.RawMessage) (ids []string, lost []media.FoundAccount, err error) {
	var answer map[string]json.RawMessage
	var list wire.List
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, nil, err
	}
	if answer["list"] == nil {
		return nil, nil, errors.New("there is no list")
	}
	if err := json.Unmarshal(answer["list"], &list); err != nil {
		return nil, nil, err
	}
	for _, raw := range list {
		a := media.OpenAccount(raw, func(r *wire.Row) media.FoundAccount {
			return media.FoundAccount{ExternalID: r.KeyNumber("advertiser_id")}
		})
		switch {
		case a.Lost:
			lost = append(lost, a)
		case !slices.Contains(ids, a.ExternalID):
			ids = append(ids, a.ExternalID)
		}
	}
	return ids, lost, nil
}

// details requests the details of a login's accounts.
type details struct {
	api  media.API
	none int // accounts without details so far
}

// ask returns accounts with their details. Whether one forbidden account fails the call for all of them is not
// documented: then the call is repeated for each half.
func (d *details) ask(ctx context.Context, ids []string) ([]media.FoundAccount, error) {
	data, err := d.api.Get(ctx, infoEndpoint, url.Values{"advertiser_ids": {asJSON(ids)},
		"fields": {asJSON(detailFields)}})
	if e, ok := errors.AsType[*media.Error](err); ok && e.Parks == media.Revoked {
		if len(ids) == 1 {
			return d.leaveOut(ids[0], err)
		}
		half := len(ids) / 2
		first, err := d.ask(ctx, ids[:half])
		if err != nil {
			return nil, err
		}
		second, err := d.ask(ctx, ids[half:])
		return slices.Concat(first, second), err
	}
	if err != nil {
		return nil, err
	}
	rows, err := readDetails(data)
	if err != nil {
		return nil, media.Broken(infoEndpoint, err)
	}
	var found []media.FoundAccount
	for _, id := range ids {
		if a, has := rows[id]; has {
			found = append(found, a)
			continue
		}
		left, err := d.leaveOut(id, &media.Error{Class: media.Transient,
			Message: fmt.Sprintf("%s returns no details of the login's accounts", infoEndpoint)})
		if err != nil {
			return nil, err
		}
		found = append(found, left...)
	}
	return found, nil
}

// leaveOut leaves an account out. With too many of them it returns why.
func (d *details) leaveOut(id string, why error) ([]media.FoundAccount, error) {
	if d.none++; d.none > forbiddenMost {
		return nil, why
	}
	return []media.FoundAccount{{ExternalID: id, LeftOut: forbidden}}, nil
}

// readDetails returns the accounts of an answer by their ids. A row with an unusable id belongs to no account.
func readDetails(data json.RawMessage) (map[string]media.FoundAccount, error) {
	var answer struct {
		List wire.List `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	rows := map[string]media.FoundAccount{}
	for _, raw := range answer.List {
		a := media.OpenAccount(raw, readDetail)
		rows[a.ExternalID] = a
	}
	return rows, nil
}

// readDetail reads an account. Without a usable zone and currency no report can be pulled, so that the row is lost.
func readDetail(r *wire.Row) media.FoundAccount {
	a := media.FoundAccount{ExternalID: r.KeyNumber("advertiser_id"), Name: wire.Cut(r.Text("name")),
		Timezone: r.Text("timezone"), Currency: r.Text("currency")}
	if zone, err := time.LoadLocation(a.Timezone); err != nil || a.Timezone == "" || zone == time.Local {
		r.Lose("timezone", fmt.Errorf("%.40q is not the name of a zone", a.Timezone))
	}
	if len(a.Currency) != len("USD") {
		r.Lose("currency", fmt.Errorf("%.40q is not a currency", a.Currency))
	}
	a.Raw = []any{wire.Text(a.Name), wire.Text(r.Text("company")), wire.Text(r.Text("role")), wire.Text(r.Text("status")),
		wire.Text(a.Currency), wire.Text(a.Timezone), sqldb.At(r.Unix("create_time"))}
	return a
}
