package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/overview"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/base/task"
	"adsync/test/big"
)

const (
	// planRows is about how many rows each table has whose plans are checked: enough that the optimizer decides as for
	// larger tables.
	planRows = 200_000
	// smallRead is how many rows a step of a plan may read without an index.
	smallRead = 2500
	// readMax is how many rows all statements of a reading may read: a page of accounts reads planReach of them, in five
	// tables.
	readMax = 5500
)

// plan is a read of the store that is repeated often, or for which a person waits.
type plan struct {
	name string
	do   func(ctx context.Context) error
	// whole is why it may read much; "" if it must not.
	whole string
}

// No list, search or poll of any subject may read a whole table, or sort one. The optimizer decides by each table's
// size: these are large enough that it decides as for larger ones. As it cannot predict how far a read along an index
// goes, the rows that were read are counted too.
func TestPlans_ReadNoWholeTable(t *testing.T) { //nolint:tparallel // They share one connection, whose rows are counted.
	t.Parallel()
	s, reads, open := planStore(t)
	for _, p := range plans(s, open) {
		t.Run(p.name, func(t *testing.T) {
			var err error
			var ran []sqldbtest.Ran
			read := reads(func() { ran = sqldbtest.Captured(s.Databases, func() { err = p.do(t.Context()) }) })
			require.NoError(t, err)
			require.NotEmpty(t, ran)
			var bad []string
			for _, r := range ran {
				for _, step := range explainSteps(t, r) {
					if step.wholeTable() || step.sortsMuch() {
						bad = append(bad, fmt.Sprintf("%s\n\t%+v", r.Text, step))
					}
				}
			}
			if read > readMax {
				bad = append(bad, fmt.Sprintf("%d rows were read", read))
			}
			if p.whole == "" {
				require.Empty(t, bad, "%s", strings.Join(bad, "\n"))
			} else {
				require.NotEmpty(t, bad, "it is no longer an exception: %s", p.whole)
			}
		})
	}
}

// step is a line of EXPLAIN.
type step struct {
	Table, Type, Key, Extra string
	Rows                    int64
}

func (s step) wholeTable() bool {
	return (s.Type == "ALL" || s.Type == "index") && s.Rows > smallRead && !strings.HasPrefix(s.Table, "<")
}

func (s step) sortsMuch() bool {
	return s.Rows > smallRead && (strings.Contains(s.Extra, "Using filesort") ||
		strings.Contains(s.Extra, "Using temporary"))
}

var explained = regexp.MustCompile(`^(SELECT|UPDATE|DELETE|INSERT)`)

// explainSteps returns the plan of a statement; none if it has placeholders in place of values, or inserts rows.
func explainSteps(t *testing.T, ran sqldbtest.Ran) []step {
	t.Helper()
	statement := ran.Text
	if !explained.MatchString(statement) || strings.Contains(statement, "?") || strings.HasPrefix(statement, "INSERT") &&
		!strings.Contains(statement, "SELECT") {
		return nil
	}
	rows, err := ran.DB.Writer(t.Context()).Raw("EXPLAIN " + statement).Rows()
	require.NoError(t, err, statement)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var steps []step
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		var st step
		for i, c := range columns {
			switch c {
			case "table":
				st.Table = values[i].String
			case "type":
				st.Type = values[i].String
			case "key":
				st.Key = values[i].String
			case "Extra":
				st.Extra = values[i].String
			case "rows":
				_, _ = fmt.Sscan(values[i].String, &st.Rows)
			}
		}
		steps = append(steps, st)
	}
	require.NoError(t, rows.Err())
	return steps
}

// planDay is the day of the tables.
const planDay = day.Day("2026-11-21")

const planAccounts = 4000

// planTask is a task of daily reports.
const planTask = 990_007

var planRaw = rawtable.Table{Name: "tulip_plan", Shape: rawtable.DailyRows}

// planReach is how many rows a page of a list reads.
const planReach = 1000

var planLog = big.Log{Day: planDay, Rows: planRows, RunSize: 400, Open: 4}

