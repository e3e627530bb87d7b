package producer

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/clock"
	"adsync/base/schedule"
	"adsync/base/sqldb"
	"adsync/base/task"
)

// ledger reads the ledger of all tasks: the planned moments in the order in which their runs were made.
func (b *bench) ledger(t require.TestingT) (planned []time.Time) {
	rows, err := b.store.Data.Writer(context.Background()).Raw(
		"SELECT t.planned_at, r.planned_at FROM tick t LEFT JOIN run r ON r.id = t.run_id ORDER BY t.run_id").Rows()
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var tick, run sqldb.Time
		require.NoError(t, rows.Scan(&tick, &run))
		require.Equal(t, tick.Time, run.Time, "each tick has its run")
		planned = append(planned, tick.Time)
	}
	require.NoError(t, rows.Err())
	return planned
}

func clockTimes(moments []time.Time) []string {
	all := make([]string, len(moments))
	for i, m := range moments {
		all[i] = m.Format("15:04")
	}
	return all
}

// settled plans until no run is left to be made now.
func (t *term) settled(tb require.TestingT) {
	for range 1000 {
		require.NoError(tb, t.planTicks(context.Background()))
		if !slices.ContainsFunc(slices.Collect(maps.Values(t.catchUp.gaps)), func(g *gap) bool {
			return !g.notBefore.After(t.clock.Now()) && !t.isPaused(g.task)
		}) {
			return
		}
	}
	require.Fail(tb, "it comes to no end")
}

func TestCatchUp_InTheOrderThatTheTaskWants(t *testing.T) {
	t.Parallel()
	for order, want := range map[string][]string{
		"oldest_first": {"12:00", "10:00", "11:00"}, // a tick that is due now comes before all late ones
		"newest_first": {"12:00", "11:00", "10:00"},
	} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addTask("x", "tulip.report", "0 * * * *", map[string]any{"catch_up": "all", "catch_up_order": order})
			b.term().settled(t)
			b.clock.add(3 * time.Hour)
			b.term().settled(t)
			require.Equal(t, want, clockTimes(b.ledger(t)))
			require.EqualValues(t, 2, testutil.ToFloat64(b.metrics.caughtUp))
		})
	}
}

// Catching up one tick at a time continues at the same pace, and with the remaining ticks, under the next leader.
func TestCatchUp_SpreadOverTakeovers(t *testing.T) {
	t.Parallel()
	for order, want := range map[string][]string{
		"oldest_first": {"09:10", "09:20", "09:30", "10:00", "09:40", "09:50"},
		"newest_first": {"09:50", "09:40", "09:30", "10:00", "09:20", "09:10"},
	} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addTask("x", "tulip.report", "*/10 * * * *",
				map[string]any{"catch_up": "all", "catch_up_order": order, "catch_up_spread_seconds": 120})
			b.term().settled(t) // 9:00:30
			b.clock.add(55 * time.Minute)
			tm := b.term()
			tm.settled(t)
			require.Equal(t, want[:1], clockTimes(b.ledger(t)))
			b.clock.add(119 * time.Second)
			tm.settled(t)
			b.term().settled(t)
			require.Len(t, b.ledger(t), 1, "nor does another leader make the next one too early")
			b.clock.add(time.Second)
			tm = b.term()
			tm.settled(t)
			require.Equal(t, want[:2], clockTimes(b.ledger(t)))
			b.clock.add(2 * time.Minute)
			tm.settled(t) // 9:59:30
			b.clock.add(time.Minute)
			tm.settled(t)
			require.Equal(t, want[:4], clockTimes(b.ledger(t)), "what is due does not wait for its turn")
			for range 4 {
				b.clock.add(2 * time.Minute)
				tm.settled(t)
			}
			require.Equal(t, want, clockTimes(b.ledger(t)))
			require.Empty(t, tm.catchUp.gaps)
		})
	}
}

