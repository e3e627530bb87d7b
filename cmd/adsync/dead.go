package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/producer/overview"
)

// tableWidth is how many characters of a text a table has; error prints have less.
const tableWidth = 200

func (a *app) newDead() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "dead",
		Short: "Shows, repeats and drops subtasks that failed for good",
		Long: `A subtask that failed for good is kept, whatever becomes of its run and its day's log, until it is taken up
again (redrive) or dropped. These commands ask a producer's API. If it wants a token, set ` + tokenVariable + `.`,
		Example: `  adsync dead list --media tencent
  adsync dead redrive --task tencent.report_daily.account --yes`,
	})
	cmd.AddCommand(a.newDeadList(), a.newDeadShow(), a.newDeadRedrive(), a.newDeadDrop())
	return cmd
}

// deadFlags are what the commands of dead subtasks share.
type deadFlags struct {
	server, output string
	values         map[string]*string // by the name of the parameter
}

func (f *deadFlags) common(flags *pflag.FlagSet) {
	serverFlag(flags, &f.server)
	flags.StringVar(&f.output, "output", "table", "table or json")
}

func (f *deadFlags) filter(flags *pflag.FlagSet) {
	f.values = map[string]*string{}
	for _, p := range [][2]string{
		{"task", "only of the task of this name"},
		{"media", "only of this platform"},
		{"account", "only of this account, by the platform's id, such as 20000001 or tencent/20000001"},
		{"run", "only of the run with this id"},
		{"print", "only with this error print, as list shows it"},
		{"class", "only with errors of this class: transient, quota, auth, invalid, bug"},
		{"text", "only with this in the error's text"},
		{"since", "only what died since: a time such as 2026-11-21T10:30:00Z, or how long ago, such as 24h"},
		{"until", "only what died until then"},
	} {
		f.values[p[0]] = flags.String(p[0], "", p[1])
	}
}

func (f *deadFlags) check() error { return oneOf("output", f.output, "table", "json") }

// checkChange refuses a filter that was given without a value, and a change of everything that is not asked for in so many words.
func (f *deadFlags) checkChange(flags *pflag.FlagSet, all bool) error {
	if err := refuseEmpty(flags); err != nil {
		return err
	}
	narrowed := false
	for name, value := range f.values {
		narrowed = narrowed || name != "until" && *value != ""
	}
	switch {
	case narrowed && all:
		return usagef("--all does not go with a filter: leave one of the two out")
	case !narrowed && !all:
		return usagef("want a filter, such as --task, or --all for every dead subtask")
	}
	return f.check()
}

// query returns the filter that was given.
func (f *deadFlags) query() url.Values {
	q := url.Values{}
	for name, value := range f.values {
		if *value == "" {
			continue
		}
		text := *value
		if name == "since" || name == "until" {
			text = sinceWhen(text)
		}
		q.Set(name, text)
	}
	return q
}

// body returns the filter as that of a change.
func (f *deadFlags) body() map[string]any {
	body := map[string]any{}
	for name, values := range f.query() {
		body[name] = values[0]
	}
	return body
}

