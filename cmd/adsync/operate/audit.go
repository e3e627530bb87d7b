package operate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newAudit(a *settings.Source) *cobra.Command {
	cmd := listing(a, "/api/v1/audit", "audit", printAudit, &cobra.Command{
		Use:   "audit",
		Short: "Tells who changed what",
		Long: `Lists what people and programs changed over the API, by the command line and by SQL, the newest first. Of a row that was changed it
tells the columns that changed, of an order what it was to be, or why it was not done.`,
		Example: `  adsync audit --object cron_task/{media}.report_daily.account
  adsync audit --actor sql --since 24h`,
	})
	param(cmd, "actor", "only what this one did: a token's name, cli: and a user, adsync, or sql")
	param(cmd, "object", "only what was done to this, or to what is below it, such as cron_task")
	instantParam(cmd, "since", "only since: "+sinceSyntax+"24h")
	instantParam(cmd, "until", "only until then")
	return cmd
}

var printAudit = rowsOf("audit", "Nothing is noted.", "AT\tBY\tACTION\tOBJECT\tCHANGE", moreBy("--object, --since …"), func(t table.Table, e *client.AuditEntry) {
	change := changed(e.Before, e.After)
	if e.Error != "" {
		change = "not done: " + e.Error
	}
	t.Row(e.At, e.Actor, e.Action, e.Object, table.Dashed(change))
})

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
