package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/clock"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
)

// patience bounds each wait of a test. No passing test depends on its value.
const patience = 30 * time.Second

// flow is a store and a broker. The test does the producer's part.
type flow struct {
	*testing.T
	store  *store.Store
	client *broker.Client
	run    int64
	kafka  broker.Config // of newVirtualFlow
}

func newFlow(t *testing.T) *flow {
	t.Helper()
	kafka := brokertest.New(t)
	f := &flow{T: t, store: storetest.New(t), run: task.NewRunID(time.Now())}
	f.client = kafka.Client(t, func(cfg *broker.Config) { cfg.Prefix = kafka.Topic("adsync") })
	f.exec("DELETE FROM lane")
	f.exec("INSERT INTO lane (media, name, pool_size, partitions) VALUES ('acme', 'normal', 8, 3)")
	require.NoError(t, f.client.EnsureTopics(t.Context(),
		[]broker.Topic{{Name: f.client.TopicName("acme", "normal"), Partitions: 3}}))
	require.NoError(t, f.store.EnsureLogTable(t.Context(), task.LogDay(f.run)))
	return f
}

// exec changes the config database, as an operator does.
func (f *flow) exec(sql string) {
	f.Helper()
	require.NoError(f, f.store.Config.Writer(f.Context()).Exec(sql).Error)
}

func (f *flow) envelope(account int64, handler string) task.Envelope {
	return task.Envelope{
		Key: task.Key{RunID: f.run, AccountID: account, Part: "d"}, TaskID: 7, TaskName: "report", Media: "acme",
		Lane:    "normal",
		Handler: handler, Delivery: 1, RetryMax: 2, RetryBase: time.Second, Timeout: 30 * time.Second,
	}
}

// fanOut makes the test's run of these subtasks and sends each message as often as times says.
func (f *flow) fanOut(times int, envelopes ...task.Envelope) {
	f.Helper()
	db := f.store.Data.Writer(f.Context())
	now := sqldb.At(time.Now())
	for _, e := range envelopes {
		require.NoError(f, db.Exec("INSERT INTO "+ledger.LogTable(f.run)+
			" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES (?, ?, ?, 'waiting', 1, 0, ?)", f.run,
			e.AccountID, e.Part, now).Error)
	}
	require.NoError(f,
		db.Exec(
			`INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state,
 epoch, total, created_at)
 VALUES (?, 7, 'report', 'acme', 'acme.report', 'normal', 1, '{}', 'tick', ?, 'running', 1, ?, ?)`, f.run, now,
			len(envelopes), now).Error)
	for range times {
		f.send(envelopes...)
	}
}

func (f *flow) send(envelopes ...task.Envelope) {
	f.Helper()
	var messages []broker.Message
	for _, e := range envelopes {
		m := *message(e, "")
		m.Topic, m.Key = f.client.TopicName(e.Media, e.Lane), fmt.Append(nil, e.AccountID)
		messages = append(messages, m)
	}
	_, err := f.client.Write(f.Context(), messages)
	require.NoError(f, err)
}

// pump sends subtasks that wait for a retry or a quota again when they are due, as the leader does.
func (f *flow) pump(handlers map[int64]string) {
	f.Helper()
	f.resend(func(e *task.Envelope) { e.Handler = handlers[e.AccountID] })
}

// resend sends waiting subtasks again, after change has edited their envelopes.
func (f *flow) resend(change func(*task.Envelope)) {
	f.Helper()
	db := f.store.Data.Writer(f.Context())
	var due []struct {
		AccountID         int64
		Part              string
		Delivery, Attempt int
	}
	require.NoError(f,
		db.Raw("SELECT account_id, part, delivery, attempt FROM subtask_due WHERE state <> 'sent'").Scan(&due).Error)
	for _, d := range due {
		key := []any{f.run, d.AccountID, d.Part}
		require.NoError(f, db.Exec("UPDATE "+ledger.LogTable(f.run)+
			" SET state = 'waiting', delivery = ? WHERE run_id = ? AND account_id = ? AND part = ? AND delivery = ?",
			append(append([]any{d.Delivery + 1}, key...), d.Delivery)...).Error)
		require.NoError(f,
			db.Exec("UPDATE subtask_due SET state = 'sent', delivery = ? WHERE run_id = ? AND account_id = ? AND part = ?",
				append([]any{d.Delivery + 1}, key...)...).Error)
		e := f.envelope(d.AccountID, "acme.report")
		e.Part, e.Delivery, e.Attempt = d.Part, d.Delivery+1, d.Attempt
		change(&e)
		f.send(e)
	}
}

