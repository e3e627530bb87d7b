package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func newFields(a *app) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "fields",
		Short: "Lists and changes which fields reports are asked for",
		Long: `A report is asked for the fields that the platform's package names, and what you add or drop here; a change holds
within half a minute. A field that you add is tried first: one call of one account asks for it, and pulls ask for it once the platform has
accepted it. What comes of it stands in the raw rows' JSON. A field that the platform takes away is retired by itself, and the report goes
on without it.`,
		Example: `  adsync fields list --state retired
  adsync fields add tencent order_pv`,
	})
	cmd.AddCommand(newFieldsList(a),
		newFieldsPut(a, "add", "asked", "Asks for one more field", "Asks for", `Asks for one more field of the platform's. It is tried at the end
of the next pull of any account: the first of its reports is asked for it with one call. If the platform refuses it, no other call asks for it, and adsync
fields list shows the platform's words. If the platform accepts it, each of its other reports is asked once, and pulls ask those that have it. For a field
that only some reports have, name them by --report and --level.`),
		newFieldsPut(a, "drop", "off", "Asks for a field no more", "No longer asks for", `Leaves a field out of the request: its column becomes NULL
in the days that are pulled from then on. For a field that the platform has retired it says that somebody has seen that. What rows are kept
apart by, and what was spent, cannot be dropped.`),
		newFieldsPut(a, "reinstate", "asked", "Asks again for a field that was dropped, retired or refused", "Asks again for", `Asks again for a field that
was dropped, or that the platform had retired or refused and has now. It is tried first, as one that is added. Order the days that lack it anew to fill them.`),
		newFieldsBackfill(a))
	return cmd
}

// newFieldsPut makes a command that brings a field to a state.
func newFieldsPut(a *app, name, state, short, done, long string) *cobra.Command {
	f := &apiFlags{}
	var report, level, reason, by string
	cmd := &cobra.Command{
		Use:   name + " MEDIA FIELD",
		Short: short,
		Long: long + `

Without --report and --level it holds for all of them, and takes the place of what was said of single ones.`,
		Example: fmt.Sprintf("  adsync fields %s tencent order_pv\n", name) +
			fmt.Sprintf("  adsync fields %s tencent order_pv --report report_daily --level adgroup --reason 'for the shops'", name),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("want MEDIA FIELD, such as: tencent order_pv")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]string{
				"media": args[0], "field": args[1], "state": state, "reason": reason, "by": by,
			}
			for name, value := range map[string]string{"report": report, "level": level} {
				if value == "" && cmd.Flags().Changed(name) {
					return usagef("--%s is empty: want a value, or leave it out", name)
				}
				if value != "" {
					body[name] = value
				}
			}
			return f.call(a, cmd, http.MethodPut, "/api/v1/fields", nil, body, func(w io.Writer, answer []byte) error {
				var r fieldRow
				if err := json.Unmarshal(answer, &r); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(w, "%s %s of %s %s.\n", done, plain(r.Field), plain(r.Media), r.where()); err != nil || r.State != "trying" {
					return err
				}
				_, err := fmt.Fprintf(w, "It is tried with one call first. What came of that: adsync fields list --media %s\n", plain(r.Media))
				return err
			})
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&report, "report", "", "only of this report, such as report_daily")
	cmd.Flags().StringVar(&level, "level", "", "only at this level, such as adgroup")
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	cmd.Flags().StringVar(&by, "by", "", "your name, where no token says it")
	return cmd
}

type fieldRow struct {
	Media, Field, Report, Level, State, Metric, Reason, Note, By string
	RetiredAt                                                    time.Time `json:"retired_at"`
	UpdatedAt                                                    time.Time `json:"updated_at"`
}

// where tells in words what a row holds for.
func (r *fieldRow) where() string {
	where := "in all reports"
	if r.Report != "" {
		where = "in " + plain(r.Report)
	}
	if r.Level != "" {
		where += " at level " + plain(r.Level)
	}
	return where
}
