package external_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store/jobstore"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/jobs/external"
	"adsync/media"
)

var builds = jobstore.Queue{Namespace: "warehouse", Name: "builds"}

// bench is a handler, its jobs, and the leader's part.
type bench struct {
	t        *testing.T
	store    *jobstore.Store
	handler  media.Handler
	follower *external.Follower
	states   map[task.Key]ledger.SubtaskStatus
	run      int64
	now      time.Time
}

// SubtaskStates implements external.Subtasks.
func (b *bench) SubtaskStates(context.Context, []task.Key) (map[task.Key]ledger.SubtaskStatus, error) {
	return b.states, nil
}

// Account implements external.Accounts.
func (b *bench) Account(_ context.Context, id int64) (media.Account, error) {
	return media.Account{ID: id, ExternalID: "their-17"}, nil
}

func setup(t *testing.T) *bench {
	t.Helper()
	t.Parallel()
	b := &bench{t: t, store: storetest.NewJobs(t), states: map[task.Key]ledger.SubtaskStatus{}}
	var err error
	b.now, err = b.store.Now(t.Context())
	require.NoError(t, err)
	b.run = task.NewRunID(b.now)
	stores := map[string]*jobstore.Store{"default": b.store}
	logger := slog.New(slog.DiscardHandler)
	b.handler = external.New(external.Deps{Stores: stores, Accounts: b, Clock: clock.System{}, Logger: logger}).Handler(
		"tulip", media.Accounts)
	b.follower = external.NewFollower(stores, b, logger)
	return b
}

func (b *bench) work(part string, attempt int) media.Work {
	k := task.Key{RunID: b.run, AccountID: 17, Part: part}
	b.states[k] = ledger.SubtaskStatus{State: task.Waiting, Delivery: 1, Attempt: attempt}
	return media.Work{Key: k, TaskID: 5, TaskName: "tulip.build", Attempt: attempt, PlannedAt: b.now,
		Deadline: b.now.Add(time.Hour), Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Params: json.RawMessage(`{"namespace": "warehouse", "queue": "builds", "ttr": 600, "params": [1]}`)}
}

// waits requires that the subtask waits for its job, and returns what it waits for.
func (b *bench) waits(w media.Work) string {
	b.t.Helper()
	_, err := b.handler.Run(b.t.Context(), w)
	d, ok := errors.AsType[*media.DeferError](err)
	require.True(b.t, ok, "%v", err)
	require.Contains(b.t, d.WaitsFor, "job:", d.Reason)
	return d.WaitsFor
}

// claim claims all jobs that are ready.
func (b *bench) claim() []jobstore.Job {
	b.t.Helper()
	now := b.now.Add(time.Minute)
	ready, err := b.store.ReadyShelves(b.t.Context(), builds.ID(), time.Time{}, now)
	require.NoError(b.t, err)
	var all []jobstore.Job
	for _, f := range ready {
		got, err := b.store.Claim(b.t.Context(), f.Shelf, 100, time.Time{}, now, now.Add(time.Minute))
		require.NoError(b.t, err)
		all = append(all, got.Jobs...)
	}
	return all
}

// pass is a pass of the leader, and returns what it makes due.
func (b *bench) pass(stops ...task.Stop) map[task.Key]string {
	b.t.Helper()
	due := map[task.Key]string{}
	require.NoError(b.t, b.follower.Pass(b.t.Context(), task.NewStops(stops), b.now,
		func(_ context.Context, refs map[task.Key]string) error {
			maps.Copy(due, refs)
			return nil
		}))
	return due
}

// ended acknowledges a job as if that had been a while ago.
func (b *bench) ended(j jobstore.Job, ago time.Duration) {
	b.t.Helper()
	require.NoError(b.t, b.store.AckRows(b.t.Context(), []jobstore.Key{j.Key()}, 17, b.now.Add(-ago)))
}

// known returns the watched jobs that are to be looked at until some time, by their parts.
func (b *bench) known() map[string]jobstore.Watched {
	b.t.Helper()
	all, err := b.store.WatchedDue(b.t.Context(), 100, b.now.Add(24*time.Hour))
	require.NoError(b.t, err)
	byPart := map[string]jobstore.Watched{}
	for _, w := range all {
		byPart[w.Part] = w
	}
	return byPart
}

