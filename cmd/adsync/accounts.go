package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/store"
)

// accountArg takes an account as the platforms know it: tencent/20000001.
func accountArg(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		media, id := store.SplitName(args[0])
		// The name of a platform alone is no id.
		if media != "" && id != "" || media == "" && !strings.Contains(id, "/") && strings.ContainsAny(id, "0123456789") {
			return nil
		}
	}
	return usagef("want MEDIA/ACCOUNT with the platform's id, such as: tencent/20000001, or the id alone where no other platform has it")
}

// accountPath is where the API tells of the account, or something of it; accountArg has seen the argument.
func accountPath(account, what string) string {
	media, id := store.SplitName(account)
	media = cmp.Or(media, "-") // The producer finds the platform.
	return strings.TrimSuffix("/api/v1/accounts/"+url.PathEscape(media)+"/"+url.PathEscape(id)+"/"+what, "/")
}

func (a *app) newAccounts() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "accounts",
		Short: "Tells what is known of accounts",
		Long:  `Tells what is known of accounts. "adsync bind account" and "adsync unbind" change it.`,
		Example: `  adsync accounts list --login-state reauthorise
  adsync accounts show tencent/20000001`,
	})
	cmd.AddCommand(a.newAccountsList(), a.newAccountsShow())
	return cmd
}

func (a *app) newAccountsShow() *cobra.Command {
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

func (a *app) newCoverage() *cobra.Command {
	f := &apiFlags{}
	var from, to string
	var missing bool
	cmd := &cobra.Command{
		Use:   "coverage MEDIA/ACCOUNT",
		Short: "Tells what is known of an account, by report, level and day",
		Long: `Tells for each report and level of an account which days were pulled whole, and which were not: without --from
and --to those of the last week. Days are in the account's time zone. Of a day that was never pulled NOTE says why it is no hole, if it
is none, and values that could not be used: "adsync coverage holes" counts, and orders, what the tasks reach alone. To have another day, order it: "adsync tasks run".`,
		Example: `  adsync coverage tencent/20000001
  adsync coverage tencent/20000001 --from 2026-11-01 --to 2026-11-21 --missing
  adsync coverage holes`,
		Args: accountArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			query := given(map[string]string{"from": from, "to": to})
			return f.call(a, cmd, http.MethodGet, accountPath(args[0], "coverage"), query, nil, func(w io.Writer, answer []byte) error {
				return printCoverage(w, answer, missing)
			})
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&from, "from", "", "first day, such as 2026-11-15")
	cmd.Flags().StringVar(&to, "to", "", "last day, included")
	cmd.Flags().BoolVar(&missing, "missing", false, "only what is not complete (for people; json has all)")
	cmd.AddCommand(a.newHoles())
	return cmd
}

func printCoverage(w io.Writer, answer []byte, missing bool) error {
	var a struct {
		From, To string
		Coverage []struct {
			Report, Level, Day, State, Note string
			PulledAt                        time.Time `json:"pulled_at"`
			Rows                            int64
			SummaryPending                  bool `json:"summary_pending"`
			Unusable                        int64
			UnusableValues                  []struct {
				Field, Kind string
				Number      int64
			} `json:"unusable_values"`
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "REPORT\tLEVEL\tDAY\tSTATE\tROWS\tPULLED\tNOTE")
	shown := 0
	for _, c := range a.Coverage {
		if missing && c.State == string(store.Complete) {
			continue
		}
		note := c.Note
		if c.Unusable > 0 && !strings.Contains(note, "unusable") { // The note of a day that is not whole names them.
			parts := make([]string, len(c.UnusableValues))
			for i, u := range c.UnusableValues {
				parts[i] = fmt.Sprintf("%d × %s of %s", u.Number, u.Kind, u.Field)
			}
			note = strings.TrimPrefix(note+"; unusable values: "+strings.Join(parts, ", "), "; ")
		}
		if c.SummaryPending {
			note = strings.TrimPrefix(note+"; the summaries follow", "; ")
		}
		day := c.Day
		if day == "" {
			day = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", plain(c.Report), plain(c.Level), day, c.State, c.Rows, moment(c.PulledAt), plain(note))
		shown++
	}
	if shown == 0 {
		_, err := fmt.Fprintf(w, "Everything from %s to %s is complete.\n", a.From, a.To)
		return err
	}
	return t.Flush()
}

func (a *app) newChanges() *cobra.Command {
	f := &apiFlags{}
	var from, to, level, object, field, limit string
	cmd := &cobra.Command{
		Use:   "changes MEDIA/ACCOUNT",
		Short: "Tells what changed in an account's configuration",
		Long: `Lists what each pull of configuration found to be other than the one before, the newest first: without --from
and --to that of the last week. Values are the platform's, in its units.`,
		Example: `  adsync changes tencent/20000001 --field daily_budget
  adsync changes oceanengine/1700000000000001 --object 7300000000000000001 --from 2026-11-01`,
		Args: accountArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			query := given(map[string]string{"from": from, "to": to, "level": level, "object": object, "field": field, "limit": limit})
			return f.call(a, cmd, http.MethodGet, accountPath(args[0], "changes"), query, nil, printChanges)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&from, "from", "", "first day, such as 2026-11-15")
	cmd.Flags().StringVar(&to, "to", "", "last day, included")
	cmd.Flags().StringVar(&level, "level", "", "such as adgroup")
	cmd.Flags().StringVar(&object, "object", "", "the platform's id")
	cmd.Flags().StringVar(&field, "field", "", "such as daily_budget, @created or @deleted")
	cmd.Flags().StringVar(&limit, "limit", "", "how many (100 if not given)")
	return cmd
}

func printChanges(w io.Writer, answer []byte) error {
	var a struct {
		From, To string
		Changes  []struct {
			SeenAt                              time.Time `json:"seen_at"`
			Level, Object, Field, Before, After string
		}
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Changes) == 0 {
		_, err := fmt.Fprintf(w, "No changes are known from %s to %s.\n", a.From, a.To)
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "SEEN\tLEVEL\tOBJECT\tFIELD\tBEFORE\tAFTER")
	for _, c := range a.Changes {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", moment(c.SeenAt), plain(c.Level), plain(c.Object), plain(c.Field), plain(c.Before), plain(c.After))
	}
	if a.Next != "" {
		fmt.Fprintln(t, "There are more.")
	}
	return t.Flush()
}
