package upkeep_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/upkeep"
)

// noon of 21 November in Shanghai: the days up to the 20th have settled, and fillGrace is over.
var noon = time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)

// filling is a store with tasks and accounts, and a clock that the test moves.
type filling struct {
	store *store.Store
	now   time.Time
	tasks map[string]int64 // ids by name
}

func newFilling(t *testing.T, tasks ...settings.NewTask) *filling {
	t.Helper()
	f := &filling{store: storetest.New(t), now: noon, tasks: map[string]int64{}}
	require.NoError(t, f.store.EnsureRawTables(t.Context(), media.Tables(invented.New())))
	if len(tasks) == 0 {
		tasks = []settings.NewTask{
			reportTask("daily", "important", "active", "account", 1),
			reportTask("daily.look_back", "offline", "all", "account", 7),
			reportTask("adgroup", "normal", "active", "adgroup", 1),
			reportTask("adgroup.look_back", "offline", "all", "adgroup", 4),
		}
	}
	_, err := f.store.SeedTasks(t.Context(), tasks)
	require.NoError(t, err)
	rows, err := f.store.TaskRows(t.Context())
	require.NoError(t, err)
	for _, r := range rows {
		f.tasks[r.Name] = r.ID
	}
	return f
}

func reportTask(name, lane, scope, level string, days int) settings.NewTask {
	return settings.NewTask{
		Name: name, Media: "tulip", Handler: "tulip.report_daily", Cron: "@daily", Lane: lane, Scope: scope,
		Params: fmt.Sprintf(`{"level":%q,"days":%d}`, level, days),
	}
}

func (f *filling) account(t require.TestingT, id int64, tier, zone, parked string) {
	err := f.store.Config.Writer(context.Background()).Exec(
		"INSERT INTO media_account (id, media, external_id, token_id, tier, timezone, parked) VALUES (?, 'tulip', ?, 1, ?, "+
			"?, ?)",
		id, fmt.Sprint(id), tier, zone, parked).Error
	require.NoError(t, err)
}

// pull makes a run that pulls days of an account.
func (f *filling) pull(t require.TestingT, account int64, report, level string, runID int64,
	state results.CoverageState, days ...day.Day) {
	ctx := context.Background()
	claim, _, err := f.store.BeginPull(ctx, results.Scope{AccountID: account, Media: "tulip", Report: report, Level: level,
		Days: days}, fmt.Sprint(runID, account, days), runID)
	require.NoError(t, err)
	raw := rawtable.Table{Name: "tulip_report_daily", Shape: rawtable.DailyRows}
	_, err = f.store.WriteReport(ctx, results.ReportWrite{Claim: claim, Raw: raw, Currency: "CNY", Zone: "Asia/Shanghai",
		Whole: state == results.Complete})
	require.NoError(t, err)
}

// settled returns the id of a run that was made at a time of day, in Shanghai, on the day after d.
func settled(d day.Day, hour int) int64 {
	zone, _ := time.LoadLocation("Asia/Shanghai")
	return task.FirstRunIDAt(d.Add(1).Start(zone).Add(time.Duration(hour) * time.Hour))
}

func (f *filling) fill(t require.TestingT, most int) []upkeep.Filling {
	found, err := upkeep.Fill(context.Background(), f.store, invented.New(), f.now,
		upkeep.FillOptions{Order: true, MaxSubtasks: most, By: upkeep.FillName})
	require.NoError(t, err)
	return found
}

func (f *filling) look(t require.TestingT) []upkeep.Filling {
	found, err := upkeep.Fill(context.Background(), f.store, invented.New(), f.now, upkeep.FillOptions{By: "somebody"})
	require.NoError(t, err)
	return found
}

// ordered returns the contents of the waiting orders.
func (f *filling) ordered(t require.TestingT) []ledger.RunOrder {
	orders, err := f.store.OpenOrders(context.Background(), 1000)
	require.NoError(t, err)
	return orders
}

