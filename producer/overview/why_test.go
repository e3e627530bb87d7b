package overview_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/producer"
	"adsync/producer/overview"
	"adsync/producer/overview/overviewtest"
)

// hours returns a task that pulls the hours of active accounts; storetest.NewRun makes its runs.
func hours() producer.Task {
	return producer.Task{Usable: true, Task: task.Task{
		ID: 7, Name: "hours", Media: "tulip", Handler: "tulip.report_hourly", Cron: "*/2 * * * *", Timezone: "UTC",
		Enabled:  true,
		Settings: task.Settings{Scope: "active", Params: json.RawMessage(`{"level": "account"}`)},
	}}
}

// neverPulled is the account of overviewtest that has no figures.
const neverPulled = overviewtest.Fresh + overviewtest.Late

// whyBench is a store with accounts. A test makes one of them late.
type whyBench struct {
	*testing.T

	store  *store.Store
	at     time.Time // of the database
	tasks  []producer.Task
	limits limits
}

func (b *whyBench) exec(statement string, args ...any) {
	b.Helper()
	require.NoError(b, b.store.Data.Writer(b.Context()).Exec(statement, args...).Error)
}

func (b *whyBench) why(accountID int64) overview.Why {
	b.Helper()
	found, err := b.store.AccountsByID(b.Context(), []int64{accountID})
	require.NoError(b, err)
	o := options(b.store)
	o.Tasks, o.Limits = func() []producer.Task { return b.tasks }, b.limits
	why, err := overview.NewReader(o).Why(b.Context(), found[accountID])
	require.NoError(b, err)
	return why
}

// run makes a run of the task with one subtask, of the account that was never pulled.
func (b *whyBench) run() storetest.Run {
	return storetest.NewRun(b, b.store, overviewtest.Now, task.Key{AccountID: neverPulled, Part: "d"})
}

// ended writes the outcome of the subtask's first delivery.
func (b *whyBench) ended(state task.State, text string) {
	o := b.run().Outcome(neverPulled, 1, state)
	o.ErrorText, o.Reason, o.EndedAt, o.DueAt = text, text, b.at, b.at.Add(time.Minute)
	require.Zero(b, storetest.Apply(b, b.store, o))
}

