package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

func newAccountsList(a *app) *cobra.Command {
	f := &listFlags{}
	var media, tier, state, loginState, game string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists accounts",
		Long: `Lists accounts with their tier, whether they are pulled, the state of the login that they are pulled with, how many of the last seven days
their own daily figures are complete, and the game that they belong to now.`,
		Example: `  adsync accounts list --media tencent --state parked
  adsync accounts list --login-state reauthorise
  adsync accounts list --game unassigned --limit 1000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := given(map[string]string{"media": media, "tier": tier, "state": state, "login_state": loginState, "game": game})
			return f.list(a, cmd, "/api/v1/accounts", query, "accounts", printAccounts)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&media, "media", "", "only of this platform")
	cmd.Flags().StringVar(&tier, "tier", "", "only of this tier: active, inactive or invalid")
	cmd.Flags().StringVar(&state, "state", "", "pulled, parked or unbound")
	cmd.Flags().StringVar(&loginState, "login-state", "", "ok, reauthorise (only a person can mend it) or none")
	cmd.Flags().StringVar(&game, "game", "", "only of this game today; unassigned for none")
	return cmd
}

func printAccounts(w io.Writer, answer []byte) error {
	var a struct {
		Accounts []struct {
			Media, Name, Tier, State, Parked string
			ExternalID                       string `json:"external_id"`
			Login                            *struct{ Login, State string }
			Coverage                         struct {
				Complete, Partial, Suspect, Never int
				PulledAt                          time.Time `json:"pulled_at"`
			}
			Bindings []struct{ To, Game, OS string }
		}
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Accounts) == 0 {
		_, err := fmt.Fprintln(w, "There are no such accounts.")
		return err
	}
	t := table(w)
	// The name comes last: what is wide on a terminal, as 厦 is, would move the columns after it.
	fmt.Fprintln(t, "ACCOUNT\tTIER\tSTATE\tLOGIN\tLOGIN STATE\tDAYS COMPLETE\tPULLED\tGAME\tOS\tNAME")
	for _, x := range a.Accounts {
		state := x.State
		if x.Parked != "" {
			state += ": " + x.Parked
		}
		login, loginState := "", "none"
		if x.Login != nil {
			login, loginState = x.Login.Login, x.Login.State
		}
		game, os := "unassigned", ""
		if n := len(x.Bindings); n > 0 && x.Bindings[n-1].To == "" {
			game, os = x.Bindings[n-1].Game, x.Bindings[n-1].OS
		}
		c := x.Coverage
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d of %d\t%s\t%s\t%s\t%s\n", plain(x.Media+"/"+x.ExternalID), plain(x.Tier), plain(state), dashed(login), plain(loginState),
			c.Complete, c.Complete+c.Partial+c.Suspect+c.Never, moment(c.PulledAt), plain(game), dashed(os), dashed(x.Name))
	}
	return more(t, a.Next, "--media, --state …")
}
