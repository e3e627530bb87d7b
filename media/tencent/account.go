package tencent

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const accountsEndpoint = "organization_account_relation/get"

// accountsPage is the most that a page of accounts holds.
const accountsPage = 100

// AccountTable implements media.Platform.
func (Platform) AccountTable() store.RawTable {
	return store.RawTable{Name: "tencent_account", Shape: store.AccountRows, Columns: []store.RawColumn{
		{Name: "corporation_name", Kind: store.Text},
	}}
}

// Accounts implements media.Platform: the accounts below the organisation that authorised us. It pages by cursor, since
// numbered pages end at 1,000 rows.
func (Platform) Accounts(ctx context.Context, api media.API, _ string, yield func([]media.FoundAccount) error) error {
	for cursor := ""; ; {
		query := url.Values{
			"pagination_mode": {"PAGINATION_MODE_CURSOR"},
			"page_size":       {strconv.Itoa(accountsPage)},
		}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		data, err := api.Get(ctx, accountsEndpoint, query)
		if err != nil {
			return err
		}
		found, next, err := readAccounts(data)
		if err != nil {
			return media.Broken(accountsEndpoint, err)
		}
		if err := yield(found); err != nil {
			return err
		}
		// The same cursor again would never end.
		if next == "" || next == cursor {
			return nil
		}
		cursor = next
	}
}

func readAccounts(data json.RawMessage) (found []media.FoundAccount, next string, err error) {
	var answer struct {
		List   []json.RawMessage `json:"list"`
		Cursor struct {
			HasMore bool     `json:"has_more"`
			Cursor  wire.Int `json:"cursor"`
		} `json:"cursor_page_info"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, "", err
	}
	for _, raw := range answer.List {
		var row struct {
			AccountID       wire.ID `json:"account_id"`
			CorporationName string  `json:"corporation_name"`
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil, "", err
		}
		if row.AccountID == "" {
			return nil, "", errNoID
		}
		found = append(found, media.FoundAccount{
			ExternalID: string(row.AccountID), Name: wire.Cut(row.CorporationName), Timezone: zoneName, Currency: currency,
			Raw: []any{wire.Text(row.CorporationName)}, JSON: raw,
		})
	}
	if answer.Cursor.HasMore && answer.Cursor.Cursor.Set {
		next = strconv.FormatInt(answer.Cursor.Cursor.Value, 10)
	}
	return found, next, nil
}
