package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const accountsEndpoint = "oauth2/advertiser/get/"

// roleAdvertiser is the role of what carries ads. The others are containers of accounts: workbenches, agents.
const roleAdvertiser = "ADVERTISER"

// errNoID says that a row lacks what it is known by.
var errNoID = errors.New("a row has no id")

// AccountTable implements media.Platform.
func (Platform) AccountTable() store.RawTable {
	return store.RawTable{Name: "oceanengine_account", Shape: store.AccountRows, Columns: []store.RawColumn{
		{Name: "advertiser_name", Kind: store.Text},
		{Name: "account_role", Kind: store.Text},
	}}
}

// Accounts implements media.Platform: the advertisers that authorised us directly, in one answer. Accounts that the login
// has lost are left out.
func (Platform) Accounts(ctx context.Context, api media.API, yield func([]media.FoundAccount) error) error {
	data, err := api.Get(ctx, accountsEndpoint, url.Values{})
	if err != nil {
		return err
	}
	found, err := readAccounts(data)
	if err != nil {
		return media.Broken(accountsEndpoint, err)
	}
	return yield(found)
}

func readAccounts(data json.RawMessage) ([]media.FoundAccount, error) {
	var answer struct {
		List []json.RawMessage `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	var found []media.FoundAccount
	for _, raw := range answer.List {
		var row struct {
			AdvertiserID   wire.ID `json:"advertiser_id"`
			AdvertiserName string  `json:"advertiser_name"`
			AccountRole    string  `json:"account_role"`
			IsValid        *bool   `json:"is_valid"`
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil, err
		}
		valid := row.IsValid == nil || *row.IsValid
		if !valid || (row.AccountRole != roleAdvertiser && row.AccountRole != "") {
			continue
		}
		if row.AdvertiserID == "" {
			return nil, errNoID
		}
		found = append(found, media.FoundAccount{
			ExternalID: string(row.AdvertiserID), Name: wire.Cut(row.AdvertiserName), Timezone: zoneName, Currency: currency,
			Raw: []any{wire.Text(row.AdvertiserName), wire.Text(row.AccountRole)}, JSON: raw,
		})
	}
	return found, nil
}