func TestWhy_NamesTheReasonOfALateAccount(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		account int64
		do      func(b *whyBench)
		kind    overview.WhyKind
		inTime  bool
		line    string // the beginning
		command string
	}{
		{name: "pulled a moment ago", account: 1, kind: overview.WhyFresh, inTime: true,
			line: "Today's figures are not late: they were pulled 1m"},
		{name: "unbound", account: 1, do: func(b *whyBench) {
			require.NoError(b, b.store.Config.Writer(b.Context()).Exec("UPDATE media_account SET bound = 0 WHERE id = 1").Error)
		}, kind: overview.WhyUnbound, line: "The account is not bound", command: "adsync accounts show tulip/20000001"},
		{name: "parked", account: neverPulled + 1, kind: overview.WhyParked,
			line: "The account is parked: frozen: code 35001", command: "adsync accounts show tulip/20000009"},
		{name: "invalid", account: neverPulled, do: func(b *whyBench) {
			require.NoError(b, b.store.Config.Writer(b.Context()).Exec("UPDATE media_account SET tier = 'invalid' WHERE id = ?",
				neverPulled).Error)
		}, kind: overview.WhyInvalid, line: "The account's tier is invalid"},
		{name: "no task", account: neverPulled, do: func(b *whyBench) { b.tasks = nil }, kind: overview.WhyNoTask,
			line: "No usable task of cron_task pulls the hours of active accounts of tulip.", command: "adsync tasks list"},
		{name: "quiet", account: neverPulled, do: func(b *whyBench) {
			require.NoError(b, b.store.Config.Writer(b.Context()).Exec("UPDATE media_account SET tier = 'inactive' WHERE id = ?",
				neverPulled).Error)
		}, kind: overview.WhyNoTask, inTime: true, line: "No usable task of cron_task pulls the hours of inactive accounts"},
		{name: "disabled", account: neverPulled, do: func(b *whyBench) { b.tasks[0].Enabled = false },
			kind: overview.WhyDisabled,
			line: "The task hours, which pulls the hours of such accounts, is disabled.", command: "adsync tasks enable hours"},
		{name: "no leader", account: neverPulled, do: func(b *whyBench) { b.exec("DELETE FROM leader") },
			kind: overview.WhyNoLeader, line: "No producer leads"},
		{name: "paused", account: neverPulled, do: func(b *whyBench) {
			stop := task.Stop{ID: 5, Verb: task.Pause, Kind: task.StopMedia, Target: "tulip", TargetName: "tulip",
				Reason: "night", By: "otto", OrderedAt: b.at}
			require.NoError(b, b.store.AddStop(b.Context(), stop))
		}, kind: overview.WhyPaused, line: "The media tulip is paused by otto: night.", command: "adsync resume 5"},
		{name: "retrying", account: neverPulled, do: func(b *whyBench) { b.ended(task.Retrying, "no answer") },
			kind: overview.WhyRetrying, line: "Its subtask of report failed and is tried again at "},
		{name: "deferred", account: neverPulled, do: func(b *whyBench) { b.ended(task.Deferred, "too many calls") },
			kind: overview.WhyDeferred, line: "Its subtask of report is held up until "},
		{name: "dead", account: neverPulled, do: func(b *whyBench) { b.ended(task.Failed, "code 7") }, kind: overview.WhyDead,
			line: "Its subtask of report failed for good at ", command: "adsync dead redrive --account tulip/20000008"},
		{name: "dead, and another subtask waits", account: neverPulled, do: func(b *whyBench) {
			b.ended(task.Failed, "code 7")
			b.run()
		}, kind: overview.WhyDead, line: "Its subtask of report failed for good at "},
		{name: "dead long ago", account: neverPulled, do: func(b *whyBench) {
			b.ended(task.Failed, "code 7")
			b.exec("UPDATE subtask_dead SET dead_at = ? WHERE account_id = ?", sqldb.At(b.at.Add(-25*time.Hour)), neverPulled)
		}, kind: overview.WhyNextRun, line: "It has no open subtask"},
		{name: "the platform takes no calls", account: neverPulled, do: func(b *whyBench) {
			b.run()
			b.limits.pauses = []grant.PauseState{
				{Media: "tulip", Endpoint: "a/get", Scope: grant.ScopeAccount, Subject: "1", Until: b.at.Add(time.Hour)},
				{Media: "tulip", Endpoint: "b/get", Scope: grant.ScopeApp, Subject: "17"},
				{Media: "tulip", Scope: grant.ScopePlatform, Until: b.at.Add(time.Minute)},
			}
		}, kind: overview.WhyRefused, line: "The platform takes no calls of any endpoint until ",
			command: "adsync limits --media tulip"},
		{name: "a limit is used up", account: neverPulled, do: func(b *whyBench) {
			b.run()
			full := grant.LimitState{Key: grant.Key{Media: "tulip", Endpoint: "hours/get", Scope: grant.ScopeApp, Limit: 600,
				Share: 1, Period: time.Minute}, Part: 1, Window: 600,
				Lanes: []grant.LaneState{{Wanted: 9}}}
			idle := full
			idle.Endpoint, idle.Window = "days/get", 1
			b.limits.states = []grant.LimitState{idle, full}
		}, kind: overview.WhyLimit,
			line:    "The limit of 600 calls per 1m0s of hours/get is used up, and its subtask of report waits.",
			command: "adsync limits --media tulip"},
		{name: "the lane", account: neverPulled, do: func(b *whyBench) { b.run() }, kind: overview.WhyLane,
			line: "for its turn in the lane normal, which has 1 open subtask of these tasks."},
		{name: "the fan-out", account: neverPulled, do: func(b *whyBench) {
			r := storetest.NewRun(b, b.store, overviewtest.Now, task.Key{AccountID: 1, Part: "d"})
			b.exec("UPDATE run SET state = 'fanning_out', total = NULL WHERE id = ?", r.ID)
		}, kind: overview.WhyFanOut, line: "Run "},
		{name: "the next run", account: neverPulled, kind: overview.WhyNextRun,
			line:    "It has no open subtask, and waits for the next run of hours, at 10:32:00 UTC.",
			command: "adsync subtasks list --account tulip/20000008"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := &whyBench{T: t, store: storetest.New(t), tasks: []producer.Task{hours()}}
			b.at = overviewtest.Fill(t, b.store)
			if test.do != nil {
				test.do(b)
			}
			why := b.why(test.account)
			require.Equal(t, test.kind, why.Kind, why.Line)
			require.Equal(t, !test.inTime, why.Late)
			require.Contains(t, why.Line, test.line)
			require.NotContains(t, why.Line, "\n")
			if test.command != "" {
				require.Equal(t, test.command, why.Command)
			}
		})
	}
}

func TestWhy_ReportsWhenTheReasonEnds(t *testing.T) {
	t.Parallel()
	b := &whyBench{T: t, store: storetest.New(t), tasks: []producer.Task{hours()}}
	b.at = overviewtest.Fill(t, b.store)
	require.Equal(t, 4*time.Minute, b.why(1).LateAfter)
	require.WithinDuration(t, b.at.Add(-time.Minute), b.why(1).PulledAt, time.Second)
	b.ended(task.Retrying, "no answer")
	why := b.why(neverPulled)
	require.WithinDuration(t, b.at.Add(time.Minute), why.Until, time.Second)
	require.Equal(t, "report", why.Task)
	require.Equal(t, task.LogDay(why.RunID), task.LogDay(task.FirstRunIDAt(overviewtest.Now)))
	require.True(t, b.why(neverPulled).PulledAt.IsZero())
}
