package overview

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"adsync/base/store/settings"
	"adsync/client"
)

// loginEndsSoon is how long before its refresh token dies a login is told of.
const loginEndsSoon = 7 * 24 * time.Hour

// loginItems are the logins that somebody should look at.
type loginItems struct {
	*facts

	store loginTables
}

func (l *loginItems) attendLogins(ctx context.Context) error {
	for i := range l.logins {
		e := &l.logins[i]
		name := cmp.Or(e.Name, e.Login.Login)
		a := item{Attention: client.Attention{Kind: "login", Severity: Bad, Media: e.Media,
			Title:    "The login " + name + " must be authorised again",
			Cause:    sentence(cmp.Or(e.StateReason, "its state is "+e.State)),
			Accounts: e.Accounts, Since: e.Since, MoneyOf: "a day is not pulled",
			Remedy: "Whoever holds the accounts opens the address that this prints. The accounts come back by themselves.",
			Command: fmt.Sprintf("adsync bind %s --app-id %s --redirect-uri https://HOST/oauth/%s/callback --wait", e.Media,
				quote(e.AppID), e.Media)}}
		if e.State == settings.TokenOK {
			a.Kind, a.Severity, a.Title, a.Since = "login_ends", Warn, "The login "+name+" dies soon", time.Time{}
			a.Cause = "Its refresh token dies at " + moment(e.RefreshExpires, l.o.Business) + "."
			a.MoneyOf = "a day is pulled with it"
		} else if e.Accounts == 0 {
			a.Kind, a.Severity, a.Title = "login_unneeded", Note, "The login "+name+" is dead, and no account is pulled with it"
			a.MoneyOf, a.Remedy = "",
				"Nothing waits for it: other logins pull its accounts, or none is bound. Whoever holds it may authorise it "+
					"again, so that it can stand in."
		}
		var err error
		if a.ids, err = l.store.AccountsOfLogin(ctx, e.ID, accountsLooked); err != nil {
			return err
		}
		l.add(a)
	}
	return nil
}
