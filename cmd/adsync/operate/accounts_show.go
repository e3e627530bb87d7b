package operate

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newAccountsShow(a *settings.Source) *cobra.Command {
	return asking(a, &cobra.Command{
		Use:     "show MEDIA/ACCOUNT",
		Short:   "Tells an account's state, its logins, and its games by day",
		Long:    `Tells whether an account is pulled, which logins reach it and with which it is pulled, and to which game it belongs on which days.`,
		Example: `  adsync accounts show {media}/20000001`,
		Args:    usage.Account,
	}, func(r *request, args []string) error { return r.get(accountPath(args[0], ""), printing(printAccount)) })
}

func printAccount(w io.Writer, a *client.AccountDetail) error {
	state := string(a.Account.Tier)
	switch {
	case !a.Account.Bound:
		state = "not bound: nothing of it is pulled"
	case a.Account.Parked != "":
		state = "parked: " + a.Account.Parked
	}
	fmt.Fprintf(w, "%s/%s  %s\n%s, days of %s, money in %s\n\n", a.Account.Media, table.Plain(a.Account.ExternalID), table.Plain(a.Account.Name),
		table.Plain(state), table.Plain(a.Account.Timezone), a.Account.Currency)
	t := table.New(w)
	t.Head("LOGIN\tNAME\tAPP\tSTATE\tSEEN\tNOTE")
	for _, l := range a.Logins {
		var notes []string
		for _, n := range []struct {
			holds bool
			text  string
		}{{l.InUse, "in use"}, {l.Chosen, "chosen"}, {l.Gone, "no longer lists the account"}, {l.Reason != "", l.Reason}} {
			if n.holds {
				notes = append(notes, n.text)
			}
		}
		t.Row(l.Login, l.Name, l.AppID, l.State, l.SeenAt, strings.Join(notes, "; "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(a.Bindings) == 0 {
		_, err := fmt.Fprintln(w, "\nIt has no game: its figures are those of unassigned.")
		return err
	}
	fmt.Fprintln(w)
	t.Head("FROM\tTO\tGAME\tOS")
	for _, b := range a.Bindings {
		t.Row(b.From, cmp.Or(b.To, "-"), b.Game, b.OS)
	}
	return t.Flush()
}
