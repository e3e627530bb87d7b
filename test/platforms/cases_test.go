package platforms_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/engine"
	"adsync/media"
	"adsync/media/client"
	"adsync/simulator"
	"adsync/test/platforms/simclient"
	"adsync/upkeep"
)

// The tests here are cases in which other programs that pull advertising data have lost or doubled figures. Each runs
// on every platform. Two more cases are among the traps: an empty success for a day that had spend is yesterday_empty
// of TestTraps_OfTimeAreCorrectedByALaterPull, and days of other zones are in TestAbroad_EveryDayIsPulledCorrectly.

// eachTrapped runs a test on a world of ten accounts of each platform.
func eachTrapped(t *testing.T, test func(t *testing.T, x *trapped)) {
	t.Helper()
	for _, platform := range engine.Platforms() {
		t.Run(platform.Name(), func(t *testing.T) {
			t.Parallel()
			test(t, newTrapped(t, platform, simulator.Config{Accounts: simclient.OfEach(10), Seed: 7}))
		})
	}
}

// run pulls once, and returns the result.
func (x *trapped) run(t *testing.T, name string, id int64, part, params string) (media.Result, error) {
	t.Helper()
	h, ok := x.Handlers.Get(x.Platform.Name() + "." + name)
	require.True(t, ok, name)
	return h.Run(t.Context(), media.Work{Key: task.Key{RunID: 1, AccountID: id, Part: part},
		Params: json.RawMessage(params)})
}

// Platforms hide deleted objects by default, in lists and in reports. What they have spent is part of the account's
// spend. Some platforms list no deleted objects at all: there the reports alone have them.
func TestCases_DeletedAdsKeepTheirFigures(t *testing.T) {
	t.Parallel()
	eachTrapped(t, func(t *testing.T, x *trapped) {
		t.Helper()
		listed, deleted := 0, map[string]bool{}
		for _, ad := range x.World.Truth(t, url.Values{"kind": {x.World.AdKind()}, "account": {x.Server.Accounts[0]}}) {
			if ad.Deleted {
				deleted[ad.Object] = true
				if !ad.Unlisted {
					listed++
				}
			}
		}
		require.NotEmpty(t, deleted)
		for _, list := range x.Platform.Lists() {
			if list.Level != "adgroup" {
				continue
			}
			x.Pull(t, list.Name, 1, "full", "")
			x.requireTrueObjects(t, list, 1)
			require.Equal(t, listed, storetest.RowsIn(t, x.Store, list.Table.Name+" WHERE deleted_at IS NOT NULL"))
		}
		ads, account := x.reportOf(t, "report_daily", "adgroup"), x.reportOf(t, "report_daily", "account")
		isDeleted := func(r reportRow) bool { return deleted[r.ObjectID] && r.Cost > 0 }
		on := x.Server.Today.Add(-1)
		for !slices.ContainsFunc(x.trueRows(t, ads, 1, on, on), isDeleted) {
			on = on.Add(-1)
			require.Greater(t, on, x.Server.Today.Add(-30), "no deleted ad has spent")
		}
		x.report(t, ads, 1, on, on)
		x.report(t, account, 1, on, on)
		x.requireTrue(t, ads, 1, on, on)
		require.Equal(t, total(x.rows(t, account, 1, on, on)), total(x.rows(t, ads, 1, on, on)))
	})
}

// rowKey names a row of the public tables.
type rowKey struct {
	report, level, day, object string
	account                    int64
	hour                       int
}

// Rows that differ in their day, their hour, their object or their account only are different rows.
func TestCases_RowsThatDifferInOneDimensionStayApart(t *testing.T) {
	t.Parallel()
	eachTrapped(t, func(t *testing.T, x *trapped) {
		t.Helper()
		to := x.Server.Today.Add(-1)
		keys, raw := map[rowKey]bool{}, map[string]int{}
		each := func(do func(r media.Report, id int64, from day.Day)) {
			for id := int64(2); id <= 4; id++ {
				for _, r := range x.Platform.Reports() {
					if !r.Hourly {
						do(r, id, to.Add(-1))
					} else if id == 2 && r.Level != "creative" {
						do(r, id, to)
					}
				}
			}
		}
		each(func(r media.Report, id int64, from day.Day) { x.report(t, r, id, from, to) })
		each(func(r media.Report, id int64, from day.Day) { // when all have been written
			x.requireTrue(t, r, id, from, to)
			for _, row := range x.trueRows(t, r, id, from, to) {
				keys[rowKey{r.Name, r.Level, row.Day, row.ObjectID, id, row.Hour}] = true
				raw[r.Table.Name]++
			}
		})
		for table, rows := range raw {
			require.Equal(t, rows, storetest.RowsIn(t, x.Store, table), table)
		}
		for what, blank := range map[string]func(k *rowKey){
			"day":     func(k *rowKey) { k.day = "" },
			"hour":    func(k *rowKey) { k.hour = 0 },
			"object":  func(k *rowKey) { k.object = "" },
			"account": func(k *rowKey) { k.account = 0 },
		} {
			rest := map[rowKey]bool{}
			for k := range keys {
				blank(&k)
				rest[k] = true
			}
			require.Less(t, len(rest), len(keys), "no two rows differ in their %s only", what)
		}
	})
}