func (a *app) newDeadList() *cobra.Command {
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

func (a *app) newDeadShow() *cobra.Command {
	f := &deadFlags{}
	cmd := &cobra.Command{
		Use:   "show RUN ACCOUNT_ID PART",
		Short: "Shows all that is known of one dead subtask",
		Long:  `Shows one dead subtask, named by the first columns of "adsync dead list --rows", with its run and its log. The account may be named as MEDIA/ACCOUNT too.`,
		Example: `  adsync dead show 7529853616300212345 12 2026-11-20
  adsync dead show 7529853616300212345 tencent/20000001 2026-11-20`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usagef("want RUN ACCOUNT_ID PART, as \"adsync dead list --rows\" shows them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			c, err := a.client(cmd, f.server)
			if err != nil {
				return err
			}
			q := url.Values{"run": {args[0]}, "account_id": {args[1]}, "part": {args[2]}}
			answer, err := c.call(cmd.Context(), http.MethodGet, "/api/v1/dead/subtask", q, nil)
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), f.output, answer, printDead)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printDead(w io.Writer, answer []byte) error {
	var d struct {
		deadRow
		Run *struct {
			Kind      string
			State     string
			Handler   string
			Lane      string
			PlannedAt time.Time `json:"planned_at"`
		}
		Params json.RawMessage
		Log    *struct {
			Delivery  int
			Node      string
			StartedAt time.Time `json:"started_at"`
			Calls     int64
		}
	}
	if err := json.Unmarshal(answer, &d); err != nil {
		return err
	}
	t := table(w)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	line("task", "%s", d.Task)
	line("account", "%s (our id %s), %s", d.Account, d.AccountID, d.Media)
	line("part", "%s", plain(d.Part))
	line("died", "%s, after %s", moment(d.DeadAt), plural.Count(d.Attempts, "failure", "failures"))
	line("error class", "%s", d.ErrorClass)
	line("error print", "%s", plain(d.ErrorPrint))
	line("error", "%s", clean(d.Error))
	if d.RedriveRun != "" {
		line("taken up by", "run %s", d.RedriveRun)
	}
	if d.Run == nil {
		line("run", "%s, of which nothing is kept", d.RunID)
	} else {
		line("run", "%s (%s of %s), %s", d.RunID, d.Run.Kind, moment(d.Run.PlannedAt), d.Run.State)
		line("handler", "%s, lane %s", d.Run.Handler, d.Run.Lane)
	}
	if len(d.Params) > 0 {
		line("params", "%s", d.Params)
	}
	if d.Log == nil {
		line("log", "its day's table was dropped")
	} else {
		line("log", "sent %s, last begun %s on %s, %s in all", plural.Count(d.Log.Delivery, "time", "times"), moment(d.Log.StartedAt), d.Log.Node, plural.Count(d.Log.Calls, "API call", "API calls"))
	}
	return t.Flush()
}

func (a *app) newDeadRedrive() *cobra.Command {
	f := &deadFlags{}
	var all, yes bool
	var rate int
	cmd := &cobra.Command{
		Use:   "redrive",
		Short: "Takes dead subtasks up again, in new runs",
		Long: `Shows what would be taken up, and with --yes does it: for each task a run is made of just these accounts and
parts, with the task's settings as they are now. What fails again is dead again. It exits with 1 if the subtasks of some task were refused.`,
		Example: `  adsync dead redrive --print 'account ? has no permission'
  adsync dead redrive --task tencent.report_daily.account --since 24h --rate 50 --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body := f.body()
			if rate != 0 {
				body["rate"] = rate
			}
			return a.changeDead(cmd, f, "redrive", body, all, yes)
		},
	}
	f.common(cmd.Flags())
	f.filter(cmd.Flags())
	changeFlags(cmd.Flags(), &all, &yes)
	cmd.Flags().IntVar(&rate, "rate", 0, "subtasks a second of each run; without it what the task says")
	return cmd
}

func (a *app) newDeadDrop() *cobra.Command {
	f := &deadFlags{}
	var all, yes bool
	cmd := &cobra.Command{
		Use:     "drop",
		Short:   "Drops dead subtasks",
		Long:    `Shows what would be dropped, and with --yes drops it. What is dropped is gone.`,
		Example: `  adsync dead drop --task tencent.report_daily.account --until 720h --yes`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.changeDead(cmd, f, "drop", f.body(), all, yes)
		},
	}
	f.common(cmd.Flags())
	f.filter(cmd.Flags())
	changeFlags(cmd.Flags(), &all, &yes)
	return cmd
}

func changeFlags(flags *pflag.FlagSet, all, yes *bool) {
	flags.BoolVar(all, "all", false, "every dead subtask, instead of a filter")
	flags.BoolVar(yes, "yes", false, "do it; without it nothing is changed")
}

// deadPlan is what a redrive or a drop does.
type deadPlan struct {
	DryRun    bool   `json:"dry_run"`
	Count     int64  `json:"count"`
	Dropped   int64  `json:"dropped"`
	Redriving int64  `json:"redriving"`
	Healed    int64  `json:"healed"`
	AtLeast   bool   `json:"healed_at_least"`
	Until     string `json:"until"`
	Calls     *int64 `json:"estimated_calls"`
	Seconds   *int64 `json:"estimated_seconds"`
	Tasks     []struct {
		Task    string `json:"task"`
		Count   int64  `json:"count"`
		RunID   string `json:"run_id"`
		Calls   *int64 `json:"estimated_calls"`
		Seconds *int64 `json:"estimated_seconds"`
		Refused string `json:"refused"`
	} `json:"tasks"`
}

// plan asks what a change of dead subtasks would do, or with dry false has it done.
func (c *apiClient) plan(ctx context.Context, path string, body map[string]any, dry bool) (answer []byte, plan deadPlan, err error) {
	body["dry_run"] = dry
	if answer, err = c.call(ctx, http.MethodPost, path, nil, body); err == nil {
		err = json.Unmarshal(answer, &plan)
	}
	return answer, plan, err
}

// changeDead shows what a change would do, and with yes does just that: what dies meanwhile is left alone.
func (a *app) changeDead(cmd *cobra.Command, f *deadFlags, change string, body map[string]any, all, yes bool) error {
	if err := f.checkChange(cmd.Flags(), all); err != nil {
		return err
	}
	c, err := a.client(cmd, f.server)
	if err != nil {
		return err
	}
	if all {
		body["scope"] = task.ScopeAll
	}
	path := "/api/v1/dead/" + change
	answer, plan, err := c.plan(cmd.Context(), path, body, true)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	var undone error
	if f.output == "table" {
		if err := printPlan(out, change, plan); err != nil {
			return err
		}
	}
	if plan.Count > 0 && yes {
		body["until"] = plan.Until
		if answer, plan, err = c.plan(cmd.Context(), path, body, false); err != nil {
			return err
		}
		left := plan
		for change == "drop" && left.Dropped > 0 && left.Dropped < left.Count { // The server drops some at a time.
			if _, left, err = c.plan(cmd.Context(), path, body, false); err != nil {
				return fmt.Errorf("after %s dropped: %w", plural.Count(plan.Dropped, "was", "were"), err)
			}
			plan.Dropped += left.Dropped
		}
		undone = left.undone(change)
		if change == "drop" {
			if answer, err = withDropped(answer, plan.Dropped); err != nil {
				return err
			}
		}
	}
	if f.output == "json" {
		return errors.Join(printJSON(out, answer), undone)
	}
	switch {
	case plan.Count == 0:
	case !yes:
		fmt.Fprintln(out, "\nNothing was changed: add --yes to do it.")
	case change == "drop":
		fmt.Fprintf(out, "\nDropped %d.\n", plan.Dropped)
	default:
		fmt.Fprintln(out)
		printOrdered(out, plan)
	}
	return undone
}

// undone returns an error if a part of a change was not done; of a drop the plan is the last answer.
func (p *deadPlan) undone(change string) error {
	if left := p.Count - p.Dropped; change == "drop" && left > 0 {
		return fmt.Errorf("%d of the dead subtasks %s not dropped: others change them at the same time; try again", left, verb(left, "was", "were"))
	}
	var refused []string
	for _, t := range p.Tasks {
		if t.Refused != "" {
			refused = append(refused, clean(t.Task+": "+t.Refused))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("the dead subtasks of %s were not taken up: %s", plural.Count(len(refused), "task", "tasks"), strings.Join(refused, "; "))
	}
	return nil
}

// printOrdered names the runs that a redrive has ordered.
func printOrdered(w io.Writer, plan deadPlan) {
	for _, t := range plan.Tasks {
		if t.RunID != "" {
			fmt.Fprintf(w, "Ordered run %s of %s.\n", t.RunID, t.Task)
		}
	}
}

// withDropped puts the sum of several requests into the answer to the first.
func withDropped(answer []byte, dropped int64) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(answer, &fields); err != nil {
		return nil, err
	}
	fields["dropped"] = json.RawMessage(strconv.FormatInt(dropped, 10))
	return json.Marshal(fields)
}

func printPlan(w io.Writer, change string, plan deadPlan) error {
	if len(plan.Tasks) == 0 {
		fmt.Fprintln(w, "No dead subtask is chosen.")
	} else {
		t := table(w)
		head := "TASK\tSUBTASKS\tCALLS\tTIME\tREFUSED"
		if change == "drop" {
			head = "TASK\tSUBTASKS"
		}
		fmt.Fprintln(t, head)
		for _, p := range plan.Tasks {
			if change == "drop" {
				fmt.Fprintf(t, "%s\t%d\n", p.Task, p.Count)
				continue
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", p.Task, p.Count, number(p.Calls), took(p.Seconds), p.Refused)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s", plural.Count(plan.Count, "dead subtask", "dead subtasks"))
		if change == "redrive" {
			fmt.Fprintf(w, ", %s", estimate(plan.Calls, plan.Seconds))
		}
		fmt.Fprintln(w, ".")
	}
	if plan.Healed > 0 {
		atLeast := ""
		if plan.AtLeast {
			atLeast = "At least "
		}
		fmt.Fprintf(w, "%s%s\n", atLeast, plural.Count(plan.Healed, "has healed: its days were pulled whole since, so it need not be taken up.", "have healed: their days were pulled whole since, so they need not be taken up."))
	}
	if plan.Redriving > 0 {
		fmt.Fprintf(w, "%s being taken up again already, and left alone.\n", plural.Count(plan.Redriving, "more is", "more are"))
	}
	return nil
}

// estimate says what work would cost.
func estimate(calls, seconds *int64) string {
	switch {
	case calls == nil && seconds == nil:
		return "its API calls and time are not known yet"
	case calls == nil:
		return "its API calls are not known yet, about " + took(seconds)
	case seconds == nil:
		return "about " + plural.Count(*calls, "API call", "API calls") + ", its time is not known yet"
	}
	return "about " + plural.Count(*calls, "API call", "API calls") + ", about " + took(seconds)
}

func number(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return strconv.FormatInt(*n, 10)
}

func took(seconds *int64) string {
	if seconds == nil {
		return "unknown"
	}
	return (time.Duration(*seconds) * time.Second).String()
}

// show prints an answer in the form that was asked for.
func show(w io.Writer, output string, answer []byte, forPeople func(io.Writer, []byte) error) error {
	if output == "json" {
		return printJSON(w, answer)
	}
	return forPeople(w, answer)
}

func printJSON(w io.Writer, answer []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(answer), "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 4, 2, ' ', 0) }

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// plain is a text of a platform as one cell of a table.
func plain(text string) string {
	text = clean(text)
	if r := []rune(text); len(r) > tableWidth {
		return string(r[:tableWidth-1]) + "…"
	}
	return text
}

// clean takes out what would move the cursor of a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
