package standalone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"adsync/base/plural"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/producer"
	"adsync/simulator"
	"adsync/simulator/fault/trap"
	simworld "adsync/simulator/world"
	"adsync/standalone/story"
	"adsync/standalone/verify"
	"adsync/upkeep"
)

// OnceReport is the result of `standalone --once`, as --output json prints it.
type OnceReport struct {
	// Story is the report of the night that was played first; nil if none was.
	Story    *story.Report  `json:"story,omitempty"`
	Runs     []RunReport    `json:"runs"`
	Accounts AccountsReport `json:"accounts"`
	Truth    verify.Report  `json:"truth"`

	traps   []trap.Trap
	excerpt bool // the story need not meet every trap
}

// RunReport is one run of a task.
type RunReport struct {
	Task      string        `json:"task"`
	State     task.RunState `json:"state"`
	Subtasks  int64         `json:"subtasks"`
	Succeeded int64         `json:"succeeded"`
	Failed    int64         `json:"failed"`
	Seconds   float64       `json:"seconds"`
}

// Check returns ErrDifferent if a row differs. It returns an error that names a run that did not succeed, or the events
// that a story should have met and did not.
func (r OnceReport) Check() error {
	if r.Truth.Differences > 0 || (r.Story != nil && r.Story.Differences > 0) {
		return ErrDifferent
	}
	if r.Truth.RowsCompared == 0 {
		return errors.New("there was nothing to compare")
	}
	if err := r.checkStory(); err != nil {
		return err
	}
	for _, run := range r.Runs {
		if run.State != task.RunSucceeded {
			return fmt.Errorf("the run of %s ended as %s, though nothing differs", run.Task, run.State)
		}
	}
	return nil
}

