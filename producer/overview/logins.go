package overview

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"adsync/base/store"
)

// loginEndsSoon is how long before its refresh token dies a login is told of.
const loginEndsSoon = 7 * 24 * time.Hour

func (l *look) attendLogins(ctx context.Context) error {
	for i := range l.logins {
		e := &l.logins[i]
		name := cmp.Or(e.Name, e.Login.Login)
		a := Attention{Kind: "login", Severity: Bad, Media: e.Media, Title: "The login " + name + " must be authorised again", Cause: sentence(cmp.Or(e.StateReason, "its state is "+e.State)),
			Accounts: int(e.Accounts), Since: e.Since, MoneyOf: "a day is not pulled",
			Remedy:  "Whoever holds the accounts opens the address that this prints. The accounts come back by themselves.",
			Command: fmt.Sprintf("adsync bind %s --app-id %s --redirect-uri https://HOST/oauth/%s/callback --wait", e.Media, quote(e.AppID), e.Media)}
		if e.State == store.TokenOK {
			a.Kind, a.Severity, a.Title, a.Since = "login_ends", Warn, "The login "+name+" dies soon", time.Time{}
			a.Cause = "Its refresh token dies at " + moment(e.RefreshExpires, l.o.Business) + "."
			a.MoneyOf = "a day is pulled with it"
		} else if e.Accounts == 0 {
			a.Kind, a.Severity, a.Title = "login_unneeded", Note, "The login "+name+" is dead, and no account is pulled with it"
			a.MoneyOf, a.Remedy = "", "Nothing waits for it: other logins pull its accounts, or none is bound. Whoever holds it may authorise it again, so that it can stand in."
		}
		var err error
		if a.ids, err = l.Store.AccountsOfLogin(ctx, e.ID, accountsLooked); err != nil {
			return err
		}
		l.add(a)
	}
	return nil
}

// A rest of a login's refresh is ended as a pause of this endpoint, for this scope.
const (
	RefreshPoint = "token_refresh"
	LoginScope   = "login"
)

// attendRests lists the logins whose tokens are not refreshed for a time, since the platform refused it or asked for a pause.
func (l *look) attendRests(ctx context.Context) error {
	resting, err := l.Store.RestingLogins(ctx, "", groupLooked)
	if err != nil {
		return err
	}
	for i := range resting {
		r := &resting[i]
		a := Attention{Kind: "refresh_rests", Severity: Note, Media: r.Media, Accounts: int(r.Accounts), MoneyOf: "a day is pulled with it",
			Title: "The tokens of the login " + cmp.Or(r.Name, r.Login.Login) + " are not refreshed until " + moment(r.Until, l.o.At),
			Cause: sentence(cmp.Or(r.Reason, "the last try failed")),
			Remedy: "The refresh is tried again automatically then, and calls go on with the access token that it has. " +
				"The command shows what would end the rest before its time, and ends it with --yes.",
			Command: fmt.Sprintf("adsync limits end-pause --media %s --endpoint %s --subject %s", r.Media, RefreshPoint, quote(r.Login.Login))}
		if !r.AccessExpires.After(l.o.Business) {
			a.Severity, a.MoneyOf = Warn, "a day is not pulled"
			a.Remedy = "Its access token has ended, so its accounts wait. The refresh is tried again automatically then; the command shows what would end" +
				" the rest before its time, and ends it with --yes."
		}
		if r.Tries > 1 {
			a.Cause += fmt.Sprintf(" %d tries have failed.", r.Tries)
		}
		if a.ids, err = l.Store.AccountsOfLogin(ctx, r.ID, accountsLooked); err != nil {
			return err
		}
		l.add(a)
	}
	return nil
}