// tripwire does something before a call.
type tripwire struct {
	client.Waiter
	calls, at int
	do        func()
}

// Wait implements client.Waiter.
func (w *tripwire) Wait(ctx context.Context, call grant.Call) (ratelimit.Grant, error) {
	if w.calls++; w.calls == w.at {
		w.do()
	}
	return w.Waiter.Wait(ctx, call)
}

// A token that ends between two pages costs the refused call, and no row comes twice. Where only a person can bring a
// new token, nothing is written, and the pull starts again after the authorisation.
func TestCases_ATokenThatEndsBetweenPages(t *testing.T) {
	t.Parallel()
	eachTrapped(t, func(t *testing.T, x *trapped) {
		t.Helper()
		lists := x.Platform.Lists()
		list := lists[slices.IndexFunc(lists, func(l media.List) bool { return l.Level == "video" })]
		whole, err := x.run(t, list.Name, 1, "full", "")
		require.NoError(t, err)
		require.Greater(t, whole.Calls, 1, "the list has several pages")
		for _, table := range []string{list.Table.Name, "object_name"} {
			require.NoError(t, x.Store.Data.Writer(t.Context()).Exec("DELETE FROM "+table).Error)
		}

		x.Client.Waiter = &tripwire{Waiter: x.Client.Waiter, at: 2, do: func() { x.Server.Expire(t) }}
		got, err := x.run(t, list.Name, 1, "full", "")
		if x.Server.Refresh.IsZero() {
			require.ErrorContains(t, err, "must be authorised again")
			require.Zero(t, storetest.RowsIn(t, x.Store, list.Table.Name))
			a := authoriserOf(t, x.Platform, x.Process)
			state, code := a.agree()
			outcome, err := a.Complete(t.Context(), state, code)
			require.NoError(t, err)
			x.Login = outcome.LoginID
			got, err = x.run(t, list.Name, 1, "full", "")
			require.NoError(t, err)
			require.Equal(t, whole.Calls, got.Calls, "from the first page on")
		} else {
			require.NoError(t, err)
			require.Equal(t, whole.Calls+1, got.Calls, "the refused call alone is made again")
		}
		require.Equal(t, whole.Rows, got.Rows)
		x.requireTrueObjects(t, list, 1)
	})
}

// One account of ten that is closed, or taken away from the login, leaves nine whole, also where one query reads
// several accounts.
func TestCases_OneClosedAccountOfTenLeavesNineWhole(t *testing.T) {
	t.Parallel()
	eachTrapped(t, func(t *testing.T, x *trapped) {
		t.Helper()
		const closed, taken = 4, 7
		yesterday := x.Server.Today.Add(-1)
		require.Len(t, x.Server.Accounts, 10)
		for _, level := range []string{"account", "adgroup"} {
			r := x.reportOf(t, "report_daily", level)
			for id, state := range map[int64]string{closed: "frozen", taken: "revoked"} {
				x.setLife(t, id, state)
				errs := make([]error, 10)
				var all sync.WaitGroup
				for i := range errs {
					all.Go(func() { errs[i] = x.Try(t, r.Name, int64(i+1), yesterday.String(), `{"level":"`+level+`"}`) })
				}
				all.Wait()
				for i, err := range errs {
					if of := int64(i + 1); of != id {
						require.NoError(t, err, "account %d, at level %s", of, level)
						x.requireTrue(t, r, of, yesterday, yesterday)
						continue
					}
					simclient.RequireClass(t, media.Invalid, err)
					require.Empty(t, x.rows(t, r, id, yesterday, yesterday))
				}
				x.setLife(t, id, "open")
				for _, table := range []string{"report_daily", "coverage"} {
					require.NoError(t, x.Store.Data.Writer(t.Context()).Exec("DELETE FROM "+table).Error)
				}
			}
		}
	})
}