// consumer starts a consumer, which ends with the test.
func (f *flow) consumer(change func(*Config, *Deps), handlers ...media.Handler) *Consumer {
	f.Helper()
	cfg := DefaultConfig()
	cfg.Subscriptions = []string{"acme:*"}
	cfg.PoolReload, cfg.DrainTimeout, cfg.OutcomeInterval = 100*time.Millisecond, 2*time.Second, 10*time.Millisecond
	deps := Deps{
		Store: f.store, Registry: media.NewRegistry(handlers...), Broker: f.client, Clock: clock.System{},
		Logger: brokertest.Logger(f.T), Registerer: prometheus.NewRegistry(), Node: "n1",
	}
	if change != nil {
		change(&cfg, &deps)
	}
	c, err := New(cfg, deps)
	require.NoError(f, err)
	require.NoError(f, c.Start(f.Context()))
	f.Cleanup(c.Stop)
	return c
}

type endOfRun struct {
	State                                  task.RunState
	Succeeded, Failed, Expired, Superseded int
}

func (f *flow) counts() (got endOfRun) {
	f.Helper()
	require.NoError(f, f.store.Data.Writer(f.Context()).Raw("SELECT * FROM run WHERE id = ?", f.run).Scan(&got).Error)
	return got
}

func (f *flow) states() map[task.State]int {
	f.Helper()
	var rows []struct {
		State task.State
		N     int
	}
	require.NoError(f, f.store.Data.Writer(f.Context()).Raw("SELECT state, COUNT(*) AS n FROM "+ledger.LogTable(f.run)+
		" GROUP BY state").Scan(&rows).Error)
	out := map[task.State]int{}
	for _, r := range rows {
		out[r.State] = r.N
	}
	return out
}

// awaitRun waits until the run has ended, and checks that its counts agree with its rows.
func (f *flow) awaitRun(want endOfRun) {
	f.Helper()
	require.Eventually(f, func() bool { return !f.counts().State.Open() }, patience, 10*time.Millisecond)
	require.Equal(f, want, f.counts())
	states := f.states()
	require.Equal(f, want, endOfRun{want.State, states[task.Succeeded], states[task.Failed], states[task.Expired],
		states[task.Superseded]})
}

// awaitOffsets waits until all messages of a lane are finished and committed.
func (f *flow) awaitOffsets(lane string) {
	f.Helper()
	require.Eventually(f, func() bool {
		offsets, err := f.client.Offsets(f.Context(), f.client.GroupName("acme", lane), f.client.TopicName("acme", lane))
		if err != nil {
			return false
		}
		for _, p := range offsets {
			if p.Lag() > 0 {
				return false
			}
		}
		return true
	}, patience, 20*time.Millisecond, "every message is finished")
}

func TestFlow_MessagesThatComeAgainCountOnce(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	var all []task.Envelope
	for i := range int64(100) {
		all = append(all, f.envelope(i+1, "acme.report"))
	}
	f.fanOut(3, all...)
	report := handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
		return media.Result{},
			nil
	})
	f.consumer(nil, report)
	f.consumer(nil, report)
	f.awaitRun(endOfRun{State: task.RunSucceeded, Succeeded: 100})
	f.awaitOffsets("normal")
}