// checkStory returns an error that names the events that a story never met.
func (r OnceReport) checkStory() error {
	if r.Story == nil {
		return nil
	}
	var missed []string
	for _, e := range r.Story.Events {
		if e.Met == 0 {
			missed = append(missed, e.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Truth.Traps)) {
		if r.Truth.Traps[name] == 0 && !r.excerpt {
			missed = append(missed, name)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("nothing differs, but the story never met: %s", strings.Join(missed, ", "))
	}
	if r.Story.RowsCompared == 0 {
		return errors.New("nothing differs, but the story pulled nothing that could be compared")
	}
	return nil
}

// newStory returns the story of a run, or nil: only a new world inside this process has one.
func newStory(o Options, dir *dataDir) *story.Story {
	if !o.Once || !o.Story || o.Simulator != "" || !dir.isNew {
		return nil
	}
	plan := story.Night(simulator.Nights(o.Platforms...))
	if o.plan != nil {
		plan = *o.plan
	}
	return story.New(plan, o.Accounts)
}

// played returns what the story needs. Its events concern the accounts of each platform's first login.
func (s *stack) played() story.Stack {
	accounts := map[string][]string{}
	for media, c := range s.world.creds {
		accounts[media] = c.Apps[0].Logins[0].AccountIDs
	}
	return story.Stack{Runs: s.runs, Accounts: accounts, Authorise: s.authorise, Speed: s.Speed}
}

// authorise authorises all logins of a platform again, as a person would.
func (s *stack) authorise(ctx context.Context, media string) error {
	box, err := s.box()
	if err != nil {
		return err
	}
	creds, err := askCredentials(ctx, s.world.address)
	if err != nil {
		return err
	}
	for _, app := range creds[media].Apps {
		for _, l := range app.Logins {
			if _, err := putLogin(ctx, s.store, box, media, app.AppID, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// once plays the story, if any, runs every task once in the stopped world, and compares.
func (s *stack) once(ctx context.Context) error {
	var report OnceReport
	say := func(format string, args ...any) {
		if !s.JSON {
			fmt.Fprintf(s.Out, format, args...)
		}
	}
	if servers := s.Servers.String(); servers != "" {
		say("on your own servers: %s\n\n", servers)
	}
	switch {
	case s.story != nil:
		say("a night of the world, from %s on\n\n",
			s.world.clock.Now().In(simworld.Zone).Format("2006-01-02 15:04:05 -07:00"))
		played, err := s.story.Play(ctx, s.played(), say)
		if err != nil {
			return err
		}
		report.Story, report.excerpt = &played, s.story.Excerpt
	case !s.world.isNew:
		// Work of an earlier run would interfere with this one's.
		if _, err := s.runs.Settle(ctx); err != nil {
			return err
		}
	}
	now := s.world.clock.Now()
	say("the world stands still at %s\n\n", now.In(simworld.Zone).Format("2006-01-02 15:04:05 -07:00"))
	began, err := s.store.Data.Now(ctx)
	if err != nil {
		return err
	}
	by := task.Order{By: "standalone --once"}
	if report.Runs, err = s.runOnce(ctx, now, by, s.progress()); err != nil {
		return err
	}
	// The system's tasks may have ordered pulls, which the summaries must contain too.
	if _, err := s.runs.Rest(ctx, math.MaxInt64); err != nil {
		return err
	}
	for phase := 1; phase < phases; phase++ {
		again, err := s.runPhase(ctx, now, ofPhase(phase, by), s.progress())
		if err != nil {
			return err
		}
		report.Runs = append(report.Runs, again...)
	}
	say("%s ended; comparing every row with the platforms' truth\n\n",
		plural.Count(len(report.Runs), "run has", "runs have"))
	if report.Truth, err = s.verify(ctx, now, began); err != nil {
		return err
	}
	if report.Accounts, err = readAccounts(ctx, s.store, now, began); err != nil {
		return err
	}
	if err := s.world.control().Get(ctx, "traps", &report.traps); err != nil {
		return err
	}
	for _, t := range report.traps {
		if report.Truth.Traps == nil {
			report.Truth.Traps = map[string]int64{}
		}
		report.Truth.Traps[t.Name] = t.Met
	}
	if s.JSON {
		err = printJSON(s.Out, report)
	} else {
		printOnce(s.Out, report)
	}
	if err != nil {
		return err
	}
	return report.Check()
}

// orderFor returns the order for a task, and whether there is one.
type orderFor func(producer.Task) (task.Order, bool)

// orderTasks orders every task once for which request returns an order, all at the moment now of the world. It returns
// the ids of their runs. It skips disabled and invalid rows, which the API lists.
func (s *stack) orderTasks(ctx context.Context, now time.Time, request orderFor) ([]int64, error) {
	var ids []int64
	for _, row := range s.runs.Plan.Tasks() {
		if !row.Usable || !row.Enabled || !s.world.has(row.Media) {
			continue
		}
		order, wanted := request(row)
		if !wanted {
			continue
		}
		order.Scope = task.ScopeAll
		id, err := s.runs.Order(ctx, row.ID, order, now)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// phases is the number of phases: first the tasks of the platforms, which may run in parallel, then the system's tasks,
// which read their rows, and last the wide table, which joins all of it.
const phases = 3

func phaseOf(row producer.Task) int {
	switch {
	case row.Media != upkeep.Name:
		return 0
	case row.Handler != upkeep.WideName:
		return 1
	default:
		return 2
	}
}

// ofPhase orders each task of a phase.
func ofPhase(phase int, order task.Order) orderFor {
	return func(row producer.Task) (task.Order, bool) { return order, phaseOf(row) == phase }
}

// runOnce orders every task, phase by phase, and waits for the end of their runs.
func (s *stack) runOnce(ctx context.Context, now time.Time, by task.Order, progress func([]ledger.Run)) ([]RunReport,
	error) {
	var reports []RunReport
	for phase := range phases {
		part, err := s.runPhase(ctx, now, ofPhase(phase, by), progress)
		if err != nil {
			return nil, err
		}
		reports = append(reports, part...)
	}
	return reports, nil
}

// runPhase orders tasks and waits for the end of their runs.
func (s *stack) runPhase(ctx context.Context, now time.Time, request orderFor, progress func([]ledger.Run)) (
	[]RunReport, error) {
	ids, err := s.orderTasks(ctx, now, request)
	if err != nil {
		return nil, err
	}
	ended, err := s.runs.Wait(ctx, ids, progress)
	if err != nil {
		return nil, err
	}
	reports := make([]RunReport, len(ended))
	for i, run := range ended {
		reports[i] = reportOf(run)
	}
	return reports, nil
}

func reportOf(r ledger.Run) RunReport {
	report := RunReport{Task: r.TaskName, State: r.State, Succeeded: r.Succeeded, Failed: r.Ended() - r.Succeeded,
		Seconds: r.EndedAt.Sub(r.CreatedAt).Seconds()}
	if r.Total != nil {
		report.Subtasks = *r.Total
	}
	// A pull that was superseded by a newer one of the same scope is not a failure: the tables hold the newer figures.
	report.Succeeded += r.Superseded
	report.Failed -= r.Superseded
	return report
}

// printOnce prints the result for people.
func printOnce(out io.Writer, r OnceReport) {
	fmt.Fprintf(out, "%-44s %-10s %9s %10s %7s %8s\n", "RUN", "STATE", "SUBTASKS", "SUCCEEDED", "FAILED", "SECONDS")
	for _, run := range r.Runs {
		fmt.Fprintf(out, "%-44s %-10s %9d %10d %7d %8.1f\n", run.Task, run.State, run.Subtasks, run.Succeeded, run.Failed,
			run.Seconds)
	}
	fmt.Fprintf(out, "\n%-28s %10s %8s %12s\n", "TABLE", "ROWS", "COLUMNS", "DIFFERENCES")
	names := make([]string, 0, len(r.Truth.Tables))
	for name := range r.Truth.Tables {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := r.Truth.Tables[name]
		fmt.Fprintf(out, "%-28s %10d %8d %12d\n", name, t.Rows, t.Columns, t.Differences)
	}
	differences := func(n int64) string { return plural.Count(n, "difference", "differences") }
	rows := func(n int64) string { return plural.Count(n, "row", "rows") }
	fmt.Fprintf(out, "\n%s compared with the platforms' truth (%d expected, %d of them not all zero): %s\n",
		rows(r.Truth.RowsCompared), r.Truth.ExpectedRows, r.Truth.NonzeroRows, differences(r.Truth.Differences))
	if r.Story != nil {
		fmt.Fprintf(out, "%s of %s compared with what was published while they were fetched: %s\n",
			rows(r.Story.RowsCompared), plural.Count(r.Story.Pulls, "pull", "pulls"), differences(r.Story.Differences))
		fmt.Fprintf(out, "%s whose last pull of the night was not whole, %s cancelled at its end\n",
			plural.Count(r.Story.NotWhole, "day", "days"), plural.Count(r.Story.Cancelled, "run", "runs"))
	}
	fmt.Fprintln(out, r.Accounts)
	for _, t := range r.traps {
		if t.Met > 0 {
			fmt.Fprintf(out, "survived %d×: %s: %s\n", t.Met, t.Name, t.Survived)
		}
	}
	examples := r.Truth.Examples
	if r.Story != nil {
		examples = slices.Concat(r.Story.Examples, examples)
	}
	if len(examples) > 0 {
		fmt.Fprintf(out, "\nthe first of them:\n  %s\n", strings.Join(examples, "\n  "))
	}
}

func printJSON(out io.Writer, r any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
