package bilibili

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// A login reaches subjects (STACK), and a subject has accounts. GUIDE names the list of accounts; its path and fields
// are not documented, nor are the fields of subjects.
const (
	subjectsEndpoint = "oauth2/subjects"
	accountsEndpoint = "oauth2/accounts"
)

// AccountTable implements media.Platform.
func (Platform) AccountTable() rawtable.Table {
	return rawtable.Table{Name: Name + "_account", Shape: rawtable.AccountRows, Columns: []rawtable.Column{
		{Name: "account_name", Kind: rawtable.Text},
		{Name: "subject_id", Kind: rawtable.Text},
		{Name: "subject_name", Kind: rawtable.Text},
	}}
}

// Accounts implements media.Platform. The lists have no total, and accounts that are added or removed move the others,
// so that they are read twice: both readings together miss none.
func (Platform) Accounts(ctx context.Context, api media.API, _ string, yield func([]media.FoundAccount) error) error {
	seen := map[string]bool{}
	for range 2 {
		subjects, err := listSubjects(ctx, api)
		if err != nil {
			return err
		}
		for _, of := range subjects {
			if err := of.listAccounts(ctx, api, seen, yield); err != nil {
				return err
			}
		}
	}
	return nil
}

// subject is a company that has accounts.
type subject struct{ id, name string }

func listSubjects(ctx context.Context, api media.API) ([]subject, error) {
	data, err := api.Get(ctx, subjectsEndpoint, url.Values{})
	if err != nil {
		return nil, err
	}
	subjects, err := readSubjects(data)
	if err != nil {
		return nil, media.Broken(subjectsEndpoint, err)
	}
	return subjects, nil
}

// readSubjects reads the subjects of a login. One whose id is unusable makes the whole list unusable: its accounts
// would seem to be gone.
func readSubjects(data json.RawMessage) (subjects []subject, err error) {
	rows, err := wire.Elements(data)
	if err != nil || rows == nil {
		return nil, errors.New("the answer is not a list")
	}
	for _, raw := range rows {
		row := wire.Open(raw)
		subjects = append(subjects, subject{row.KeyNumber("subject_id"), row.Text("subject_name")})
		if row.Lost() {
			return nil, errors.New("a subject has no usable subject_id")
		}
	}
	return subjects, nil
}

// listAccounts yields the subject's accounts that are not in seen. Accounts without a usable id are yielded each time.
func (s subject) listAccounts(ctx context.Context, api media.API, seen map[string]bool,
	yield func([]media.FoundAccount) error) error {
	before := ""
	for token := ""; ; {
		var found []media.FoundAccount
		first := ""
		page, err := rowsOf(accountsEndpoint).Page(ctx, api, token, url.Values{"subject_id": {s.id}},
			func(_ *media.Page, raw json.RawMessage) {
				if first == "" {
					first = string(raw)
				}
				if a := media.OpenAccount(raw, s.readAccount); a.Lost || !seen[a.ExternalID] {
					seen[a.ExternalID] = true
					found = append(found, a)
				}
			})
		switch {
		case err != nil:
			return err
		case first != "" && first == before:
			return &media.Error{Class: media.Transient, Message: "the pages of the list of accounts repeat themselves"}
		case len(found) > 0:
			if err := yield(found); err != nil {
				return err
			}
		}
		if token, before = page.Next, first; token == "" {
			return nil
		}
	}
}

func (s subject) readAccount(r *wire.Row) media.FoundAccount {
	name := r.Text("account_name")
	return media.FoundAccount{
		ExternalID: r.KeyNumber("account_id"), Name: wire.Cut(name), Timezone: zoneName, Currency: currency,
		Raw: []any{wire.Text(name), wire.Text(s.id), wire.Text(s.name)},
	}
}