func TestFlow_EverySubtaskEndsAsItsHandlerSays(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	kinds := map[int64]string{
		1: "acme.succeeds", 2: "acme.fails_once", 3: "acme.always_fails", 4: "acme.panics", 5: "acme.invalid",
		6: "acme.hangs", 7: "acme.defers_once", 8: "acme.unknown", 9: "acme.superseded", 10: "acme.late",
	}
	var all []task.Envelope
	for account, kind := range kinds {
		e := f.envelope(account, kind)
		switch kind {
		case "acme.hangs":
			e.Timeout, e.RetryMax = 50*time.Millisecond, 0
		case "acme.late":
			e.Deadline = time.Now().Add(-time.Second)
		}
		all = append(all, e)
	}
	f.fanOut(1, all...)
	var deferred atomic.Bool
	f.consumer(nil,
		handler("acme.succeeds", func(context.Context, media.Work) (media.Result, error) {
			return media.Result{Rows: 1},
				nil
		}),
		handler("acme.fails_once", func(_ context.Context, w media.Work) (media.Result, error) {
			if w.Attempt == 0 {
				return media.Result{}, errors.New("connection reset")
			}
			return media.Result{}, nil
		}),
		handler("acme.always_fails", func(context.Context, media.Work) (media.Result, error) {
			return media.Result{Calls: 1}, &media.Error{Class: media.Auth, Code: "40105", Message: "token of account 123"}
		}),
		handler("acme.panics", func(context.Context, media.Work) (media.Result, error) { panic("oops") }),
		handler("acme.invalid", func(context.Context, media.Work) (media.Result, error) {
			return media.Result{}, &media.Error{Class: media.Invalid, Code: "11017"}
		}),
		handler("acme.hangs", func(ctx context.Context, _ media.Work) (media.Result, error) {
			<-ctx.Done()
			return media.Result{}, ctx.Err()
		}),
		handler("acme.defers_once", func(_ context.Context, w media.Work) (media.Result, error) {
			if deferred.CompareAndSwap(false, true) {
				return media.Result{}, &media.DeferError{After: time.Minute, Reason: "app quota"}
			}
			if w.Attempt != 0 {
				return media.Result{}, &media.Error{Class: media.Bug, Message: "a wait must cost no attempt"}
			}
			return media.Result{}, nil
		}),
		handler("acme.superseded", func(context.Context, media.Work) (media.Result, error) {
			return media.Result{}, fmt.Errorf("pull: %w", media.ErrSuperseded)
		}),
		handler("acme.late", func(context.Context, media.Work) (media.Result, error) { return media.Result{}, nil }),
	)
	require.Eventually(t, func() bool { return f.states()[task.Waiting] == 0 }, patience, 10*time.Millisecond)
	require.Equal(t, map[task.State]int{
		task.Succeeded: 1, task.Retrying: 2, task.Failed: 3, task.Deferred: 2, task.Superseded: 1, task.Expired: 1,
	}, f.states())
	f.awaitOffsets("normal")

	// The leader sends the waiting subtask again. By then a consumer that knows the handler runs.
	kinds[8] = "acme.succeeds"
	require.Eventually(t, func() bool {
		f.pump(kinds)
		return !f.counts().State.Open()
	}, patience, 50*time.Millisecond)
	f.awaitRun(endOfRun{State: task.RunPartial, Succeeded: 4, Failed: 4, Expired: 1, Superseded: 1})
	var dead []struct {
		AccountID  int64
		Attempt    int
		ErrorClass string
		ErrorPrint string
	}
	require.NoError(t,
		f.store.Data.Writer(t.Context()).Raw("SELECT * FROM subtask_dead ORDER BY account_id").Scan(&dead).Error)
	require.Len(t, dead, 4)
	require.EqualValues(t, 3, dead[0].AccountID)
	require.Equal(t, 3, dead[0].Attempt, "the first try and two retries")
	require.Equal(t, "auth error ?: token of account ?", dead[0].ErrorPrint)
	require.Equal(t, []string{"bug", "invalid", "transient"},
		[]string{dead[1].ErrorClass, dead[2].ErrorClass, dead[3].ErrorClass})
	var due int64
	require.NoError(t, f.store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM subtask_due").Scan(&due).Error)
	require.Zero(t, due)
}

func TestFlow_WorkThatWasCutOffIsDoneByAnother(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	var all []task.Envelope
	for i := range int64(20) {
		all = append(all, f.envelope(i+1, "acme.report"))
	}
	f.fanOut(1, all...)
	underWay := make(chan struct{}, 20)
	first := f.consumer(func(cfg *Config, _ *Deps) { cfg.DrainTimeout = 10 * time.Millisecond },
		handler("acme.report", func(ctx context.Context, w media.Work) (media.Result, error) {
			if w.AccountID%2 == 0 {
				return media.Result{}, nil
			}
			underWay <- struct{}{}
			<-ctx.Done()
			return media.Result{}, ctx.Err()
		}))
	<-underWay
	first.Stop()
	require.Equal(t, task.RunRunning, f.counts().State)
	require.Zero(t, f.states()[task.Retrying], "being cut off is no failure")
	require.Zero(t, f.states()[task.Failed])

	var mu sync.Mutex
	done := map[int64]int{}
	f.consumer(nil, handler("acme.report", func(_ context.Context, w media.Work) (media.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		done[w.AccountID]++
		return media.Result{}, nil
	}))
	f.awaitRun(endOfRun{State: task.RunSucceeded, Succeeded: 20})
	f.awaitOffsets("normal")
	mu.Lock()
	defer mu.Unlock()
	for account := int64(1); account <= 20; account += 2 {
		require.Equal(t, 1, done[account], "account %d was cut off and is done by the other", account)
	}
}

// flaky is a store whose transactions fail at times: some roll back, some commit and are reported as failed.
type flaky struct {
	*store.Store
	calls atomic.Int32
}

func (s *flaky) ApplyOutcomes(ctx context.Context, outcomes []ledger.Outcome) (int, error) {
	switch s.calls.Add(1) % 3 {
	case 1:
		return 0, errors.New("connection refused")
	case 2:
		if _, err := s.Store.ApplyOutcomes(ctx, outcomes); err != nil {
			return 0, err
		}
		return 0, errors.New("the connection was cut during the commit")
	default:
		return s.Store.ApplyOutcomes(ctx, outcomes)
	}
}

func TestFlow_AStoreThatFailsCostsNoCount(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	var all []task.Envelope
	for i := range int64(60) {
		all = append(all, f.envelope(i+1, "acme.report"))
	}
	f.fanOut(2, all...)
	f.consumer(func(cfg *Config, deps *Deps) {
		cfg.OutcomeBatch = 20
		deps.Store = &flaky{Store: f.store}
	}, handler("acme.report", func(_ context.Context, w media.Work) (media.Result, error) {
		if w.AccountID%4 == 0 {
			return media.Result{}, &media.Error{Class: media.Invalid}
		}
		return media.Result{}, nil
	}))
	f.awaitRun(endOfRun{State: task.RunPartial, Succeeded: 45, Failed: 15})
	f.awaitOffsets("normal")
}

func TestFlow_LanesFollowTheirRowsAtRunTime(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	var running, most atomic.Int32
	release := make(chan struct{})
	c := f.consumer(nil, handler("acme.report", func(ctx context.Context, _ media.Work) (media.Result, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for {
			was := most.Load()
			if now <= was || most.CompareAndSwap(was, now) {
				break
			}
		}
		select {
		case <-release:
			return media.Result{}, nil
		case <-ctx.Done():
			return media.Result{}, ctx.Err()
		}
	}))
	var all []task.Envelope
	for i := range int64(40) {
		all = append(all, f.envelope(i+1, "acme.report"))
	}
	urgent := f.envelope(99, "acme.report")
	urgent.Lane = "urgent"
	f.exec("UPDATE lane SET pool_size = 3 WHERE name = 'normal'")
	require.Eventually(t, func() bool { return metricsOf(t, c)["adsync_consumer_pool_capacity acme normal"] == 3 },
		patience, 10*time.Millisecond)
	// The fourth lane's topic is created by the first process that needs it.
	require.NoError(t, f.client.EnsureTopics(t.Context(),
		[]broker.Topic{{Name: f.client.TopicName("acme", "urgent"), Partitions: 2}}))
	f.fanOut(1, append(all, urgent)...)
	require.Eventually(t, func() bool { return running.Load() == 3 }, patience, 10*time.Millisecond)

	f.exec("UPDATE lane SET pool_size = 5 WHERE name = 'normal'")
	require.Eventually(t, func() bool { return running.Load() == 5 }, patience, 10*time.Millisecond)
	require.EqualValues(t, 5, most.Load(), "never more than the row allows")

	f.exec("INSERT INTO lane (media, name, pool_size, partitions) VALUES ('*', 'urgent', 1, 2)")
	require.Eventually(t, func() bool { return running.Load() == 6 }, patience, 10*time.Millisecond,
		"a new lane has workers of its own")
	close(release)
	f.awaitRun(endOfRun{State: task.RunSucceeded, Succeeded: 41})
	f.awaitOffsets("normal")
	f.awaitOffsets("urgent")

	f.exec("DELETE FROM lane WHERE name = 'normal'")
	require.Eventually(t, func() bool { return len(c.open()) == 1 }, patience, 10*time.Millisecond)
	require.NoError(t, c.Ready(t.Context()))
}