// planStore returns a store with many rows in its tables, a counter of the rows that something reads, and an open
// run.
func planStore(t *testing.T) (s *store.Store, reads func(do func()) int, open int64) {
	t.Helper()
	s, reads, cfg := counting(t)
	ctx := t.Context()
	tables, err := big.Of(cfg.Data.Writer.Reveal(), cfg.Config.Writer.Reveal())
	require.NoError(t, err)
	defer func() { require.NoError(t, tables.Close()) }()
	require.NoError(t, tables.Accounts(ctx, planAccounts))
	require.NoError(t, s.EnsurePartitions(ctx, planDay.Add(-2), planDay.Add(1)))
	require.NoError(t, s.EnsureRawTables(ctx, []rawtable.Table{planRaw}))
	earlier := planLog
	earlier.Day, earlier.Open = planDay.Add(-1), 0
	for _, log := range []big.Log{planLog, earlier} {
		require.NoError(t, s.EnsureLogTable(ctx, log.Day))
		require.NoError(t, tables.Log(ctx, log))
	}
	// The runs of months, and ten times as many dead subtasks.
	months := earlier
	months.Rows, months.RunSize, months.Day = planRows, 1, planDay.Add(-2)
	require.NoError(t, s.EnsureLogTable(ctx, months.Day))
	require.NoError(t, tables.Log(ctx, months))
	_, err = tables.DB.ExecContext(ctx,
		"INSERT INTO subtask_dead SELECT d.run_id, d.account_id, CONCAT('more ', s.seq), d.task_id, d.media, d.attempt,"+
			" d.error_class, d.error_print, d.error_text,"+
			" d.dead_at, d.redrive_run_id FROM subtask_dead d JOIN seq_1_to_99 s")
	require.NoError(t, err)
	require.NoError(t, tables.Skew(ctx, planAccounts, planRows/4))
	for _, d := range []day.Day{planDay, planDay.Add(-1)} {
		require.NoError(t, tables.Daily(ctx, d))
		require.NoError(t, tables.Wide(ctx, d))
	}
	require.NoError(t, tables.Skew(ctx, planAccounts, 2*planAccounts))
	require.NoError(t, tables.Hourly(ctx, planDay))
	require.NoError(t, tables.Coverage(ctx, planAccounts, planDay.Add(-6), planDay))
	require.NoError(t, tables.Rest(ctx, planAccounts, planRows/4, planDay))
	require.NoError(t, tables.Summaries(ctx, planDay, planDay))
	require.NoError(t, tables.Analyze(ctx))
	require.NoError(t,
		s.Config.Writer(ctx).Exec("INSERT INTO cron_task (id, name, media, handler, cron, params) VALUES (?, 'plan', '"+
			big.Media+"', '"+big.Media+".report_daily', '* * * * *', '{}')", planTask).Error)
	// A page without an index reads much less than the whole table.
	s.Reach.Rows, s.Reach.Runs = planReach, planReach/5
	return s, reads, planLog.RunID(planLog.Runs() - 1)
}