func TestRun_ManyHandlersMakeOneJob(t *testing.T) {
	b := setup(t)
	w := b.work("a", 0)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { _, _ = b.handler.Run(t.Context(), w) })
	}
	all.Wait()
	first := b.waits(w)
	got := b.claim()
	require.Len(t, got, 1)
	require.Equal(t, "job:"+got[0].ID.String(), first)
	require.Equal(t, 10*time.Minute, got[0].TTR)
	require.WithinDuration(t, w.Deadline, got[0].ExpiresAt, time.Minute)
	require.JSONEq(t, `{"traceparent": "`+w.Trace+`"}`, string(got[0].Attributes))
	var body external.Body
	require.NoError(t, json.Unmarshal(got[0].Body, &body))
	require.Equal(t, "their-17", body.Account)
	require.Equal(t, "17", body.AccountID)
	require.Equal(t, "a", body.Part)
	require.JSONEq(t, "[1]", string(body.Params))
	require.Equal(t, w.Deadline, *body.Deadline)

	b.ended(got[0], 0)
	result, err := b.handler.Run(t.Context(), w)
	require.NoError(t, err)
	require.Equal(t, 17, result.Rows)
	require.Empty(t, b.claim(), "its end is known")
	require.NotEqual(t, first, b.waits(b.work("a", 1)), "another attempt is another job")
}

func TestRun_AFailedJobIsAnErrorOfItsWorker(t *testing.T) {
	b := setup(t)
	w := b.work("a", 0)
	b.waits(w)
	j := b.claim()[0]
	_, err := b.store.Nack(t.Context(), j.Key(), j.Claims, 0, "the cube is locked", b.now)
	require.NoError(t, err)
	_, err = b.handler.Run(t.Context(), w)
	require.ErrorContains(t, err, "job "+j.ID.String()+" in warehouse/builds failed: the cube is locked")
	_, isMedia := errors.AsType[*media.Error](err)
	require.False(t, isMedia, "it is tried again")
}

func TestRun_WaitsAtNoAttemptWhileTheDatabaseIsAway(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.store.Close())
	_, err := b.handler.Run(t.Context(), b.work("a", 0))
	d, ok := errors.AsType[*media.DeferError](err)
	require.True(t, ok, "%v", err)
	require.Empty(t, d.WaitsFor)
	require.Empty(t, b.pass(), "nor does it disturb the leader")
}

// What is known of a job stays until the ledger has its outcome, whenever that is.
func TestPass_ForgetsAJobOnlyWithItsOutcome(t *testing.T) {
	b := setup(t)
	w := b.work("a", 0)
	ref := b.waits(w)
	require.Empty(t, b.pass())
	b.ended(b.claim()[0], time.Hour)
	require.Equal(t, map[task.Key]string{w.Key: ref}, b.pass())
	require.Contains(t, b.known(), "a")
	require.Empty(t, b.pass(), "it is not due again at once")

	b.states[w.Key] = ledger.SubtaskStatus{State: task.Succeeded, Delivery: 2}
	require.NoError(t, b.store.LookAgain(t.Context(), []jobstore.Watched{b.known()["a"]}, b.now.Add(-time.Second)))
	require.Empty(t, b.pass())
	require.NotContains(t, b.known(), "a")
}

func TestPass_AnEndOfAMomentAgoIsKeptForLateHandlers(t *testing.T) {
	b := setup(t)
	w := b.work("a", 0)
	b.waits(w)
	b.ended(b.claim()[0], 0)
	b.states[w.Key] = ledger.SubtaskStatus{State: task.Retrying, Delivery: 2, Attempt: 1}
	require.Empty(t, b.pass())
	require.Contains(t, b.known(), "a")
}

func TestPass_WithdrawsJobsWhoseSubtasksHaveEnded(t *testing.T) {
	b := setup(t)
	for _, part := range []string{"open", "ended", "later", "gone"} {
		b.waits(b.work(part, 0))
	}
	all := b.known()
	for _, w := range all {
		require.NoError(t, b.store.LookAgain(t.Context(), []jobstore.Watched{w}, b.now.Add(-time.Second)))
	}
	b.states[task.Key{RunID: b.run, AccountID: 17, Part: "ended"}] = ledger.SubtaskStatus{State: task.Superseded}
	b.states[task.Key{RunID: b.run, AccountID: 17, Part: "later"}] = ledger.SubtaskStatus{State: task.Waiting, Attempt: 1}
	delete(b.states, task.Key{RunID: b.run, AccountID: 17, Part: "gone"})
	require.Empty(t, b.pass())
	for part, w := range b.known() {
		want := jobstore.Withdrawn
		if part == "open" {
			want = jobstore.NotEnded
		}
		require.Equal(t, want, w.End, part)
	}
	require.Len(t, b.claim(), 1)
}