// take makes an order's run with the given state. None of its subtasks are done.
func (f *filling) take(t require.TestingT, o ledger.RunOrder, state task.RunState) {
	db := f.store.Data.Writer(context.Background())
	settings, err := json.Marshal(task.Settings{Scope: "all", Order: &o.Request})
	require.NoError(t, err)
	err = db.Exec(
		"INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state, "+
			"epoch, created_at)"+
			" VALUES (?, ?, 't', 'tulip', 'tulip.report_daily', 'offline', 1, ?, 'order', ?, ?, 1, ?)", o.RunID, o.TaskID,
		string(settings), sqldb.At(o.OrderedAt), string(state), sqldb.At(o.OrderedAt)).Error
	require.NoError(t, err)
	require.NoError(t, db.Exec("UPDATE manual_order SET taken = 1 WHERE run_id = ?", o.RunID).Error)
}

// work makes an order's run and does its subtasks.
func (f *filling) work(t require.TestingT, o ledger.RunOrder) {
	f.take(t, o, task.RunSucceeded)
	level := "account"
	if o.TaskID == f.tasks["adgroup.look_back"] {
		level = "adgroup"
	}
	for _, a := range o.Request.Accounts {
		f.pull(t, a, "report_daily", level, o.RunID, results.Complete, day.Between(o.Request.From, o.Request.To)...)
	}
}

func TestFill_OrdersJustWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	f.account(t, 1, "active", "Asia/Shanghai", "")
	f.account(t, 2, "inactive", "Asia/Shanghai", "")
	f.account(t, 3, "invalid", "Asia/Shanghai", "")
	f.account(t, 4, "active", "Asia/Shanghai", "revoked")
	for _, a := range []int64{1, 2} {
		for _, d := range day.Between("2026-11-15", "2026-11-20") {
			f.pull(t, a, "report_daily", "account", settled(d, 8), results.Complete, d)
			f.pull(t, a, "report_daily", "adgroup", settled(d, 9), results.Complete, d)
		}
	}
	require.Empty(t, f.look(t),
		"all that the tasks reach is there; what is parked or invalid does not count, nor does today")

	// The holes after an incomplete pull, after one that came too early, and of an account that was bound late.
	f.pull(t, 1, "report_daily", "account", settled("2026-11-16", 9), results.Partial, "2026-11-16")
	f.pull(t, 1, "report_daily", "account", settled("2026-11-17", 7), results.Complete, "2026-11-17")
	require.NoError(t,
		f.store.Data.Writer(t.Context()).Exec(
			"UPDATE coverage SET state = 'suspect' WHERE account_id = 2 AND level = 'account' AND day = '2026-11-20'").Error)
	f.account(t, 5, "active", "Asia/Shanghai", "")
	want := []upkeep.Filling{
		{TaskID: f.tasks["daily.look_back"], Task: "daily.look_back", Report: "report_daily", Level: "account", Holes: 9,
			Subtasks: 3, Accounts: 3, From: "2026-11-15", To: "2026-11-20"},
		{TaskID: f.tasks["adgroup.look_back"], Task: "adgroup.look_back", Report: "report_daily", Level: "adgroup", Holes: 3,
			Subtasks: 1, Accounts: 1, From: "2026-11-18", To: "2026-11-20"},
	}
	require.Equal(t, want, f.look(t))
	require.Empty(t, f.ordered(t), "a look orders nothing")

	f.fill(t, 1000)
	type asked struct {
		task     string
		accounts []int64
		from, to day.Day
	}
	var got []asked
	for _, o := range f.ordered(t) {
		require.Equal(t, upkeep.FillName, o.Request.By)
		for name, id := range f.tasks {
			if id == o.TaskID {
				got = append(got, asked{name, o.Request.Accounts, o.Request.From, o.Request.To})
			}
		}
	}
	require.ElementsMatch(t, []asked{
		{"daily.look_back", []int64{5}, "2026-11-15", "2026-11-20"},
		{"daily.look_back", []int64{1}, "2026-11-16", "2026-11-17"},
		{"daily.look_back", []int64{2}, "2026-11-20", "2026-11-20"},
		{"adgroup.look_back", []int64{5}, "2026-11-18", "2026-11-20"},
	}, got)
	for _, o := range f.ordered(t) {
		f.work(t, o)
	}
	require.Empty(t, f.look(t), "coverage is whole")
}

