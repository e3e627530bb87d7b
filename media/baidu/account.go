package baidu

import (
	"context"
	"encoding/json"
	"errors"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const accountsEndpoint = feedPath + "MccFeedService/getUserListByMccid"

// AccountTable implements media.Platform.
func (Platform) AccountTable() rawtable.Table {
	return rawtable.Table{Name: Name + "_account", Shape: rawtable.AccountRows, Columns: accountFields.Table()}
}

var accountFields = wire.Columns{text("username"), id("mccid"), text("fatname"), text("remark")}

// Accounts implements media.Platform. The platform lists a manager's accounts in one answer without a total, which is
// read twice. It has no such list for a login that is no manager: the login is its only account.
func (Platform) Accounts(ctx context.Context, api media.API, _ string, yield func([]media.FoundAccount) error) error {
	seen := map[string]bool{}
	for range 2 {
		payload, err := ask(ctx, api, accountsEndpoint, map[string]any{})
		if e, ok := errors.AsType[*media.Error](err); ok && e.Parks != "" {
			return own(media.LoginOf(ctx), err, yield)
		}
		if err != nil {
			return err
		}
		rows, lost, err := rowsOf(accountsEndpoint, payload)
		if err == nil && len(lost) > 0 {
			err = media.Broken(accountsEndpoint, errors.New("a part of the list failed"))
		}
		if err != nil {
			return err
		}
		var found []media.FoundAccount
		for _, raw := range rows {
			account := media.OpenAccount(raw, readAccount)
			if account.Lost || !seen[account.ExternalID] {
				found = append(found, account)
			}
			seen[account.ExternalID] = true
		}
		if len(found) > 0 {
			if err := yield(found); err != nil {
				return err
			}
		}
	}
	return nil
}

func own(login media.Login, refusal error, yield func([]media.FoundAccount) error) error {
	if !wire.ID(login.ID).IsNumber() || login.Name == "" {
		return refusal // A person wrote the login: whose account it is, is not known.
	}
	row, err := json.Marshal(map[string]any{"userid": json.Number(login.ID), "username": login.Name})
	if err != nil {
		return &media.Error{Class: media.Bug, Message: "a login cannot be encoded", Err: err}
	}
	return yield([]media.FoundAccount{media.OpenAccount(row, readAccount)})
}

func readAccount(r *wire.Row) media.FoundAccount {
	name := r.Text("username")
	return media.FoundAccount{ExternalID: r.KeyNumber("userid"), Name: wire.Cut(name), Timezone: zoneName,
		Currency: currency, Raw: append([]any{wire.Text(name)}, accountFields[1:].Read(r)...)}
}