// setLife opens or closes an account.
func (x *trapped) setLife(t *testing.T, id int64, state string) {
	t.Helper()
	x.World.Order(t, "accounts", map[string]any{"media": x.Platform.Name(), "account": x.Server.Accounts[id-1],
		"state": state})
}

// A page with fewer rows than requested is not the last one, and does not lose what it lacks. The list of videos has
// several pages on every platform. Package media tests that a page that is always short does not end a list without a
// total, as on Bilibili.
func TestCases_AShortPageIsNotTheLast(t *testing.T) {
	t.Parallel()
	eachTrapped(t, func(t *testing.T, x *trapped) {
		t.Helper()
		for _, list := range x.Platform.Lists() {
			if list.Level != "video" {
				continue
			}
			x.set(t, "page_short")
			x.Pull(t, list.Name, 1, "full", "")
			require.EqualValues(t, 1, x.met(t)["page_short"])
			x.requireTrueObjects(t, list, 1)
		}
	})
}

// A correction that is published three days after its day is in the summaries after the look-back of that morning.
func TestCases_ACorrectionThreeDaysLaterReachesTheSummaries(t *testing.T) {
	t.Parallel()
	eachTrapped(t, func(t *testing.T, x *trapped) {
		t.Helper()
		corrected := x.Server.Today.Add(-1)
		costs := func() (public, summary, truth int64) {
			for table, cost := range map[string]*int64{"report_daily": &public, "summary_daily": &summary} {
				require.NoError(t, x.Store.Data.Writer(t.Context()).Raw("SELECT cost FROM "+table+" WHERE day = ?",
					corrected).Row().Scan(cost))
			}
			rows := x.Server.Rows(t, "report_daily", "account", x.Server.Accounts[0], corrected, corrected)
			return public, summary, rows[0].Metrics["cost"]
		}
		x.lookBack(t, corrected.Add(1))
		public, before, truth := costs()
		require.Equal(t, [2]int64{truth, truth}, [2]int64{public, before})

		on := corrected.Add(3)
		x.World.Order(t, "truth/correct", map[string]any{"media": x.Platform.Name(), "account": x.Server.Accounts[0],
			"from": corrected, "to": corrected, "percent": -8, "at": on.Start(simclient.Zone).Unix()})
		x.lookBack(t, on)
		public, summary, truth := costs()
		require.Less(t, truth, before)
		require.Equal(t, [2]int64{truth, truth}, [2]int64{public, summary})
	})
}

// lookBack pulls the last days of the first account, as the seeded task does in the morning of a day, and builds the
// summaries.
func (x *trapped) lookBack(t *testing.T, on day.Day) {
	t.Helper()
	morning := on.Start(simclient.Zone).Add(8*time.Hour + 40*time.Minute)
	x.World.Order(t, "clock", map[string]any{"now": morning, "frozen": true})
	seeded := seededTask(t, x.Platform, ".report_daily.account.look_back")
	h, ok := x.Handlers.Get(seeded.Handler)
	require.True(t, ok)
	parts, err := h.Parts(media.Plan{PlannedAt: morning, Zone: simclient.Zone, Params: json.RawMessage(seeded.Params)})
	require.NoError(t, err)
	for _, part := range parts {
		x.Pull(t, "report_daily", 1, part, seeded.Params)
	}
	x.upkeep(t, upkeep.Name+".summary")
}

// upkeep runs one of adsync's own handlers for the platform.
func (x *trapped) upkeep(t *testing.T, name string) {
	t.Helper()
	h, ok := media.NewRegistry(upkeep.Handlers(upkeep.Deps{Store: x.Store, Marks: x.Store.Data, Clock: x,
		Logger: slog.New(slog.DiscardHandler), Platforms: []media.Platform{x.Platform}})...).Get(name)
	require.True(t, ok)
	_, err := h.Run(t.Context(), media.Work{Key: task.Key{Part: x.Platform.Name()}})
	require.NoError(t, err)
}

// seededTask returns a default task of a platform.
func seededTask(t *testing.T, platform media.Platform, suffix string) settings.NewTask {
	t.Helper()
	tasks := engine.DefaultTasks([]media.Platform{platform})
	i := slices.IndexFunc(tasks, func(task settings.NewTask) bool { return task.Name == platform.Name()+suffix })
	require.GreaterOrEqual(t, i, 0)
	return tasks[i]
}
