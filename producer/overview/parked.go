package overview

import (
	"context"
	"strings"

	"adsync/base/store"
)

func (l *look) attendParked(ctx context.Context) error {
	for _, p := range l.parked {
		if p.Reason == store.ParkedLogin {
			continue // Their login tells.
		}
		word, text, found := strings.Cut(p.Reason, ":")
		a := Attention{Kind: "parked", Severity: Warn, Media: p.Media, Accounts: int(p.N), Since: p.Since, MoneyOf: "a day is not pulled", Cause: sentence(p.Reason)}
		switch {
		case found && word == "revoked":
			a.Severity, a.Title = Bad, "The login has lost its permission for accounts"
			a.Remedy = "Have the accounts shared with the login again, on the platform; unbind what is gone for good."
			a.Command = "adsync accounts list --media " + p.Media + " --state parked"
		case found && word == "frozen":
			a.Title = "The platform has closed accounts"
			a.Remedy = "Ask whoever advertises with them: the platform opens them again; unbind what is gone for good."
			a.Command = "adsync accounts list --media " + p.Media + " --state parked"
		default:
			a.Kind, a.Severity, a.Title = "parked_by_hand", Note, "Parked by hand"
			a.Remedy = "They come back when the column parked of media_account is emptied."
		}
		if found && a.Kind == "parked" {
			a.Cause = sentence(text)
		}
		if !p.Next.IsZero() {
			a.Remedy += " They are looked at again by themselves: " + next(p.Next, l.o.Business) + "."
		}
		var err error
		if a.ids, err = l.Store.ParkedAccounts(ctx, p.Media, p.Reason, accountsLooked); err != nil {
			return err
		}
		l.add(a)
	}
	return nil
}