func TestFill_WaitsUntilADayHasSettledAndTheNightsTasksHadTheirTime(t *testing.T) {
	t.Parallel()
	f := newFilling(t, reportTask("daily", "normal", "all", "account", 2))
	f.account(t, 1, "active", "Asia/Shanghai", "")
	f.account(t, 2, "active", "America/Los_Angeles", "")
	f.now = noon.Add(-time.Hour - time.Millisecond)
	require.Equal(t, day.Day("2026-11-19"), f.look(t)[0].To,
		"in Los Angeles it is the evening of the 20th, and the 19th is long over")
	require.Equal(t, 1, f.look(t)[0].Holes)
	f.now = noon.Add(-time.Hour)
	require.Equal(t, 2, f.look(t)[0].Holes, "11:00 in Shanghai")
}

func TestFill_TheImportantFirstAndTheOldestDaysOfIt(t *testing.T) {
	t.Parallel()
	f := newFilling(t,
		reportTask("adgroup", "normal", "all", "adgroup", 3),
		reportTask("daily", "important", "active", "account", 3),
		reportTask("daily.bad", "important", "active", "account", 3000)) // more than the platform keeps
	for id := int64(1); id <= 3; id++ {
		f.account(t, id, "active", "Asia/Shanghai", "")
	}
	f.pull(t, 1, "report_daily", "account", settled("2026-11-19", 9), results.Complete, "2026-11-19")
	f.fill(t, 3)
	orders := f.ordered(t)
	require.Len(t, orders, 2)
	for _, o := range orders {
		require.Equal(t, f.tasks["daily"], o.TaskID)
	}
	require.Equal(t, task.Order{Accounts: []int64{2, 3}, From: "2026-11-19", To: "2026-11-20", By: upkeep.FillName},
		orderFrom(orders, "2026-11-19").Request)
	require.Equal(t, []int64{1}, orderFrom(orders, "2026-11-20").Request.Accounts)

	require.Empty(t, f.fill(t, 3)[0].RunIDs, "while nobody makes runs nothing more is ordered")
	require.Len(t, f.ordered(t), 2)
	for _, o := range orders {
		f.take(t, o, task.RunFanningOut)
	}
	f.fill(t, 3)
	require.Empty(t, f.ordered(t), "three subtasks are open, and no more are to be")
	f.fill(t, 4)
	require.Len(t, f.ordered(t), 1, "there is room for one")
	require.Equal(t, f.tasks["adgroup"], f.ordered(t)[0].TaskID)
}

func orderFrom(orders []ledger.RunOrder, from day.Day) ledger.RunOrder {
	for _, o := range orders {
		if o.Request.From == from {
			return o
		}
	}
	return ledger.RunOrder{}
}

func TestFill_LeavesAloneWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	f := newFilling(t, reportTask("daily", "normal", "all", "account", 3))
	for id := int64(1); id <= 4; id++ {
		f.account(t, id, "active", "Asia/Shanghai", "")
	}
	// A tick whose fan-out has reached account 2: account 1 has ended and left holes, and one day of account 2 is open.
	run := task.NewRunID(noon.Add(-time.Minute))
	require.NoError(t, f.store.EnsureLogTable(t.Context(), task.LogDay(run)))
	f.take(t, ledger.RunOrder{RunID: run, TaskID: f.tasks["daily"], OrderedAt: noon.Add(-time.Minute)}, task.RunFanningOut)
	db := f.store.Data.Writer(t.Context())
	require.NoError(t,
		db.Exec("UPDATE run SET fan_out_cursor = 2, kind = 'tick', settings = '{\"scope\":\"all\"}' WHERE id = ?", run).Error)
	for _, row := range []struct {
		account     int64
		part, state string
	}{{1, "2026-11-19..2026-11-21", "failed"}, {2, "2026-11-20", "retrying"}} {
		err := db.Exec("INSERT INTO "+ledger.LogTable(run)+
			" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES (?, ?, ?, ?, 1, 0, ?)",
			run, row.account, row.part, row.state, sqldb.At(noon)).Error
		require.NoError(t, err)
	}
	found := f.fill(t, 100)
	require.Equal(t, 3, found[0].Holes)
	require.Equal(t, 5, found[0].Waiting)
	var got []string
	for _, o := range f.ordered(t) {
		got = append(got, fmt.Sprintf("%v %s %s", o.Request.Accounts, o.Request.From, o.Request.To))
	}
	require.ElementsMatch(t, []string{"[1] 2026-11-19 2026-11-20", "[2] 2026-11-19 2026-11-19"}, got)
}

