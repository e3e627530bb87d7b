package operate

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newDeadList(a *settings.Source) *cobra.Command {
	var rows bool
	cmd := askingForRows(a, &cobra.Command{
		Use:   "list",
		Short: "Lists dead subtasks, grouped by error or one by one",
		Long: `Groups dead subtasks by their error print: the error's text without its numbers, ids and quoted parts. With
--rows it lists them one by one, those that died last first. One is healed when all that it was to pull has been
pulled whole since: it needs nothing, and is dropped after retention.healed_days.`,
		Example: `  adsync dead list
  adsync dead list --media {media} --since 24h
  adsync dead list --rows --print 'timeout after ?' --limit 20`,
	}, func(r *request, _ []string) error {
		if r.limit < 1 || (!rows && r.limit > client.PageRows) {
			return usage.Errorf("--limit is %d: want 1 or more, and up to %d without --rows", r.limit, client.PageRows)
		}
		if rows {
			return r.list("/api/v1/dead", "dead", printDeadRows)
		}
		return r.get("/api/v1/dead/groups?limit="+strconv.Itoa(r.limit), printing(printGroups))
	})
	deadFilter(cmd)
	cmd.Flags().BoolVar(&rows, "rows", false, "list the subtasks one by one")
	cmd.Flags().Lookup("limit").Usage = "how many groups or rows to list at most"
	return cmd
}

func printGroups(w io.Writer, a *client.DeadGroups) error {
	if a.Total == 0 {
		fmt.Fprintln(w, "There are no dead subtasks.")
		return nil
	}
	t := table.New(w)
	t.Head("COUNT\tHEALED\tFIRST\tLAST\tCLASS\tTASKS\tERROR PRINT")
	for _, g := range a.Groups {
		healed := strconv.FormatInt(g.Healed, 10)
		if a.Stake.Looked < a.Total {
			healed = "at least " + healed
		}
		t.Row(g.Count, healed, g.FirstDeadAt, g.LastDeadAt, strings.Join(g.Classes, ","), few(g.Tasks), g.Print)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s", plural.Count(a.Total, "dead subtask", "dead subtasks"))
	if a.Redriving > 0 {
		fmt.Fprintf(w, ", %d of them being taken up again", a.Redriving)
	}
	if a.More {
		fmt.Fprint(w, "; there are more groups: raise --limit")
	}
	fmt.Fprintln(w, ".")
	s := a.Stake
	of := "Of them"
	if s.Looked < a.Total {
		of = fmt.Sprintf("Of the %d that died last", s.Looked)
	}
	fmt.Fprintf(w, "%s, %d healed and %s", of, s.Healed, plural.Count(s.Unhealed, "needs", "need")+" somebody")
	if s.Accounts > 0 {
		fmt.Fprintf(w, ": of %s", plural.Count(s.Accounts, "account", "accounts"))
		if len(s.Money) > 0 {
			fmt.Fprintf(w, ", which spend %s in a day", amounts(s.Money))
		}
	}
	fmt.Fprintln(w, ".")
	return nil
}

// few names some of the tasks of a group.
func few(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ","), len(names)-2)
	}
	return strings.Join(names, ",")
}

var printDeadRows = rowsOf("dead", "There are no dead subtasks.", "DIED\tRUN\tACCOUNT ID\tPART\tTASK\tACCOUNT\tATTEMPTS\tCLASS\tERROR",
	"\n"+moreBy("--task, --print …"), func(t table.Table, d *client.DeadSubtask) {
		if d.Healed {
			d.ErrorClass += ", healed"
		}
		t.Row(d.DeadAt, d.RunID, d.AccountID, d.Part, d.Task, d.Account, d.Attempts, d.ErrorClass, d.Error)
	})