func TestCatchUp_WhatGrowsTooOldIsGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("x", "tulip.report", "*/10 * * * *", map[string]any{"catch_up": "all", "catch_up_window_seconds": 3600,
		"catch_up_spread_seconds": 1800})
	b.term().settled(t) // 9:00:30
	b.clock.add(119 * time.Minute)
	tm := b.term() // 10:59:30: the window begins at 9:58:30, 9:10 to 9:50 are beyond it
	tm.settled(t)
	require.EqualValues(t, 5, testutil.ToFloat64(b.metrics.givenUp.WithLabelValues("all")))
	b.clock.add(30 * time.Minute) // the window begins at 10:28:30: 10:10 and 10:20 are too old by now
	tm.settled(t)
	b.clock.add(30 * time.Minute) // at 10:58:30: so are 10:40 and 10:50, and 11:00 to 11:20 were missed meanwhile
	tm.settled(t)
	got := clockTimes(b.ledger(t))
	slices.Sort(got)
	require.Equal(t, []string{"10:00", "10:30", "11:00"}, got)
	require.EqualValues(t, 9, testutil.ToFloat64(b.metrics.givenUp.WithLabelValues("all")))
}

func TestCatchUp_CountsWhatIsGivenUpOnce(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]int{"none": 5, "latest": 4} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addTask("x", "tulip.report", "0 * * * *", map[string]any{"catch_up": policy})
			b.term().settled(t)
			b.clock.add(5*time.Hour + 10*time.Minute) // 14:10:30
			b.term().settled(t)
			require.EqualValues(t, want, testutil.ToFloat64(b.metrics.givenUp.WithLabelValues(policy)))
			for _, d := range []time.Duration{0, 50 * time.Minute, 0, 10 * time.Minute} { // until 15:10:30
				b.clock.add(d)
				b.term().settled(t)
			}
			require.EqualValues(t, want, testutil.ToFloat64(b.metrics.givenUp.WithLabelValues(policy)))
			require.Len(t, b.ledger(t), 6-want, "and 15:00")
		})
	}
}

// A failed pass settles nothing, even if its rows were written.
func TestCatchUp_AFailedPassLosesNothing(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]int{"latest": 1, "all": 5} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addTask("x", "tulip.report", "0 * * * *", map[string]any{"catch_up": policy})
			b.term().settled(t)
			b.clock.add(5*time.Hour + 10*time.Minute)
			tm := b.term()
			for _, table := range []string{"tick", "run"} {
				b.exec(b.store.Data, "ALTER TABLE "+table+" RENAME TO away")
				require.Error(t, tm.planTicks(t.Context()))
				b.exec(b.store.Data, "ALTER TABLE away RENAME TO "+table)
			}
			tm.settled(t)
			require.NoError(t, tm.repairTicks(t.Context()))
			require.Len(t, b.ledger(t), want)
			require.Len(t, b.runs(), want)
		})
	}
}

func TestCatchUp_APauseIsAGap(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][]string{"none": {"09:10"}, "latest": {"09:10", "10:10"},
		"all": {"09:10", "09:20", "09:30", "09:40", "09:50", "10:00", "10:10"}} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addTask("x", "tulip.report", "*/10 * * * *", map[string]any{"catch_up": policy})
			tm := b.term()
			tm.settled(t)
			b.clock.add(10 * time.Minute)
			tm.settled(t)
			paused := true
			for _, leader := range []*term{tm, b.term()} {
				leader.paused = func(int64, string) bool { return paused }
			}
			for range 7 {
				b.clock.add(9 * time.Minute)
				require.NoError(t, tm.planTicks(t.Context()))
			}
			require.Len(t, b.ledger(t), 1, "no ticks are made")
			paused = false
			tm = b.term() // 10:13:30
			tm.settled(t)
			require.Equal(t, want, clockTimes(b.ledger(t)))
		})
	}
}