func TestFill_AnotherPlatformsOrdersDoNotHoldItUp(t *testing.T) {
	t.Parallel()
	elsewhere := reportTask("elsewhere", "normal", "all", "account", 3)
	elsewhere.Media, elsewhere.Handler = "rose", "rose.report_daily"
	f := newFilling(t, reportTask("daily", "normal", "all", "account", 3), elsewhere)
	f.account(t, 1, "active", "Asia/Shanghai", "")
	_, err := f.store.OrderHoles(t.Context(), results.HoleOrder{
		RunOrder: ledger.RunOrder{RunID: task.NewRunID(noon), TaskID: f.tasks["elsewhere"], OrderedAt: noon,
			Request: task.Order{From: "2026-11-20", To: "2026-11-20", By: upkeep.FillName}},
		Report: "report_daily", Level: "account", Holes: []results.Hole{{AccountID: 9, Day: "2026-11-20"}},
	})
	require.NoError(t, err)
	require.Len(t, f.ordered(t), 1, "the pass of the other platform, which ran at the same moment")
	require.Equal(t, 2, f.fill(t, 100)[0].OrderedHoles)
	require.Empty(t, f.fill(t, 100)[0].RunIDs, "its own order waits")
}

func TestFill_TriesAgainWithGrowingGaps(t *testing.T) {
	t.Parallel()
	f := newFilling(t, reportTask("daily", "normal", "all", "account", 7))
	f.account(t, 1, "active", "Asia/Shanghai", "")
	for _, d := range day.Between("2026-11-10", "2026-11-30") {
		if d != "2026-11-20" {
			f.pull(t, 1, "report_daily", "account", settled("2026-12-24", 0), results.Complete, d)
		}
	}
	var gaps []time.Duration
	last := f.now
	for len(gaps) < 7 && f.now.Before(noon.Add(100*time.Hour)) {
		f.fill(t, 100)
		for _, o := range f.ordered(t) {
			f.take(t, o, task.RunFailed) // The hole stays.
			gaps = append(gaps, f.now.Sub(last))
			last = f.now
		}
		f.now = f.now.Add(30 * time.Minute)
	}
	require.Equal(t, []time.Duration{0, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour,
		24 * time.Hour}, gaps)
	n, err := f.store.DeleteOldHoles(t.Context(), last)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = f.store.DeleteOldHoles(t.Context(), last.Add(time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, f.look(t)[0].Holes, "and counts as new")
}

func TestFill_TwoAtATimeOrderNothingTwice(t *testing.T) {
	t.Parallel()
	f := newFilling(t, reportTask("daily", "normal", "all", "account", 5))
	for id := int64(1); id <= 40; id++ {
		f.account(t, id, "active", "Asia/Shanghai", "")
		f.pull(t, id, "report_daily", "account", settled("2026-11-18", 9), results.Complete,
			day.Day("2026-11-17").Add(int(id%4)))
	}
	var both errgroup.Group
	for i := range 4 {
		both.Go(func() error {
			_, err := upkeep.Fill(t.Context(), f.store, invented.New(), f.now,
				upkeep.FillOptions{Order: true, MaxSubtasks: 1000, By: fmt.Sprint("number ", i)})
			return err
		})
	}
	require.NoError(t, both.Wait())
	requireOnce(t, f.ordered(t))
	for _, o := range f.ordered(t) {
		f.work(t, o)
	}
	require.Empty(t, f.look(t))
}

func requireOnce(t require.TestingT, orders []ledger.RunOrder) {
	type scope struct {
		task, account int64
		day           day.Day
	}
	seen := map[scope]int64{}
	for _, o := range orders {
		for _, a := range o.Request.Accounts {
			for _, d := range day.Between(o.Request.From, o.Request.To) {
				s := scope{o.TaskID, a, d}
				require.Zero(t, seen[s], "%v is in two orders", s)
				seen[s] = o.RunID
			}
		}
	}
}

// For any holes and any fate of the orders: no complete day is ordered, no day is ordered twice at a time, no pass
// orders more than its limit, and in the end coverage is complete.
func TestFill_EndsWithWholeCoverage(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	zones := []string{"Asia/Shanghai", "America/Los_Angeles", "Pacific/Kiritimati"}
	const accounts = 3
	for id := int64(1); id <= accounts; id++ {
		f.account(t, id, []string{"active", "inactive"}[id%2], zones[id%3], "")
	}
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		for _, table := range []string{"coverage", "hole", "manual_order", "run"} {
			require.NoError(t, f.store.Data.Writer(ctx).Exec("DELETE FROM "+table).Error)
		}
		f.now = noon
		var rows []string
		for id := int64(1); id <= accounts; id++ {
			for _, level := range []string{"account", "adgroup"} {
				for _, d := range day.Between("2026-11-16", "2026-11-20") {
					state, runID := results.Complete, task.FirstRunIDAt(noon)
					switch rapid.IntRange(0, 5).Draw(t, "state") {
					case 0:
						continue
					case 1:
						state = results.Partial
					case 2:
						runID = settled(d, -20)
					}
					rows = append(rows, fmt.Sprintf("(%d, 'report_daily', '%s', '%s', 'tulip', %d, '%s')", id, level, d, runID, state))
				}
			}
		}
		if len(rows) > 0 {
			err := f.store.Data.Writer(ctx).Exec(
				"INSERT INTO coverage (account_id, report, level, day, media, run_id, state) VALUES " +
					strings.Join(rows, ", ")).Error
			require.NoError(t, err)
		}
		most := rapid.IntRange(8, 20).Draw(t, "most")
		for pass := 0; ; pass++ {
			before := f.look(t)
			if len(before) == 0 {
				break
			}
			require.Less(t, pass, 300)
			f.fill(t, most)
			orders := f.ordered(t)
			requireOnce(t, orders)
			subtasks := 0
			for _, o := range orders {
				subtasks += len(o.Request.Accounts)
			}
			require.LessOrEqual(t, subtasks, most)
			holes := slices.MaxFunc(before, func(a, b upkeep.Filling) int { return cmp.Compare(a.Holes, b.Holes) }).Holes
			if holes > 0 {
				require.NotEmpty(t, orders)
			}
			for _, o := range orders {
				if pass < 20 && rapid.IntRange(0, 3).Draw(t, "fate") == 0 {
					f.take(t, o, task.RunExpired)
				} else {
					f.work(t, o)
				}
			}
			f.now = f.now.Add(2 * time.Minute)
		}
	})
}

func TestFillHandler_WorksOnOneMediaAPart(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	f.account(t, 1, "active", "Asia/Shanghai", "")
	r := media.NewRegistry(upkeep.Handlers(upkeep.Deps{
		Store: f.store, Marks: f.store.Data, Clock: clock.NewScaled(noon, 1, true), Logger: slog.New(slog.DiscardHandler),
		Platforms: []media.Platform{invented.New()},
	})...)
	h, _ := r.Get(upkeep.FillName)
	parts, err := h.Parts(media.Plan{})
	require.NoError(t, err)
	require.Equal(t, []string{"tulip"}, parts)
	require.Equal(t, 6, run(t, r, upkeep.FillName, "tulip", `{"max_subtasks":1}`).Rows,
		"one subtask pulls six days of the account level")
	require.Zero(t, run(t, r, upkeep.FillName, "tulip", "").Rows)
	require.ErrorContains(t, h.Check(json.RawMessage(`{"max_subtasks":-1}`)), "params.max_subtasks: -1 is refused")
	_, err = h.Run(t.Context(), media.Work{Key: task.Key{Part: "facebook"}})
	require.ErrorContains(t, err, "there is no media facebook")
}
