package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/media/field"
)

func newFieldsBackfill(a *settings.Source) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "backfill MEDIA FIELD --from DAY --to DAY",
		Short: "Fills the column of a new figure from the raw rows",
		Long: `Fills the columns of a figure that this program's package of the platform names, from the JSON of the raw rows
that were pulled before it did: in the raw table and in report_daily or report_hourly, where they are NULL.
The summaries follow within a minute. It works on the databases and calls no platform; pulls continue
meanwhile. A few hundred rows are one transaction. It may be interrupted and started again with the same days,
or from the last day that it printed. A value that cannot be used stays NULL and is counted; the command then
ends with an error, after all days. Run it when all processes are of the release that has the figure.`,
		Example: `  adsync fields backfill {media} order_uv --from 2026-10-01 --to 2026-11-21 --config adsync.yaml`,
		Args:    usage.MediaField,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, d := range []struct{ flag, value string }{{"from", from}, {"to", to}} {
				if d.value == "" {
					return usage.Errorf("--%s is missing: want the first and the last day, such as 2026-10-01 and 2026-11-21", d.flag)
				}
				if _, err := day.Given(d.value, clock.System{}.Now()); err != nil {
					return usage.Errorf("--%s is %q: %s", d.flag, d.value, err)
				}
			}
			first, last := day.Day(from), day.Day(to)
			if last < first {
				return usage.Errorf("--to is %s: want %s or later, the value of --from", to, from)
			}
			platform := engine.Platform(args[0])
			if platform == nil {
				return usage.Errorf("there is no platform %q: want one of %v", args[0], engine.PlatformNames())
			}
			return a.WithStore(cmd, "migrate", func(ctx context.Context, s *store.Store, _ settings.Config,
				_ *slog.Logger) error {
				if err := s.CheckSchema(ctx); err != nil {
					return err
				}
				out, total := cmd.OutOrStdout(), results.ColumnFilled{}
				err := field.Backfill(ctx, s, platform, args[1], first, last, func(f field.Filled) {
					total.Add(f.ColumnFilled)
					fmt.Fprintf(out, "%s %s: %s", f.Day, f.Report, plural.Count(f.Rows, "row", "rows"))
					if f.Unusable > 0 {
						fmt.Fprintf(out, ", and %s that cannot be used", plural.Count(f.Unusable, "value", "values"))
					}
					fmt.Fprintln(out)
				})
				if wrong, ok := errors.AsType[*field.RowError](err); ok {
					return usage.Errorf("%s", wrong)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(out, "%s %s now.\n", plural.Count(total.Rows, "row has", "rows have"), args[1])
				if total.Unusable > 0 {
					return fmt.Errorf(
						"%s in the JSON cannot be used, and their columns stay NULL; the first of them: %w. Compare row_json with the "+
							"figure's"+
							" unit in the package of %s, correct the package if that is wrong, and repeat this command",
						plural.Count(total.Unusable, "value of "+args[1], "values of "+args[1]),
						total.Example, args[0])
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the first day")
	cmd.Flags().StringVar(&to, "to", "", "the last day")
	return cmd
}
