// Package account writes the accounts that the platforms list, and decides which of them are active, parked or new.
package account

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/plural"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/media"
	"adsync/media/token"
	"adsync/media/wire"
)

// Caller makes the API for a login.
type Caller interface {
	ForLogin(tokenID int64) media.CountingAPI
}

// Options holds what the handler uses.
type Options struct {
	Platform media.Platform
	Caller   Caller
	Store    *store.Store
	Logger   *slog.Logger
	// Registerer takes the metric of unusable values; with nil there is no metric.
	Registerer prometheus.Registerer
}

// Listed is the result of a list of accounts.
type Listed struct {
	Rows int
	// LeftOut holds the listed accounts that cannot be pulled, by reason.
	LeftOut map[string][]string
}

// Note names the accounts that are left out, with the reason, or reports that the list is empty. It returns "" if
// neither is so.
func (l Listed) Note() string {
	if l.Rows == 0 && len(l.LeftOut) == 0 {
		return "the platform lists no account of this login"
	}
	const shown = 3
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(l.LeftOut)) {
		ids := l.LeftOut[reason]
		part := "left out: account "
		if len(ids) > 1 {
			part = fmt.Sprintf("left out: %s ", plural.Count(len(ids), "account", "accounts"))
		}
		part += strings.Join(ids[:min(len(ids), shown)], ", ")
		if len(ids) > shown {
			part += " and others"
		}
		parts = append(parts, part+" ("+reason+")")
	}
	return strings.Join(parts, "; ")
}

// Handler returns "<media>.account_list". It writes the accounts that each login reaches to media_account, and the
// platform's rows to its account table. New accounts are active, and bound unless the login's new accounts wait for a
// choice. Names follow the platform, and nothing is deleted. An account that a login no longer reaches moves to
// another login that does.
func Handler(o Options) media.Handler {
	return media.Handler{
		Name:   o.Platform.Name() + ".account_list",
		Target: media.Logins,
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			id, err := token.LoginOf(work.Part)
			if err != nil {
				return media.Result{}, err
			}
			api := o.Caller.ForLogin(id)
			listed, err := o.List(ctx, api, id)
			return media.Result{Rows: listed.Rows, Calls: api.Calls()}, err
		},
	}
}

// List writes the accounts that a login reaches, and logs the note of the result.
func (o Options) List(ctx context.Context, api media.API, tokenID int64) (Listed, error) {
	listed, err := o.list(ctx, api, tokenID)
	if note := listed.Note(); err == nil && note != "" {
		o.Logger.Warn("accounts of a login are left out", "media", o.Platform.Name(), "login_id", tokenID, "accounts",
			note)
	}
	if err != nil {
		err = fmt.Errorf("list the accounts of login %d: %w", tokenID, err)
	}
	return listed, err
}

// list writes page by page. If a later page fails, the next run writes the rest.
func (o Options) list(ctx context.Context, api media.API, tokenID int64) (listed Listed, err error) {
	began, err := o.Store.Config.Now(ctx)
	if err != nil {
		return listed, fmt.Errorf("read the database's time: %w", err)
	}
	login, err := o.Store.Token(ctx, tokenID)
	if err != nil {
		return listed, err
	}
	// Read before the first request: of two lists of the same accounts, the one that began later holds.
	now, err := o.Store.Data.Now(ctx)
	if err != nil {
		return listed, fmt.Errorf("read the database's time: %w", err)
	}
	version := now.UnixMicro()
	var lost error
	listing := media.WithLogin(ctx, media.Login{ID: login.Login, Name: login.Name})
	err = o.Platform.Accounts(listing, api, login.Login, func(found []media.FoundAccount) error {
		for i := range found {
			if err := o.count(&found[i]); err != nil && lost == nil {
				lost = err
			}
		}
		found = slices.DeleteFunc(found, func(a media.FoundAccount) bool {
			if a.LeftOut != "" {
				if listed.LeftOut == nil {
					listed.LeftOut = map[string][]string{}
				}
				listed.LeftOut[a.LeftOut] = append(listed.LeftOut[a.LeftOut], a.ExternalID)
			}
			return a.LeftOut != "" || a.Lost
		})
		if err := o.write(ctx, tokenID, version, found); err != nil {
			return err
		}
		listed.Rows += len(found)
		return nil
	})
	if err == nil && lost != nil {
		// The lost account may be any of those that the list seems to lack: none is treated as gone.
		err = &media.Error{Class: media.Transient, Message: lost.Error()}
	}
	if err != nil {
		return listed, err
	}
	_, err = o.Store.MarkGone(ctx, tokenID, began)
	return listed, err
}

// count counts an account's unusable values, as pulls do. It returns the fault that loses the account, or nil.
func (o Options) count(a *media.FoundAccount) (lost error) {
	for _, f := range a.Faults {
		if o.Registerer != nil {
			media.NewUnusable(o.Registerer).Add(o.Platform.Name(), "account_list", f.Field, f.Kind, 1)
		}
		if a.Lost && f.Kind == wire.KeyFault {
			lost = fmt.Errorf("an account of the list is lost: its field %s %s", f.Field, f.Why)
		}
	}
	return lost
}

func (o Options) write(ctx context.Context, tokenID, version int64, found []media.FoundAccount) error {
	accounts := make([]settings.Account, len(found))
	for i, f := range found {
		accounts[i] = settings.Account{ExternalID: f.ExternalID, Name: f.Name, Timezone: f.Timezone, Currency: f.Currency}
	}
	ids, err := o.Store.PutAccounts(ctx, o.Platform.Name(), tokenID, accounts)
	if err != nil {
		return err
	}
	rows := make([]settings.AccountRow, len(found))
	for i, f := range found {
		rows[i] = settings.AccountRow{AccountID: ids[f.ExternalID], Raw: f.Raw, JSON: string(f.JSON)}
	}
	return o.Store.PutAccountRows(ctx, o.Platform.Name(), o.Platform.AccountTable(), version, rows)
}
