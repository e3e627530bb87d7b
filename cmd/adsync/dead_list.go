package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/producer/overview"
)

func newDeadList(a *app) *cobra.Command {
	f := &deadFlags{}
	var rows bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists dead subtasks, grouped by error or one by one",
		Long: `Groups dead subtasks by their error print: the error's text without its numbers, ids and quoted parts. With
--rows it lists them one by one, those that died last first. One is healed when all that it was to pull has been
pulled whole since: it needs nothing, and is dropped after retention.healed_days.`,
		Example: `  adsync dead list
  adsync dead list --media tencent --since 24h
  adsync dead list --rows --print 'timeout after ?' --limit 20`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if limit < 1 || (!rows && limit > pageRows) {
				return usagef("--limit is %d: want 1 or more, and up to %d without --rows", limit, pageRows)
			}
			c, err := a.client(cmd, f.server)
			if err != nil {
				return err
			}
			q := f.query()
			if rows {
				answer, err := c.pages(cmd.Context(), "/api/v1/dead", q, "dead", limit)
				if err != nil {
					return err
				}
				return show(cmd.OutOrStdout(), f.output, answer, printRows)
			}
			q.Set("limit", strconv.Itoa(limit))
			answer, err := c.call(cmd.Context(), http.MethodGet, "/api/v1/dead/groups", q, nil)
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), f.output, answer, printGroups)
		},
	}
	f.common(cmd.Flags())
	f.filter(cmd.Flags())
	cmd.Flags().BoolVar(&rows, "rows", false, "list the subtasks one by one")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many groups or rows to list at most")
	return cmd
}

func printGroups(w io.Writer, answer []byte) error {
	var a struct {
		Total, Redriving int64
		Stake            struct {
			Looked, Healed, Unhealed, Accounts int64
			Money                              []overview.Money
		}
		More   bool
		Groups []struct {
			Print, Example string
			Count, Healed  int64
			Last           time.Time `json:"last_dead_at"`
			First          time.Time `json:"first_dead_at"`
			Classes, Tasks []string
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if a.Total == 0 {
		fmt.Fprintln(w, "There are no dead subtasks.")
		return nil
	}
	t := table(w)
	fmt.Fprintln(t, "COUNT\tHEALED\tFIRST\tLAST\tCLASS\tTASKS\tERROR PRINT")
	for _, g := range a.Groups {
		healed := strconv.FormatInt(g.Healed, 10)
		if a.Stake.Looked < a.Total {
			healed = "at least " + healed
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Count, healed, moment(g.First), moment(g.Last), strings.Join(g.Classes, ","), few(g.Tasks), plain(g.Print))
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

type deadRow struct {
	RunID      string    `json:"run_id"`
	AccountID  string    `json:"account_id"`
	Account    string    `json:"account"`
	Part       string    `json:"part"`
	Task       string    `json:"task"`
	Media      string    `json:"media"`
	Attempts   int       `json:"attempts"`
	ErrorClass string    `json:"error_class"`
	ErrorPrint string    `json:"error_print"`
	Error      string    `json:"error"`
	DeadAt     time.Time `json:"dead_at"`
	RedriveRun string    `json:"redrive_run_id"`
	Healed     bool      `json:"healed"`
}

func printRows(w io.Writer, answer []byte) error {
	var a struct {
		Dead []deadRow
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Dead) == 0 {
		fmt.Fprintln(w, "There are no dead subtasks.")
		return nil
	}
	t := table(w)
	fmt.Fprintln(t, "DIED\tRUN\tACCOUNT ID\tPART\tTASK\tACCOUNT\tATTEMPTS\tCLASS\tERROR")
	for _, d := range a.Dead {
		if d.Healed {
			d.ErrorClass += ", healed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			moment(d.DeadAt), d.RunID, d.AccountID, plain(d.Part), d.Task, d.Account, d.Attempts, d.ErrorClass, plain(d.Error))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if a.Next != "" {
		fmt.Fprintln(w, "\nThere are more: raise --limit, or choose by --task, --print …")
	}
	return nil
}
