package overview

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"adsync/base/store/settings"
	"adsync/client"
)

// loginEndsSoon is the time before the end of its refresh token from which a login is listed.
const loginEndsSoon = 7 * 24 * time.Hour

// loginItems lists the logins that need an operator.
type loginItems struct {
	*facts

	store loginTables
}

func (l *loginItems) addLogins(ctx context.Context) error {
	for i := range l.logins {
		e := &l.logins[i]
		name := cmp.Or(e.Name, e.Login.Login)
		a := item{Attention: client.Attention{Kind: "login", Severity: Bad, Media: e.Media,
			Title:    "The login " + name + " must be authorised again",
			Cause:    sentence(cmp.Or(e.StateReason, "its state is "+e.State)),
			Accounts: e.Accounts, Since: e.Since, MoneyOf: "a day is not pulled",
			Remedy: "The owner of the accounts opens the address that the command prints. Its accounts are then pulled again.",
			Command: fmt.Sprintf("adsync bind %s --app-id %s --redirect-uri https://HOST/oauth/%s/callback --wait", e.Media,
				quote(e.AppID), e.Media)}}
		if e.State == settings.TokenOK {
			a.Kind, a.Severity, a.Title, a.Since = "login_ends", Warn, "The login "+name+" ends soon", time.Time{}
			a.Cause = "Its refresh token expires at " + moment(e.RefreshExpires, l.o.Business) + "."
			a.MoneyOf = "a day is pulled with it"
		} else if e.Accounts == 0 {
			a.Kind, a.Severity = "login_unneeded", Note
			a.Title = "The login " + name + " has lost its authorisation, and no account needs it"
			a.MoneyOf, a.Remedy = "", "Other logins pull its accounts, or none is bound. Its owner may authorise it again as a "+
				"spare for the others."
		}
		var err error
		if a.ids, err = l.store.AccountsOfLogin(ctx, e.ID, stakeAccountsMax); err != nil {
			return err
		}
		l.add(a)
	}
	return nil
}