func TestCatchUp_ADeletedTaskThatComesBackBeginsAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.addTask("x", "tulip.report", "*/10 * * * *", map[string]any{"catch_up": "all"})
	tm := b.term()
	tm.settled(t)
	b.exec(b.store.Config, "DELETE FROM cron_task")
	require.NoError(t, b.tasks.Reload(t.Context()))
	b.clock.add(time.Hour)
	tm.settled(t)
	require.Empty(t, b.ledger(t))
	b.exec(b.store.Config,
		"INSERT INTO cron_task (id, name, media, handler, cron, catch_up) VALUES (?, 'x', 'tulip', 'tulip.report', '*/10 * "+
			"* * *', 'all')", id)
	require.NoError(t, b.tasks.Reload(t.Context()))
	b.clock.add(time.Hour)
	tm.settled(t)
	b.clock.add(10 * time.Minute)
	tm.settled(t)
	require.Equal(t, []string{"11:10"}, clockTimes(b.ledger(t)))
}

// A leader sees an edit at some moment. Up to it the old cron holds, also when the leader is late, and a moment of
// both crons gets one tick.
func TestPlanTicks_AnEditLosesNoMoment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("x", "tulip.report", "*/5 * * * *", nil)
	tm := b.term()
	tm.settled(t) // 9:00:30
	b.clock.add(4*time.Minute + 31*time.Second)
	b.exec(b.store.Config, "UPDATE cron_task SET cron = '5,6 * * * *'")
	require.NoError(t, b.tasks.Reload(t.Context()))
	tm.settled(t) // 9:05:01, and 9:05 is not made yet
	require.Equal(t, []string{"09:05"}, clockTimes(b.ledger(t)))
	b.clock.add(time.Hour)
	tm.settled(t)
	require.Equal(t, []string{"09:05", "10:05"}, clockTimes(b.ledger(t)))

	// No run is made for a disabled task.
	b.clock.add(time.Minute)
	b.exec(b.store.Config, "UPDATE cron_task SET enabled = 0")
	require.NoError(t, b.tasks.Reload(t.Context()))
	tm.settled(t)
	require.Len(t, b.ledger(t), 2)
}

// When an edit ends a schedule, the ticks still to be caught up are dropped and reported.
func TestCatchUp_AnEditGivesUpWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]string{
		"cron": "UPDATE cron_task SET cron = '0 1 * * *'", "zone": "UPDATE cron_task SET timezone = 'Asia/Shanghai'",
		"enabled": "UPDATE cron_task SET enabled = 0", "row": "DELETE FROM cron_task",
	} {
		for _, tt := range []struct {
			policy, order string
			passes        int // while 5 moments are behind
			paused        bool
			made, givenUp int
		}{
			{policy: "all", order: "oldest_first", passes: 1, made: 1, givenUp: 4},
			{policy: "all", order: "newest_first", passes: 2, made: 2, givenUp: 3},
			{policy: "all", order: "oldest_first", passes: 1, paused: true, givenUp: 5},
			{policy: "latest", order: "oldest_first", passes: 1, paused: true, givenUp: 5},
			{policy: "latest", order: "oldest_first", passes: 1, made: 1, givenUp: 4},
		} {
			t.Run(fmt.Sprint(name, tt), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.addTask("x", "tulip.report", "*/10 * * * *",
					map[string]any{"catch_up": tt.policy, "catch_up_order": tt.order, "catch_up_spread_seconds": 60})
				b.term().settled(t) // 9:00:30
				b.clock.add(55 * time.Minute)
				tm := b.term()
				var log strings.Builder
				tm.catchUp.logger = slog.New(slog.NewTextHandler(&log, nil))
				tm.paused = func(int64, string) bool { return tt.paused }
				for range tt.passes {
					tm.settled(t)
					b.clock.add(time.Minute)
				}
				b.exec(b.store.Config, edit)
				require.NoError(t, b.tasks.Reload(t.Context()))
				tm.settled(t)
				tm.settled(t)
				require.Len(t, b.ledger(t), tt.made)
				require.EqualValues(t, tt.givenUp, testutil.ToFloat64(b.metrics.givenUp.WithLabelValues(tt.policy)))
				require.Equal(t, 1, strings.Count(log.String(), "ticks were missed"))
				require.Contains(t, log.String(), fmt.Sprintf("caught_up=%d given_up=%d", tt.made, tt.givenUp))
			})
		}
	}
}