func TestPass_HoldsPausedJobsAndWithdrawsCancelledOnes(t *testing.T) {
	b := setup(t)
	w := b.work("a", 0)
	b.waits(w)
	pause := task.Stop{ID: task.NewRunID(b.now), Verb: task.Pause, Kind: task.StopTask, Target: "5", By: "otto"}
	require.Empty(t, b.pass(pause))
	require.True(t, b.known()["a"].Held)
	require.Empty(t, b.claim())
	b.waits(w)
	require.Len(t, b.claim(), 1, "its handler runs again: the pause has ended")

	other := external.NewFollower(map[string]*jobstore.Store{"default": b.store}, b, slog.New(slog.DiscardHandler))
	b.follower = other
	b.waits(b.work("b", 0))
	cancel := task.Stop{ID: task.NewRunID(b.now.Add(time.Hour)), Verb: task.Cancel, Kind: task.StopMedia, Target: "tulip",
		By: "otto"}
	for range 2 {
		require.Empty(t, b.pass(cancel), "a subtask that is cancelled is not made due: that would be an attempt")
	}
	require.Equal(t, jobstore.Withdrawn, b.known()["b"].End)
	require.Contains(t, b.known()["b"].Error, "cancelled by otto")
	require.Empty(t, b.claim())
}

func TestCheck_NamesTheField(t *testing.T) {
	t.Parallel()
	door := external.New(external.Deps{Logger: slog.New(slog.DiscardHandler)})
	accounts, once := door.Handler("tulip", media.Accounts), door.Handler("system", media.Once)
	require.Equal(t, "tulip.external", accounts.Name)
	for params, field := range map[string]string{
		``: "params.namespace", `{"namespace": "a b", "queue": "q"}`: "params.namespace",
		`{"namespace": "n"}`: "params.queue", `{"namespace": "n", "queue": "_q"}`: "params.queue",
		`{"namespace": "n", "queue": "q", "ttr": -1}`:              "params.ttr",
		`{"namespace": "n", "queue": "q", "ttr": "x"}`:             "params.ttr",
		`{"namespace": "n", "queue": "q", "priority": 10}`:         "params.priority",
		`{"namespace": "n", "queue": "q", "pool": "?"}`:            "params.pool",
		`{"namespace": "n", "queue": "q", "days": 2}`:              "params.days",
		`{"namespace": "n", "queue": "q", "parts": []}`:            "params.parts",
		`{"namespace": "n", "queue": "q", "parts": ["a", "a"]}`:    "params.parts[1]",
		`{"namespace": "n", "queue": "q", "parts": [""]}`:          "params.parts[0]",
		`{"namespace": "n", "queue": "q", "other": 1}`:             "params.other",
		`{"namespace": "n", "queue": "q", "params": {"any": [1]}}`: "",
	} {
		err := once.Check(json.RawMessage(params))
		if field == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, field, params)
	}
	require.ErrorContains(t, accounts.Check(json.RawMessage(`{"namespace": "n", "queue": "q", "parts": ["a"]}`)),
		"params.parts")
}

func TestParts_OfTheParamsOrTheOrder(t *testing.T) {
	t.Parallel()
	door := external.New(external.Deps{Logger: slog.New(slog.DiscardHandler)})
	accounts, once := door.Handler("tulip", media.Accounts), door.Handler("system", media.Once)
	at := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	plan := func(params string) media.Plan {
		return media.Plan{PlannedAt: at, Zone: time.FixedZone("UTC+8", 8*60*60),
			Params: json.RawMessage(`{"namespace": "n", "queue": "q"` + params + `}`)}
	}
	parts := func(h media.Handler, p media.Plan) []string {
		all, err := h.Parts(p)
		require.NoError(t, err)
		return all
	}
	require.Equal(t, []string{"external"}, parts(once, plan("")))
	named := plan(`, "parts": ["a", "b"]`)
	require.Equal(t, []string{"a", "b"}, parts(once, named))
	named.Parts = []string{"c"}
	require.Equal(t, []string{"c"}, parts(once, named))
	days := plan(`, "days": 2`)
	require.Equal(t, []string{"2026-11-30", "2026-12-01"}, parts(accounts, days))
	days.From, days.To = day.Day("2026-11-01"), day.Day("2026-11-02")
	require.Equal(t, []string{"2026-11-01", "2026-11-02"}, parts(accounts, days))
	days.To = day.Day("2026-12-02")
	_, err := accounts.Parts(days)
	require.ErrorContains(t, err, "to: 2026-12-02 is refused")
	single := plan("")
	single.From, single.To = days.From, days.From
	_, err = accounts.Parts(single)
	require.ErrorContains(t, err, "from: this task has no days")
}
