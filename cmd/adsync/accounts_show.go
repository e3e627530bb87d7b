package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newAccountsShow(a *app) *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:     "show MEDIA/ACCOUNT",
		Short:   "Tells an account's state, its logins, and its games by day",
		Long:    `Tells whether an account is pulled, which logins reach it and with which it is pulled, and to which game it belongs on which days.`,
		Example: `  adsync accounts show tencent/20000001`,
		Args:    accountArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.call(a, cmd, http.MethodGet, accountPath(args[0], ""), nil, nil, printAccount)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printAccount(w io.Writer, answer []byte) error {
	var a struct {
		Account struct {
			Media, Name, Tier, Timezone, Currency, Parked string
			ExternalID                                    string `json:"external_id"`
			Bound                                         bool
		}
		Logins []struct {
			AppID                      string `json:"app_id"`
			Login, Name, State, Reason string
			Chosen, Gone               bool
			InUse                      bool      `json:"in_use"`
			SeenAt                     time.Time `json:"seen_at"`
		}
		Bindings []struct{ From, To, Game, OS string }
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	state := a.Account.Tier
	switch {
	case !a.Account.Bound:
		state = "not bound: nothing of it is pulled"
	case a.Account.Parked != "":
		state = "parked: " + a.Account.Parked
	}
	fmt.Fprintf(w, "%s/%s  %s\n%s, days of %s, money in %s\n\n", a.Account.Media, plain(a.Account.ExternalID), plain(a.Account.Name), plain(state), plain(a.Account.Timezone), a.Account.Currency)
	t := table(w)
	fmt.Fprintln(t, "LOGIN\tNAME\tAPP\tSTATE\tSEEN\tNOTE")
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
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", plain(l.Login), plain(l.Name), plain(l.AppID), l.State, moment(l.SeenAt), plain(strings.Join(notes, "; ")))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(a.Bindings) == 0 {
		_, err := fmt.Fprintln(w, "\nIt has no game: its figures are those of unassigned.")
		return err
	}
	fmt.Fprintln(w)
	fmt.Fprintln(t, "FROM\tTO\tGAME\tOS")
	for _, b := range a.Bindings {
		to := b.To
		if to == "" {
			to = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", b.From, to, plain(b.Game), plain(b.OS))
	}
	return t.Flush()
}