// clear empties the tables, for the next round of a property.
func (b *bench) clear(t require.TestingT) {
	for _, table := range []string{"tick", "run", "task_schedule"} {
		require.NoError(t, b.store.Data.Writer(context.Background()).Exec("DELETE FROM "+table).Error)
	}
	require.NoError(t, b.store.Config.Writer(context.Background()).Exec("DELETE FROM cron_task").Error)
}

// planModel computes what the ledger should have from the rules alone.
type planModel struct {
	cron, zone string
	enabled    bool
	since      time.Time // when a leader first saw them
	known      string    // what the leaders know of them
	wanted     map[time.Time]bool
	// of the present leader
	fresh bool
	last  time.Time
}

func (m *planModel) schedule(t require.TestingT) schedule.Schedule {
	s, err := schedule.Parse(m.cron, m.zone, "x")
	require.NoError(t, err)
	return s
}

func (m *planModel) add(s schedule.Schedule, from, through time.Time) {
	for at := s.Next(from); !at.After(through); at = s.Next(at) {
		m.wanted[at] = true
	}
}

// After any restarts, takeovers, clock changes of the database or the zones, and edits of the cron, the ledger has
// exactly the wanted moments, each once and with one run.
func TestPlanTicks_ExactOverEverything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	crons := []string{"*/20 * * * *", "30 2 * * *", "0 */2 * * *", "15,45 0-3 * * *", "~/30 * * * *", "@every 50m",
		"0 0 * * *"}
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Shanghai"}
	begins := []string{"2026-03-28T12:00:00Z", "2026-10-24T20:00:00Z", "2026-11-01T00:00:00Z", "2026-03-07T22:00:00Z",
		"2026-10-03T06:00:00Z", "2026-04-04T08:00:00Z"}
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		b.clear(t)
		begin, err := time.Parse(time.RFC3339, rapid.SampledFrom(begins).Draw(t, "begin"))
		require.NoError(t, err)
		b.clock.set(begin)
		m := &planModel{
			cron: rapid.SampledFrom(crons).Draw(t, "cron"), zone: rapid.SampledFrom(zones).Draw(t, "zone"), enabled: true,
			wanted: map[time.Time]bool{}, fresh: true,
		}
		order := rapid.SampledFrom([]string{"oldest_first", "newest_first"}).Draw(t, "order")
		require.NoError(t,
			b.store.Config.Writer(ctx).Exec(
				"INSERT INTO cron_task (name, media, handler, cron, timezone, catch_up, catch_up_order, catch_up_window_seconds)"+
					" VALUES ('x', 'tulip', 'tulip.report', ?, ?, 'all', ?, 2678400)", m.cron, m.zone, order).Error)
		old := m.schedule(t)
		tm := b.term()
		edit := func() {
			require.NoError(t, b.store.Config.Writer(ctx).Exec("UPDATE cron_task SET cron = ?, timezone = ?, enabled = ?",
				m.cron, m.zone, m.enabled).Error)
			require.NoError(t, b.tasks.Reload(ctx))
		}
		takeOver := func() { tm, m.fresh = b.term(), true }
		t.Repeat(map[string]func(*rapid.T){
			"time goes by": func(t *rapid.T) {
				b.clock.add(time.Duration(rapid.OneOf(rapid.IntRange(1, 90), rapid.IntRange(1, 4*3600)).Draw(t,
					"seconds")) * time.Second)
			},
			"another leader":     func(*rapid.T) { takeOver() },
			"the cron is edited": func(t *rapid.T) { m.cron = rapid.SampledFrom(crons).Draw(t, "cron"); edit() },
			"the zone is edited": func(t *rapid.T) { m.zone = rapid.SampledFrom(zones).Draw(t, "zone"); edit() },
			"it is switched":     func(*rapid.T) { m.enabled = !m.enabled; edit() },
			"the clock is set back, another leader": func(t *rapid.T) {
				b.clock.add(-time.Duration(rapid.IntRange(1, 600).Draw(t, "seconds")) * time.Second)
				takeOver()
			},
			"": func(t *rapid.T) {
				now := b.clock.Now()
				if state := fmt.Sprint(m.cron, m.zone, m.enabled); state != m.known {
					// This leader has planned by the old cron up to now. Its ticks that are late by more than a minute are dropped
					// with it.
					if wasEnabled := len(m.known) > 4 && m.known[len(m.known)-4:] == "true"; !m.fresh && wasEnabled && m.enabled {
						m.add(old, clock.Later(m.last, now.Add(-catchUpAfter)), now)
					}
					m.known, m.since, old = state, now, m.schedule(t)
				}
				if m.enabled {
					m.add(old, m.since, now)
				}
				m.fresh, m.last = false, now
				tm.settled(t)
				got := b.ledger(t)
				var want []time.Time
				for at := range m.wanted {
					want = append(want, at)
				}
				slices.SortFunc(got, time.Time.Compare)
				slices.SortFunc(want, time.Time.Compare)
				require.Equal(t, want, got)
			},
		})
	})
}

