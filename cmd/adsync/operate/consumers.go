package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newConsumers(a *settings.Source) *cobra.Command {
	return asking(a, &cobra.Command{
		Use:   "consumers",
		Short: "Lists the consumers that live, and what their pools do",
		Long: `Lists the processes that work off lanes, as they told of themselves within the last 15 seconds, with a line for each pool: how many subtasks
run in how many places, how many of them wait for a call limit beside their place, and how many partitions of the lane the process has.`,
		Example: `  adsync consumers`,
	}, func(r *request, _ []string) error { return r.get("/api/v1/consumers", printConsumers) })
}

var printConsumers = rowsOf("consumers", "No consumer lives: nothing is pulled. Start one: adsync serve --role=consumer",
	"CONSUMER\tVERSION\tSTARTED\tTOLD\tMEDIA\tLANE\tRUNNING\tPLACES\tWAIT FOR A LIMIT\tPARTITIONS\tONE BY ONE", "",
	func(t table.Table, c *client.Consumer) {
		who := []any{c.ID, c.Version, c.StartedAt, fmt.Sprintf("%.0fs ago", c.AgeSeconds)}
		if len(c.Pools) == 0 {
			t.Row(append(who, "-", "-", "-", "-", "-", "-", "-")...)
		}
		for _, p := range c.Pools {
			t.Row(append(who, p.Media, p.Lane, p.Running, p.Capacity, p.Limited, len(p.Partitions), p.Careful)...)
			who = []any{"", "", "", ""}
		}
	})
