package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func newChanges(a *app) *cobra.Command {
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
