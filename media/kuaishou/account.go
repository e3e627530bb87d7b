package kuaishou

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const (
	accountsEndpoint = "oauth2/authorize/approval/list"
	infoEndpoint     = "v1/advertiser/info"
)

// accountsPage is how many accounts a page holds at most (document 3025).
const accountsPage = 200

// AppSigned implements media.AppSigner.
func (Platform) AppSigned(endpoint string) bool { return endpoint == accountsEndpoint }

// SignApp implements media.AppSigner: the list of accounts takes the app and the token in its body.
func (Platform) SignApp(_ url.Values, body []byte, app media.App, accessToken string) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, &media.Error{Class: media.Bug, Message: "the body of a call is not an object", Err: err}
	}
	fields["app_id"], fields["secret"], fields["access_token"] = json.Number(app.ID), app.Secret.Reveal(), accessToken
	signed, err := json.Marshal(fields)
	if err != nil {
		return nil, &media.Error{Class: media.Invalid, Message: "the app's id is not a number"}
	}
	return signed, nil
}

// AccountTable implements media.Platform.
func (Platform) AccountTable() rawtable.Table {
	return rawtable.Table{Name: Name + "_account", Shape: rawtable.AccountRows, Columns: accountFields.Table()}
}

var accountFields = wire.Columns{
	text("user_name"), text("corporation_name"), text("primary_industry_name"), text("industry_name"),
	text("product_name"), number("delivery_type"),
}

// Accounts implements media.Platform. The list has the accounts' ids only (document 3025); names take a call each
// (document 2613). An account whose details the token may not see has no name. The list has no total, and accounts that
// are added or removed move the others, so that it is read twice: both readings together miss none.
func (Platform) Accounts(ctx context.Context, api media.API, _ string, yield func([]media.FoundAccount) error) error {
	seen := map[string]bool{}
	for range 2 {
		if err := listAccounts(ctx, api, seen, yield); err != nil {
			return err
		}
	}
	return nil
}

// listAccounts yields the accounts of the list that are not in seen. The platform marks the page after the last one
// with isEnd, so that the list ends with that page or with one without rows.
func listAccounts(ctx context.Context, api media.API, seen map[string]bool,
	yield func([]media.FoundAccount) error) error {
	here := map[string]bool{}
	for number := 1; ; number++ {
		data, err := api.Post(ctx, accountsEndpoint, map[string]any{"page_no": number, "page_size": accountsPage})
		if err != nil {
			return err
		}
		ids, last, err := readAccounts(data)
		if err != nil {
			return media.Broken(accountsEndpoint, err)
		}
		if len(ids) == 0 {
			return nil
		}
		if !slices.ContainsFunc(ids, func(id string) bool { return !here[id] }) {
			return &media.Error{Class: media.Transient, Message: "the pages of the list of accounts repeat themselves"}
		}
		var found []media.FoundAccount
		for _, id := range ids {
			here[id] = true
			if seen[id] {
				continue
			}
			seen[id] = true
			account, err := details(ctx, api, id)
			if err != nil {
				return err
			}
			found = append(found, account)
		}
		if len(found) > 0 {
			if err := yield(found); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
	}
}

// readAccounts returns the ids of a page, and whether it is beyond the last one.
func readAccounts(data json.RawMessage) (ids []string, last bool, err error) {
	var answer struct {
		Details []wire.ID       `json:"details"`
		End     json.RawMessage `json:"isEnd"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, false, err
	}
	for _, id := range answer.Details {
		if !id.IsNumber() {
			return nil, false, errors.New("an account's id is not a number")
		}
		ids = append(ids, string(id))
	}
	end, err := wire.TruthOf(answer.End)
	if err != nil {
		return nil, false, err
	}
	return slices.Clip(ids), end != nil && *end, nil
}

func details(ctx context.Context, api media.API, id string) (media.FoundAccount, error) {
	data, err := api.Post(ctx, infoEndpoint, map[string]any{"advertiser_id": json.Number(id)})
	if e, ok := errors.AsType[*media.Error](err); ok && e.Parks != "" {
		data, err = json.RawMessage("{}"), nil
	}
	if err != nil {
		return media.FoundAccount{}, err
	}
	return media.OpenAccount(data, func(r *wire.Row) media.FoundAccount {
		name := r.Text("user_name")
		return media.FoundAccount{ExternalID: id, Name: wire.Cut(name), Timezone: zoneName, Currency: currency,
			Raw: append([]any{wire.Text(name)}, accountFields[1:].Read(r)...)}
	}), nil
}