// For any cron, policy and gap, one takeover after the gap makes the same ticks as stepping through the schedule.
func TestCatchUp_AgainstStepping(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		b.clear(t)
		cron := rapid.SampledFrom([]string{"* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "*/20 * * * * *",
			"@every 45s"}).Draw(t, "cron")
		policy := rapid.SampledFrom([]task.CatchUp{task.CatchUpNone, task.CatchUpLatest, task.CatchUpAll}).Draw(t, "policy")
		order := rapid.SampledFrom([]task.CatchUpOrder{task.OldestFirst, task.NewestFirst}).Draw(t, "order")
		window := time.Duration(rapid.IntRange(0, 4*3600).Draw(t, "window")) * time.Second
		require.NoError(t,
			b.store.Config.Writer(ctx).Exec(
				"INSERT INTO cron_task (name, media, handler, cron, catch_up, catch_up_order, catch_up_window_seconds)"+
					" VALUES ('x', 'tulip', 'tulip.report', ?, ?, ?, ?)", cron, string(policy), string(order),
				int(window/time.Second)).Error)
		b.clock.set(start)
		b.term().settled(t)
		now := start.Add(time.Duration(rapid.Int64Range(0, int64(5*time.Hour)).Draw(t, "gap"))).Truncate(time.Millisecond)
		b.clock.set(now)

		s, err := schedule.Parse(cron, "UTC", "x")
		require.NoError(t, err)
		var recent, late []time.Time
		for m := s.Next(start); !m.After(now); m = s.Next(m) {
			switch {
			case m.After(now.Add(-catchUpAfter)):
				recent = append(recent, m)
			case m.After(now.Add(-window - catchUpAfter)):
				late = append(late, m)
			}
		}
		switch {
		case policy == task.CatchUpNone || (policy == task.CatchUpLatest && len(recent) > 0):
			late = nil
		case policy == task.CatchUpLatest && len(late) > 0:
			late = late[len(late)-1:]
		case order == task.NewestFirst:
			slices.Reverse(late)
		}
		b.term().settled(t)
		require.Equal(t, slices.Concat(recent, late), b.ledger(t))
		b.term().settled(t)
		require.Len(t, b.ledger(t), len(recent)+len(late), "nobody makes any again")
	})
}