func plans(s *store.Store, open int64) []plan {
	noon := planDay.Start(time.UTC).Add(12 * time.Hour)
	key := task.Key{RunID: open, AccountID: 7, Part: string(planDay)}
	ids := []int64{1, 2, 3, 500, 700}
	week := results.Calendar{Report: "report_daily", Level: "account"}
	for _, d := range day.Between(planDay.Add(-6), planDay) {
		week.Days = append(week.Days, results.CalendarDay{Day: d, Since: 1})
	}
	var all []plan
	add := func(name string, do func(ctx context.Context) error, whole ...string) {
		all = append(all, plan{name: name, do: do, whole: strings.Join(whole, "")})
	}
	lists := func(name string, do func(ctx context.Context) (n int, err error), whole ...string) {
		add(name, func(ctx context.Context) error {
			n, err := do(ctx)
			if err == nil && n == 0 {
				err = fmt.Errorf("%s found nothing, so that its plan proves nothing", name)
			}
			return err
		}, whole...)
	}

	// Runs, as GET /api/v1/runs lists them.
	failed := []task.RunState{task.RunFailed}
	for name, f := range map[string]ledger.RunSearch{
		"all": {}, "of a task": {TaskName: "task.7"}, "of a state": {States: failed},
		"of a task and a state": {TaskName: "task.7", States: failed},
		"of a platform and states since a time": {Media: big.Media,
			States: []task.RunState{task.RunFailed, task.RunPartial, task.RunExpired}, From: open - 100},
		"between two times":           {From: planLog.RunID(3), Before: planLog.RunID(60)},
		"of a task between two times": {TaskName: "task.7", From: planLog.RunID(3), Before: planLog.RunID(60)},
		"a later page":                {Before: open - 1}, "a later page of a task": {TaskName: "task.7", Before: open},
		"of an unknown task":                 {TaskName: "nobody"},
		"of a rare state":                    {States: []task.RunState{task.RunRunning}},
		"of a task and a state without runs": {TaskName: "task.7", States: []task.RunState{task.RunExpired}},
	} {
		f.Limit = 51
		add("runs, "+name, func(ctx context.Context) error { _, err := s.SearchRuns(ctx, f); return err })
	}
	add("a run", func(ctx context.Context) error { _, err := s.Run(ctx, open); return err })
	add("runs by id", func(ctx context.Context) error { _, err := s.Runs(ctx, []int64{open, open - 1}); return err })
	add("waiting subtasks of a run", func(ctx context.Context) error {
		_, _, err := s.SubtasksWaiting(ctx, open)
		return err
	})
	add("an order", func(ctx context.Context) error { _, err := s.Order(ctx, 77); return err })
	add("the pace of a task", func(ctx context.Context) error { _, err := s.TaskPace(ctx, 7); return err })

	add("a run with its waiting subtasks", func(ctx context.Context) error {
		_, _, _, err := s.RunProgress(ctx, open)
		return err
	})

	// Subtasks, as GET /api/v1/runs/{id}/subtasks, /api/v1/accounts/{media}/{external_id}/subtasks and /api/v1/due list
	// them.
	for name, f := range map[string]ledger.SubtaskFilter{"all": {}, "of a state": {State: task.Failed},
		"of a text": {Text: "code 7:"}, "of a state that none has": {State: task.Cancelled}} {
		add("subtasks of a run, "+name, func(ctx context.Context) error {
			_, _, err := s.RunSubtasks(ctx, planLog.RunID(3), f, ledger.AccountPart{}, 50)
			return err
		})
		add("subtasks of a run, a later page "+name, func(ctx context.Context) error {
			_, _, err := s.RunSubtasks(ctx, planLog.RunID(3), f, ledger.AccountPart{AccountID: 390, Part: string(planDay)}, 50)
			return err
		})
		add("subtasks of an account, "+name, func(ctx context.Context) error {
			_, _, err := s.AccountSubtasks(ctx, settings.Account{ID: 7, Media: big.Media}, f, planDay.Start(time.UTC),
				time.Time{}, task.Key{}, 50)
			return err
		})
		add("subtasks of an account, a later page "+name, func(ctx context.Context) error {
			_, _, err := s.AccountSubtasks(ctx, settings.Account{ID: 7, Media: big.Media}, f, planDay.Start(time.UTC), noon,
				task.Key{RunID: planLog.RunID(30), Part: string(planDay)}, 50)
			return err
		})
	}
	for name, f := range map[string]ledger.WaitingFilter{
		"all": {}, "of a state": {State: task.Deferred}, "of a media": {Media: big.Media}, "of a lane": {Lane: "normal"},
		"of a text": {Text: "code 7:"}, "of a text that none has": {Text: "no"},
	} {
		add("subtasks that wait, "+name, func(ctx context.Context) error {
			_, _, err := s.WaitingSubtasks(ctx, f, ledger.WaitingPlace{}, 50)
			return err
		})
		add("subtasks that wait, a later page "+name, func(ctx context.Context) error {
			_, _, err := s.WaitingSubtasks(ctx, f, ledger.WaitingPlace{DueAt: noon.Add(12 * time.Hour), Key: key}, 50)
			return err
		})
	}

	// Dead subtasks.
	page := dead.DeadPlace{At: noon, Key: key}
	for name, f := range map[string]task.DeadFilter{
		"all": {}, "of a task": {TaskID: 7}, "of a media": {Media: big.Media}, "of an account": {AccountID: 7},
		"of a run":   {RunID: planLog.RunID(3)},
		"of a print": {Print: "code 7: account ? is refused"}, "since": {Since: noon}, "until": {Until: noon},
		"of a task and a media": {TaskID: 7, Media: big.Media},
		"of a class":            {Class: "bug"}, "of a text": {Text: "code 7:"},
		"of a task and a text": {TaskID: 7, Text: "code 7:"},
	} {
		whole := ""
		if name == "of a text" {
			whole = "a piece of a text is in no index: it reads the newest ones until it has a page"
		}
		if strings.Contains(name, " and a ") {
			whole = "an index serves one of two filters: it counts in the index how far it may read," +
				" and reads the newest ones until it has a page"
		}
		add("dead, "+name, func(ctx context.Context) error {
			_, _, err := s.ListDead(ctx, f, dead.DeadPlace{}, 51)
			return err
		}, whole)
		add("dead, a later page "+name, func(ctx context.Context) error {
			_, _, err := s.ListDead(ctx, f, page, 51)
			return err
		}, whole)
	}
	add("dead, the groups of a task", func(ctx context.Context) error {
		_, _, err := s.DeadGroups(ctx, task.DeadFilter{TaskID: 7}, 51)
		return err
	}, groupsSort)
	add("dead, the groups of all", func(ctx context.Context) error {
		_, _, err := s.DeadGroups(ctx, task.DeadFilter{}, 51)
		return err
	}, "it counts all of them, by an index that has all it needs in this order")
	add("dead, counts of a print", func(ctx context.Context) error {
		_, err := s.CountDead(ctx, task.DeadFilter{Print: "code 7: account ? is refused"})
		return err
	})
	add("dead, counts of all", func(ctx context.Context) error {
		_, err := s.CountDead(ctx, task.DeadFilter{})
		return err
	}, "it counts all of them, by an index that has all it needs")
	add("dead, counts by media", func(ctx context.Context) error { _, err := s.CountDeadByMedia(ctx); return err },
		"it counts all of them, by an index that has all it needs")
	add("a dead subtask", func(ctx context.Context) error {
		_, err := s.DeadSubtask(ctx, task.Key{RunID: planLog.RunID(3), AccountID: 7, Part: string(planDay)})
		return err
	})
	add("the log of a subtask", func(ctx context.Context) error { _, err := s.SubtaskLog(ctx, key); return err })
	add("the calls of runs", func(ctx context.Context) error {
		_, err := s.CallsOfRuns(ctx, task.FirstRunID(planDay))
		return err
	})
	add("the calls of accounts", func(ctx context.Context) error {
		_, err := s.CallsOfAccounts(ctx, []int64{open, planLog.RunID(3)})
		return err
	})
	add("the failures of a subtask", func(ctx context.Context) error { _, err := s.Failures(ctx, key); return err })
	add("a dead task by name", func(ctx context.Context) error { _, err := s.DeadTask(ctx, "task.7"); return err })
	add("runs that dead subtasks are marked for", func(ctx context.Context) error {
		_, err := s.Redrives(ctx)
		return err
	})
	add("dead subtasks of a redrive", func(ctx context.Context) error {
		_, _, _, err := s.MarkedParts(ctx, 77, 100, 100)
		return err
	})

	// Work that waits.
	lists("due", func(ctx context.Context) (int, error) {
		due, err := s.DueSubtasks(ctx, noon.Add(13*time.Hour), noon.Add(13*time.Hour), 500)
		return len(due), err
	})
	add("why a subtask waits", func(ctx context.Context) error { _, _, err := s.WaitOf(ctx, key); return err })
	add("due by key", func(ctx context.Context) error { _, err := s.DueOf(ctx, []task.Key{key}); return err })
	add("due, counts", func(ctx context.Context) error { _, err := s.CountDue(ctx); return err })
	lists("where messages were sent again", func(ctx context.Context) (int, error) {
		all, err := s.SentRanges(ctx)
		return len(all), err
	})
	add("messages sent again within a range", func(ctx context.Context) error {
		_, err := s.SentWithin(ctx, ledger.SentRange{Topic: "adsync." + big.Media + ".normal", Partition: 1, Lowest: 1,
			Highest: 500}, noon, 100)
		return err
	})
	lists("running runs", func(ctx context.Context) (int, error) {
		all, err := s.RunningRuns(ctx, 0, 100)
		return len(all), err
	})
	lists("first deliveries", func(ctx context.Context) (int, error) {
		all, err := s.FirstDeliveries(ctx, ledger.RunningRun{ID: planLog.RunID(3)}, ledger.AccountPart{}, 100)
		return len(all) + 1, err
	})
	lists("open subtasks of a run", func(ctx context.Context) (int, error) {
		all, err := s.OpenSubtasksOf(ctx, open, task.Key{}, 100)
		return len(all), err
	})
	add("open subtasks of an account", func(ctx context.Context) error {
		_, err := s.OpenSubtasksOfAccount(ctx, []int64{open, planLog.RunID(3)}, 8)
		return err
	})
	add("open runs of tasks", func(ctx context.Context) error { _, err := s.OpenRuns(ctx, ids, 100); return err })
	add("older open runs", func(ctx context.Context) error { _, err := s.OlderOpenRuns(ctx, 7, open); return err })
	add("open subtasks of runs", func(ctx context.Context) error {
		_, err := s.OpenSubtasks(ctx, []int64{open}, ledger.AccountRange{After: 5, Through: 50})
		return err
	})
	add("open subtasks of accounts that lie far apart", func(ctx context.Context) error {
		_, err := s.OpenSubtasksOfAccounts(ctx, []int64{open, planLog.RunID(3)}, []int64{5, 50, 500})
		return err
	})
	add("queued subtasks", func(ctx context.Context) error {
		_, err := s.QueuedSubtasks(ctx, []int64{open}, ledger.AccountRange{After: 5, Through: 50})
		return err
	})
	add("pauses waited for", func(ctx context.Context) error { _, err := s.PausesWaitedFor(ctx); return err })
	add("subtasks of a pause", func(ctx context.Context) error {
		_, err := s.Release(ctx, task.PauseRef(77), noon, 100)
		return err
	})
	add("subtasks queued behind ended ones", func(ctx context.Context) error {
		_, err := s.ReleaseQueued(ctx, noon)
		return err
	})
	add("unsent subtasks", func(ctx context.Context) error {
		_, err := s.UnsentSubtasks(ctx, open, ledger.AccountRange{After: 5, Through: 50})
		return err
	})
	add("whether a run has more subtasks", func(ctx context.Context) error {
		_, err := s.HasSubtasks(ctx, open, 100)
		return err
	})
	add("states of subtasks", func(ctx context.Context) error {
		_, err := s.SubtaskStates(ctx, []task.Key{key})
		return err
	})
	add("fan-outs", func(ctx context.Context) error {
		_, err := s.FanningOutRuns(ctx, ledger.FanOutFilter{}, 16)
		return err
	})
	add("counts of runs in a state", func(ctx context.Context) error {
		_, err := s.CountRunsInState(ctx, task.RunRunning)
		return err
	})
	for _, kind := range []task.Stop{{Kind: task.StopTask, Target: "7"}, {Kind: task.StopMedia, Target: big.Media},
		{Kind: task.StopAccount, Target: "7"}} {
		kind.ID = open
		add("runs that a cancel takes, "+string(kind.Kind),
			func(ctx context.Context) error { _, err := s.RunsToCancel(ctx, kind); return err })
	}

	// Orders.
	add("stops in force", func(ctx context.Context) error { _, err := s.ActiveStops(ctx); return err })
	for _, verb := range []task.StopVerb{task.Pause, task.Cancel} {
		for _, active := range []bool{false, true} {
			lists(fmt.Sprintf("stops, %s, active %v", verb, active), func(ctx context.Context) (int, error) {
				all, err := s.ListStops(ctx, ledger.StopFilter{Verb: verb, Active: active, Limit: 51})
				if verb == task.Cancel && active {
					return 1, err // There is none.
				}
				return len(all), err
			})
		}
	}
	add("a stop", func(ctx context.Context) error { _, err := s.Stop(ctx, 77); return err })
	add("orders without a run", func(ctx context.Context) error { _, err := s.OpenOrders(ctx, 100); return err })
	add("orders until", func(ctx context.Context) error { _, err := s.OpenOrdersUntil(ctx, 1000); return err })
	add("orders that wait", func(ctx context.Context) error { _, err := s.WaitingOrders(ctx, []int64{7}); return err })

	// Ticks.
	add("ticks without a run", func(ctx context.Context) error {
		_, err := s.TicksWithoutRun(ctx, planLog.RunID(planLog.Runs()-10), 100)
		return err
	})
	add("ticks between", func(ctx context.Context) error {
		_, err := s.TicksBetween(ctx, 7, noon, noon.Add(time.Hour))
		return err
	})
	add("the last tick through", func(ctx context.Context) error {
		_, _, err := s.LastTickThrough(ctx, 7, noon)
		return err
	})
	add("the last ticks", func(ctx context.Context) error { _, err := s.LastTicks(ctx, 7, 10); return err })
	add("ticks made after", func(ctx context.Context) error {
		_, err := s.TicksMadeAfter(ctx, 7, noon.Add(11*time.Hour), noon)
		return err
	})
	add("moments planned after", func(ctx context.Context) error {
		_, err := s.PlannedAfter(ctx, map[int64]time.Time{7: noon.Add(11 * time.Hour), 8: noon.Add(11 * time.Hour)})
		return err
	})
	add("tasks with open ticks", func(ctx context.Context) error { _, err := s.TasksWithOpenTicks(ctx, ids); return err })
	add("unanswered runs", func(ctx context.Context) error {
		_, err := s.Unanswered(ctx, 8, 7, planLog.RunID(0), 10)
		return err
	})
	add("any unanswered run", func(ctx context.Context) error {
		_, _, err := s.AnyUnanswered(ctx, 8, 7, planLog.RunID(0))
		return err
	})

	// Coverage, and what is made from it.
	for _, state := range []results.CoverageState{results.Partial, results.Suspect} {
		add("days that are "+string(state), func(ctx context.Context) error {
			return s.Glance(ctx, func(g *overview.Glance) error { _, err := g.Doubtful(big.Media, state, 500); return err })
		})
	}
	lists("which dead subtasks are healed", func(ctx context.Context) (int, error) {
		var died []dead.DeadSubtask
		for id := range int64(500) {
			died = append(died, dead.DeadSubtask{Key: task.Key{RunID: 1, AccountID: 1 + id*7, Part: string(planDay.Add(-4))},
				Media: big.Media, TaskID: planTask, DeadAt: time.UnixMicro(1)})
		}
		healed, err := s.Healed(ctx, died)
		return len(healed), err
	})
	add("healed subtasks to drop", func(ctx context.Context) error {
		_, _, _, err := s.DropHealed(ctx, planDay.Add(-30).Start(time.UTC), task.Key{}, 500)
		return err
	})
	add("unusable values of an account", func(ctx context.Context) error {
		_, err := s.UnusableValues(ctx, 7, planDay.Add(-6), planDay)
		return err
	})
	lists("coverage of an account", func(ctx context.Context) (int, error) {
		all, err := s.ReadCoverage(ctx, 7, planDay.Add(-6), planDay)
		return len(all), err
	})
	add("accounts with holes", func(ctx context.Context) error {
		_, err := s.AccountsWithHoles(ctx, ids, week)
		return err
	})
	add("holes", func(ctx context.Context) error { _, err := s.Holes(ctx, ids, week); return err })
	add("untrusted days of accounts", func(ctx context.Context) error {
		_, err := s.UntrustedCoverage(ctx, big.Media, ids, planDay.Add(-6), planDay)
		return err
	})
	add("differences of accounts", func(ctx context.Context) error {
		_, err := s.OpenDifferences(ctx, ids, planDay.Add(-6), planDay)
		return err
	})
	add("holes to forget", func(ctx context.Context) error {
		_, err := s.DeleteOldHoles(ctx, planDay.Add(-5).Start(time.UTC))
		return err
	})
	lists("tombstones to purge", func(ctx context.Context) (int, error) {
		now, err := s.Data.Now(ctx)
		if err != nil {
			return 0, err
		}
		// There is one for each second before planDay. The oldest thousand go, whatever the present day.
		oldest := planDay.Start(time.UTC).Add(-planRows / 4 * time.Second)
		return s.PurgeTombstones(ctx, now.Sub(oldest.Add(1000*time.Second)))
	})
	add("the beginning of a pull", func(ctx context.Context) error {
		_, _, err := s.BeginPull(ctx, results.Scope{AccountID: 7, Report: "report_daily", Level: "account",
			Days: []day.Day{planDay}}, "x", 1)
		return err
	})
	for lacks, word := range map[int]string{1: "a row that a pull lacks", 2: "rows that a pull lacks"} {
		add(word, func(ctx context.Context) error {
			for i, n := range []int{3, 3 - lacks} {
				scope := results.Scope{AccountID: planAccounts + int64(lacks), Media: big.Media, Report: "report_daily",
					Level: "campaign", Days: []day.Day{planDay}}
				claim, _, err := s.BeginPull(ctx, scope, fmt.Sprint("pull ", i), 1)
				if err != nil {
					return err
				}
				w := results.ReportWrite{Claim: claim, Raw: planRaw, Currency: "CNY", Zone: "Asia/Shanghai", Whole: true}
				for j := range n {
					w.Rows = append(w.Rows, results.ReportRow{Day: planDay, Object: fmt.Sprint(j), JSON: "{}"})
				}
				result, err := s.WriteReport(ctx, w)
				if err != nil {
					return err
				}
				if i == 1 && result.Deleted != lacks {
					return fmt.Errorf("%d rows were deleted, want %d", result.Deleted, lacks)
				}
			}
			return nil
		})
	}
	lists("dirty days", func(ctx context.Context) (int, error) {
		all, err := s.DirtyDays(ctx, big.Media, 1<<60, 2000)
		return len(all), err
	})
	for _, hourly := range []bool{false, true} {
		lists(fmt.Sprintf("a summary, hourly %v", hourly), func(ctx context.Context) (int, error) {
			_, err := s.RebuildSummary(ctx, summaries.DirtyDay{Media: big.Media, Hourly: hourly, Day: planDay})
			return 1, err
		}, "it adds up all accounts of a day, a page at a time")
	}
	lists("the summary of one account's day", func(ctx context.Context) (int, error) {
		dirty, err := s.DirtyDays(ctx, big.Media, 1<<60, 1)
		if err != nil || len(dirty) == 0 {
			return 0, err
		}
		_, err = s.RebuildSummary(ctx, dirty[0])
		return 1, err // The summary may be up to date already.
	})
	lists("the wide rows of an account's day", func(ctx context.Context) (int, error) {
		_, err := s.RebuildWide(ctx, nil, 7, []summaries.WideDay{{AccountID: 7, Day: planDay, Mark: 1}})
		return 1, err
	})
	add("wide days", func(ctx context.Context) error { _, err := s.WideDays(ctx, big.Media, 1<<60, 100); return err })
	add("wide configurations", func(ctx context.Context) error {
		_, err := s.WideConfigurations(ctx, big.Media, 1<<60, 100)
		return err
	})
	add("sums of levels", func(ctx context.Context) error { _, err := s.LevelSums(ctx, planDay, ids); return err })
	add("activities", func(ctx context.Context) error {
		_, err := s.Activities(ctx, ids, day.Between(planDay.Add(-6), planDay), noon, noon.AddDate(1, 0, 0),
			[]string{"adgroup"})
		return err
	})
	add("reports that are whole", func(ctx context.Context) error {
		_, err := s.WholeReports(ctx, ids, planDay)
		return err
	})

	// Changes and differences.
	for name, f := range map[string]results.ChangeFilter{
		"all": {}, "of days": {From: noon.Add(-24 * time.Hour), To: noon}, "of a level": {Level: "adgroup"},
		"of an object": {Object: "77"}, "of a field": {Field: "daily_budget"},
	} {
		f.AccountID = 7
		add("changes, "+name, func(ctx context.Context) error {
			_, err := s.ConfigChanges(ctx, f, results.ConfigChange{}, 101)
			return err
		})
		add("changes, a later page "+name, func(ctx context.Context) error {
			_, err := s.ConfigChanges(ctx, f, results.ConfigChange{Version: noon.UnixMicro(), Level: "adgroup", Object: "1",
				Field: "x"}, 101)
			return err
		})
	}
	for name, f := range map[string]results.DifferenceFilter{
		"all": {}, "of a media": {Media: big.Media}, "open": {State: results.DifferenceOpen},
		"open of a media":   {Media: big.Media, State: results.DifferenceOpen},
		"mended of a media": {Media: big.Media, State: results.DifferenceMended}, "of an account": {AccountID: 7},
		"of a day": {Day: planDay}, "open of a day": {Day: planDay, State: results.DifferenceOpen},
		"open of a media and a day": {Media: big.Media, Day: planDay, State: results.DifferenceOpen},
	} {
		add("differences, "+name, func(ctx context.Context) error {
			_, err := s.Differences(ctx, f, results.Difference{}, 101)
			return err
		})
		add("differences, a later page "+name, func(ctx context.Context) error {
			_, err := s.Differences(ctx, f, results.Difference{AccountID: 1000, Day: planDay, Level: "adgroup", Metric: "m7"},
				101)
			return err
		})
	}
	add("days of differences", func(ctx context.Context) error {
		_, err := s.OpenDifferenceDays(ctx, big.Media)
		return err
	})
	add("accounts of differences", func(ctx context.Context) error {
		_, err := s.OpenDifferenceAccounts(ctx, big.Media, planDay, 5, 100)
		return err
	})
	add("differences, counts", func(ctx context.Context) error { _, err := s.CountConfirmedDifferences(ctx); return err })
	add("old differences to delete", func(ctx context.Context) error {
		_, err := s.DeleteOldDifferences(ctx, planDay.Add(-1).Start(time.UTC))
		return err
	})

	// Accounts.
	add("an account", func(ctx context.Context) error { _, err := s.Account(ctx, 7); return err })
	add("accounts by id", func(ctx context.Context) error { _, err := s.AccountsByID(ctx, ids); return err })
	add("accounts by the platform's id", func(ctx context.Context) error {
		_, err := s.FindAccounts(ctx, big.Media, []string{"20000007"})
		return err
	})
	add("accounts of a fan-out", func(ctx context.Context) error {
		_, err := s.FanOutAccounts(ctx, big.Media, []string{"active"}, 100, 500)
		return err
	})
	add("accounts of a fan-out of some tiers", func(ctx context.Context) error {
		_, err := s.FanOutAccounts(ctx, big.Media, []string{"active", "inactive"}, 100, 500)
		return err
	})
	add("accounts of a fan-out of all", func(ctx context.Context) error {
		_, err := s.FanOutAccounts(ctx, big.Media, nil, 100, 500)
		return err
	})
	add("accounts of a fill", func(ctx context.Context) error {
		_, err := s.FillAccounts(ctx, big.Media, 100, 500)
		return err
	})
	add("accounts by tier", func(ctx context.Context) error {
		_, err := s.TierAccounts(ctx, big.Media, 100, 500)
		return err
	})
	// The accounts of a page of dead subtasks, and accounts that are bound, parked or probed.
	add("bindings of an account", func(ctx context.Context) error { _, err := s.AccountBindings(ctx, 7); return err })
	add("logins of an account", func(ctx context.Context) error { _, err := s.AccountLogins(ctx, 7); return err })
	add("coverage of accounts in short", func(ctx context.Context) error {
		_, err := s.FiguresCoverage(ctx, ids, day.Between(planDay.Add(-6), planDay))
		return err
	})
	for name, f := range map[string]overview.AccountFilter{
		"all": {}, "of a media": {Media: big.Media}, "of a media and tier": {Media: big.Media, Tier: "active"},
		"of a game": {Game: "game7"}, "that are parked": {State: overview.AccountParked},
		"of a login": {LoginState: settings.TokenReauthorise}, "of no game": {Game: overview.Unassigned},
	} {
		f.From, f.To = planDay.Add(-1), planDay.Add(1)
		add("accounts, "+name, func(ctx context.Context) error { _, _, err := s.ListAccounts(ctx, f, 0, 50); return err })
		add("accounts, a later page "+name, func(ctx context.Context) error {
			_, _, err := s.ListAccounts(ctx, f, 3000, 50)
			return err
		})
	}
	add("parked accounts", func(ctx context.Context) error {
		_, err := s.ParkedDue(ctx, big.Media, noon, 100)
		return err
	}, "of the accounts, which are some ten thousands")
	add("inactive accounts", func(ctx context.Context) error {
		_, err := s.InactiveAccounts(ctx, big.Media, 100)
		return err
	})
	add("new accounts", func(ctx context.Context) error { _, err := s.NewAccounts(ctx, big.Media, 100, 100); return err })
	slices.SortStableFunc(all, func(a, b plan) int { return strings.Compare(a.name, b.name) })
	return all
}

const groupsSort = "it sorts its groups, which are few"
