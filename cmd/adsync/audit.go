package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newAudit(a *app) *cobra.Command {
	f := &listFlags{}
	var actor, object, since, until string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Tells who changed what",
		Long: `Lists what people and programs changed over the API, by the command line and by SQL, the newest first. Of a row that was changed it
tells the columns that changed, of an order what it was to be, or why it was not done.`,
		Example: `  adsync audit --object cron_task/tencent.report_daily.account
  adsync audit --actor sql --since 24h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := given(map[string]string{"actor": actor, "object": object, "since": sinceWhen(since), "until": sinceWhen(until)})
			return f.list(a, cmd, "/api/v1/audit", query, "audit", printAudit)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&actor, "actor", "", "only what this one did: a token's name, cli: and a user, adsync, or sql")
	cmd.Flags().StringVar(&object, "object", "", "only what was done to this, or to what is below it, such as cron_task")
	cmd.Flags().StringVar(&since, "since", "", "only since: a time such as 2026-11-21T10:30:00Z, or how long ago, such as 24h")
	cmd.Flags().StringVar(&until, "until", "", "only until then")
	return cmd
}

func printAudit(w io.Writer, answer []byte) error {
	var a struct {
		Audit []struct {
			At                           time.Time
			Actor, Action, Object, Error string
			Before, After                json.RawMessage
		}
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Audit) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is noted.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "AT\tBY\tACTION\tOBJECT\tCHANGE")
	for _, e := range a.Audit {
		change := changed(e.Before, e.After)
		if e.Error != "" {
			change = "not done: " + e.Error
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", moment(e.At), plain(e.Actor), plain(e.Action), plain(e.Object), dashed(change))
	}
	return more(t, a.Next, "--object, --since …")
}

// changed tells in words what became of an object: field by field where it was changed, else what it is, or was.
func changed(before, after json.RawMessage) string {
	was, is := fieldsOf(before), fieldsOf(after)
	if was == nil || is == nil {
		switch {
		case len(before) == 0:
			return string(after)
		case len(after) == 0:
			return "was " + string(before)
		}
		return string(before) + " → " + string(after)
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(names)
	var parts []string
	for _, name := range slices.Compact(names) {
		parts = append(parts, fmt.Sprintf("%s: %s → %s", name, orNone(was[name]), orNone(is[name])))
	}
	return strings.Join(parts, ", ")
}

// fieldsOf returns the fields of an object; nil of anything else.
func fieldsOf(text json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return fields
}

func orNone(value json.RawMessage) string {
	if len(value) == 0 {
		return "none"
	}
	return string(value)
}
