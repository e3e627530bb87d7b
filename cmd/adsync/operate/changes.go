package operate

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newChanges(a *settings.Source) *cobra.Command {
	cmd := asking(a, &cobra.Command{
		Use:   "changes MEDIA/ACCOUNT",
		Short: "Tells what changed in an account's configuration",
		Long: `Lists what each pull of configuration found to be other than the one before, the newest first: without --from
and --to that of the last week. Values are the platform's, in its units.`,
		Example: `  adsync changes {media}/20000001 --field daily_budget
  adsync changes {media}/1700000000000001 --object 7300000000000000001 --from 2026-11-01`,
		Args: usage.Account,
	}, func(r *request, args []string) error {
		return r.get(accountPath(args[0], "changes"), printing(printChanges))
	})
	param(cmd, "from", "first day, such as 2026-11-15")
	param(cmd, "to", "last day, included")
	param(cmd, "level", "such as adgroup")
	param(cmd, "object", "the platform's id")
	param(cmd, "field", "such as daily_budget, @created or @deleted")
	param(cmd, "limit", "how many (100 if not given)")
	return cmd
}

func printChanges(w io.Writer, a *client.AccountChanges) error {
	if len(a.Changes) == 0 {
		_, err := fmt.Fprintf(w, "No changes are known from %s to %s.\n", a.From, a.To)
		return err
	}
	t := table.New(w)
	t.Head("SEEN\tLEVEL\tOBJECT\tFIELD\tBEFORE\tAFTER")
	for _, c := range a.Changes {
		t.Row(c.SeenAt, c.Level, c.Object, c.Field, c.Before, c.After)
	}
	if a.Next != "" {
		t.Head(thereAreMore)
	}
	return t.Flush()
}
