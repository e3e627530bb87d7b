package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/service"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
)

var acmeNormal = laneName{"acme", "normal"}

// journal records events in their order.
type journal struct {
	mu     sync.Mutex
	events []string
}

func (j *journal) note(event string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event)
}

// noting is a store that records each write in the journal.
type noting struct {
	*fakeStore
	*journal
}

func (n noting) ApplyOutcomes(ctx context.Context, outcomes []ledger.Outcome) (int, error) {
	n.note("write outcomes")
	return n.fakeStore.ApplyOutcomes(ctx, outcomes)
}

func TestConsumer_StopsInTheOrderOfTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := &journal{}
		c, s, k := newFaked(t, handler("acme.report", func(ctx context.Context, _ media.Work) (media.Result, error) {
			select {
			case <-time.After(5 * time.Second):
				events.note("work ends")
				return media.Result{}, nil
			case <-ctx.Done():
				return media.Result{}, ctx.Err()
			}
		}))
		c.outcomes.store = noting{s, events}
		require.NoError(t, c.Start(t.Context()))
		p, m := c.open()[0], k.member(acmeNormal)
		m.log = events.note
		underWay := m.deliver(message(s.wants(envelope(1)), ""))
		synctest.Wait()

		began := time.Now()
		c.Stop()
		require.Equal(t, []string{"stop reading", "work ends", "write outcomes", "commit", "leave"}, events.events)
		require.EqualValues(t, 1, underWay.done.Load())
		require.Equal(t, 5*time.Second+c.cfg.OutcomeInterval, time.Since(began), "a stop takes no longer than the work")
		require.True(t, p.workers.IsClosed(), "the pools are released last")
		c.Stop()
		require.Error(t, c.Start(t.Context()), "a stopped consumer stays stopped")
	})
}

func TestConsumer_CutsOffWorkThatOutlastsTheDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 9)
		c, s, k := newFaked(t, handler("acme.report", func(ctx context.Context, _ media.Work) (media.Result, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return media.Result{}, &media.Error{Class: media.Invalid, Message: "whatever a call says that was cut off"}
		}))
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		var all []*fakeEnding
		for i := range int64(4) {
			all = append(all, m.deliver(message(s.wants(envelope(i+1)), "")))
		}
		waiting := make(chan *fakeEnding, 1)
		go func() { waiting <- m.deliver(message(s.wants(envelope(9)), "")) }()
		synctest.Wait()
		require.Empty(t, waiting, "the pool has four slots")

		began := time.Now()
		c.Stop()
		require.Equal(t, c.cfg.DrainTimeout, time.Since(began))
		for range all {
			require.ErrorIs(t, <-causes, errDrained)
		}
		for _, e := range append(all, <-waiting) {
			require.EqualValues(t, 1, e.abandoned.Load(), "it comes again")
			require.Zero(t, e.done.Load())
		}
		require.Empty(t, s.written(), "what was cut off has no outcome")
	})
}

// A stop ends within the time that the process gives a part, because the process fails otherwise. It must need a moment
// less, as Kafka and Redis may not answer either.
func TestConsumer_StopsInTimeThoughTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t)
		kafka := b.Client(t, func(cfg *broker.Config) {
			shipped := broker.DefaultConfig()
			cfg.SessionTimeout, cfg.RebalanceTimeout, cfg.DrainTimeout = shipped.SessionTimeout, shipped.RebalanceTimeout,
				shipped.DrainTimeout
		})
		begun, end := make(chan struct{}), make(chan struct{})
		c, s, _ := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
			close(begun)
			<-end
			return media.Result{}, nil
		}))
		c.kafka = client{kafka}
		require.NoError(t, c.Start(t.Context()))
		m := *message(s.wants(envelope(1)), "")
		m.Topic = kafka.TopicName("acme", "normal")
		_, err := kafka.Write(t.Context(), []broker.Message{m})
		require.NoError(t, err)
		<-begun
		s.set(func(f *fakeStore) { f.hold = make(chan struct{}) })
		close(end)
		synctest.Wait()
		began := time.Now()
		c.Stop()
		require.LessOrEqual(t, time.Since(began), service.StopTimeoutDefault-2*time.Second)
	})
}

func TestConsumer_StopsBeforeStart(t *testing.T) {
	t.Parallel()
	c, _, _ := newFaked(t)
	c.Stop()
	c.Stop()
	require.Error(t, c.Start(t.Context()))
}

func TestConsumer_StartNeedsTheLanes(t *testing.T) {
	t.Parallel()
	c, s, _ := newFaked(t)
	s.fail = errors.New("connection refused")
	require.ErrorContains(t, c.Start(t.Context()), "connection refused")
	c.Stop()

	c, _, k := newFaked(t, handler("acme.report", nil))
	k.refuse[acmeNormal] = errors.New("no leader")
	require.ErrorContains(t, c.Start(t.Context()), "open acme:normal: no leader")
}

func TestConsumer_FollowsTheTableLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s, k := newFaked(t, handler("acme.report", nil), handler("zeta.report", nil))
		c.cfg.Subscriptions = []string{"acme:*", "*:normal"}
		s.lanes = []settings.Lane{
			{Media: "acme", Name: "normal", PoolSize: 7, Partitions: 3},
			{Media: settings.AnyMedia, Name: "important", PoolSize: 64},
			{Media: settings.AnyMedia, Name: "normal", PoolSize: 32},
		}
		sizes := func() map[laneName]int {
			out := map[laneName]int{}
			for _, p := range c.open() {
				_, out[p.name] = p.slots.state()
			}
			return out
		}
		change := func(lanes ...settings.Lane) {
			s.set(func(f *fakeStore) { f.lanes = lanes })
			time.Sleep(c.cfg.PoolReload)
			synctest.Wait()
		}
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop()
		require.Equal(t, map[laneName]int{
			{"acme", "normal"}: 7, {"acme", "important"}: 64, {"zeta", "normal"}: 32, {"system", "normal"}: 32,
		}, sizes(), "a row that names its media overrides the default, and subscriptions choose")
		require.Equal(t, 3, k.ensured[acmeNormal])

		change(
			settings.Lane{Media: settings.AnyMedia, Name: "important", PoolSize: 2},
			settings.Lane{Media: "acme", Name: "bulk", PoolSize: 5},
			settings.Lane{Media: "acme", Name: "normal", PoolSize: -3},
		)
		require.Equal(t, map[laneName]int{{"acme", "important"}: 2, {"acme", "bulk"}: 5, acmeNormal: 7}, sizes(),
			"sizes change, new lanes come, lanes without a row go, and a bad size keeps the last good one")
		require.True(t, k.member(laneName{"zeta", "normal"}).stopped.Load())
		require.ErrorContains(t, c.Ready(t.Context()), "lane acme:normal: pool_size -3")

		k.refuse[laneName{"acme", "bad name"}] = errors.New("invalid topic")
		change(
			settings.Lane{Media: "acme", Name: "bad name", PoolSize: 1},
			settings.Lane{Media: "acme", Name: "normal", PoolSize: 0},
			settings.Lane{Media: "acme", Name: "other", PoolSize: 1},
		)
		require.Equal(t, map[laneName]int{{"acme", "other"}: 1}, sizes(),
			"a lane that cannot be opened harms no other; size 0 closes one")
		require.ErrorContains(t, c.Ready(t.Context()), "open acme:bad name: invalid topic")

		s.set(func(f *fakeStore) { f.fail = errors.New("connection refused") })
		change(s.lanes...)
		require.Len(t, sizes(), 1, "without the table nothing changes")
		s.set(func(f *fakeStore) { f.fail = nil })
		change(settings.Lane{Media: "acme", Name: "other", PoolSize: 1})
		require.NoError(t, c.Ready(t.Context()))
	})
}

func TestConsumer_CallsAreAsImportantAsTheirLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := 0
		c, s, k := newFaked(t, handler("acme.report", func(ctx context.Context, _ media.Work) (media.Result, error) {
			seen = ratelimit.Importance(ctx)
			return media.Result{}, nil
		}))
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop()
		for i, row := range []int{0, 35, -1} {
			s.set(func(f *fakeStore) { f.lanes[0].Importance = row })
			time.Sleep(c.cfg.PoolReload)
			synctest.Wait()
			k.member(acmeNormal).deliver(message(s.wants(envelope(int64(i))), ""))
			synctest.Wait()
			require.Equal(t, []int{20, 35, 20}[i], seen, "as its row says, or its name")
		}
		e := envelope(9)
		e.Spare = true
		k.member(acmeNormal).deliver(message(s.wants(e), ""))
		synctest.Wait()
		require.Equal(t, ratelimit.ImportanceSpare, seen, "of a run that is to have spare calls alone")
	})
}

// Calls of one minute go in the order of the accounts, which is the same at each tick.
func TestConsumer_CallsHaveTheirTurnByMinuteAndAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ranks := map[int64]ratelimit.Rank{}
		c, s, k := newFaked(t, handler("acme.report", func(ctx context.Context, w media.Work) (media.Result, error) {
			ranks[w.AccountID] = ratelimit.RankOf(ctx)
			return media.Result{}, nil
		}))
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop()
		minute := time.Now().Truncate(time.Minute).Add(time.Minute)
		time.Sleep(time.Until(minute))
		for _, account := range []int64{3, 1, 2} {
			k.member(acmeNormal).deliver(message(s.wants(envelope(account)), ""))
			synctest.Wait()
			time.Sleep(25 * time.Second)
		}
		require.Len(t, ranks, 3)
		for account, rank := range ranks {
			require.Equal(t, account, rank.Number)
			require.True(t, rank.At.Equal(minute), "account %d: %s", account, rank.At)
		}
		k.member(acmeNormal).deliver(message(s.wants(envelope(4)), ""))
		synctest.Wait()
		require.True(t, ranks[4].At.Equal(minute.Add(time.Minute)), "%s", ranks[4].At)
	})
}

// However large the pool is, few subtasks begin at a time. Those that wait for a limit or hang do not count.
func TestConsumer_FewSubtasksBeginAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const all = 3 * beginningMax
		waiter := ratelimit.NewLocal(100*time.Millisecond, grant.NewRules(), nil)
		var begun atomic.Int64
		begins, calls, deaf := make(chan struct{}), make(chan struct{}), make(chan struct{})
		c, s, k := newFaked(t, handler("acme.report", func(ctx context.Context, w media.Work) (media.Result, error) {
			begun.Add(1)
			if w.AccountID <= beginningMax {
				<-deaf // to the end of its time
			}
			<-begins
			_, err := waiter.Wait(ctx, grant.Call{Media: "acme"})
			<-calls
			return media.Result{}, err
		}))
		s.lanes[0].PoolSize = 2 * all
		require.NoError(t, c.Start(t.Context()))
		deliver := func(from, to int64) {
			for account := from; account <= to; account++ {
				e := envelope(account)
				e.Timeout = time.Minute
				k.member(acmeNormal).deliver(message(s.wants(e), ""))
			}
			synctest.Wait()
		}
		deliver(1, beginningMax)
		require.EqualValues(t, beginningMax, begun.Load())
		deliver(beginningMax+1, all)
		require.EqualValues(t, beginningMax, begun.Load(), "the others wait with their slots")
		time.Sleep(time.Minute + hangGrace)
		synctest.Wait()
		require.EqualValues(t, 2*beginningMax, begun.Load(), "who hangs is given up")
		begins <- struct{}{}
		synctest.Wait()
		require.EqualValues(t, 2*beginningMax+1, begun.Load(), "who waits for a limit makes room")
		close(begins)
		synctest.Wait()
		require.EqualValues(t, all, begun.Load())
		close(calls)
		close(deaf)
		c.Stop()
	})
}

func TestConsumer_ReadsMessagesItCannotWorkOn(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC)
	set := func(m *broker.Message, name, value string) *broker.Message {
		for i := range m.Headers {
			if m.Headers[i].Key == name {
				m.Headers[i].Value = []byte(value)
			}
		}
		return m
	}
	setTask := func(m *broker.Message, name string, value any) *broker.Message {
		for i := range m.Headers {
			if m.Headers[i].Key == "task" {
				fields := map[string]any{}
				require.NoError(t, json.Unmarshal(m.Headers[i].Value, &fields))
				fields[name] = value
				var err error
				m.Headers[i].Value, err = json.Marshal(fields)
				require.NoError(t, err)
			}
		}
		return m
	}
	for _, tt := range []struct {
		name string
		msg  *broker.Message
		want task.State // "" for a message that ends without an outcome
		text string
	}{
		{"without headers", &broker.Message{Value: []byte("x")}, "", ""},
		{"without a number for its run", set(message(envelope(1), ""), "run", "x"), "", ""},
		{"with an impossible delivery", set(message(envelope(1), ""), "delivery", "99999999999"), "", ""},
		{"with an impossible attempt", set(message(envelope(1), ""), "attempt", "-1"), "", ""},
		{"with a part that is no text", set(message(envelope(1), ""), "part", "\xff"), "", ""},
		{"with a part that is too long", set(message(envelope(1), ""), "part", strings.Repeat("d", 97)), "", ""},
		{"with a broken deadline", setTask(message(envelope(1), ""), "deadline", "tomorrow"), task.Failed,
			`header task: parsing time "tomorrow"`},
		{"of a newer version", set(message(envelope(1), ""), "adsync-version", "3"), task.Deferred,
			`envelope version "3", this program reads 1 to 2`},
		{"of a newer version with other fields", set(set(message(envelope(1), ""), "adsync-version", "3"), "task", "5s"),
			task.Deferred, "envelope version"},
		{"of a newer version without a key", set(set(message(envelope(1), ""), "adsync-version", "3"), "run", ""), "", ""},
		{"for an unknown handler", setTask(message(envelope(1), ""), "handler", "acme.new"), task.Deferred,
			`no handler "acme.new" in this consumer`},
		{"whose time to live is over", setTask(message(envelope(1), ""), "deadline", "2020-01-01T00:00:00Z"), task.Expired,
			"its time to live ended 2020-01-01T00:00:00Z"},
		{"whose time to live ends before it could be put off",
			setTask(setTask(message(envelope(1), ""), "handler", "acme.new"), "deadline",
				time.Now().Add(30*time.Second).Format(time.RFC3339Nano)), task.Expired, "its time to live ends"},
		{"for an unknown handler with time to wait", setTask(setTask(message(envelope(1), ""), "handler", "acme.new"),
			"deadline", deadline.Format(time.RFC3339Nano)), task.Deferred, "no handler"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
				return media.Result{}, errors.New("it must not run")
			}))
			require.NoError(t, c.Start(t.Context()))
			e := k.member(acmeNormal).deliver(tt.msg)
			c.Stop()
			require.EqualValues(t, 1, e.done.Load(), "it holds up nothing")
			if tt.want == "" {
				require.Empty(t, s.written())
				return
			}
			require.Len(t, s.written(), 1)
			o := s.written()[0]
			require.Equal(t, tt.want, o.State)
			require.Contains(t, o.ErrorText, tt.text)
			require.Equal(t, envelope(1).Key, o.Key)
			require.Equal(t, []string{"acme", "normal", "n1"}, []string{o.Media, o.Lane, o.Node})
			if tt.want == task.Deferred {
				require.WithinRange(t, o.DueAt, o.EndedAt.Add(unknownWait), o.EndedAt.Add(unknownWait+30*time.Second))
				require.Zero(t, o.Attempt)
			}
		})
	}
}

func TestConsumer_AsksTheRowBeforeItWorks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		row  *ledger.SubtaskStatus
		runs int
		end  string
	}{
		{"waiting for this delivery", &ledger.SubtaskStatus{State: task.Waiting, Delivery: 2}, 1, "succeeded"},
		{"waiting for a later delivery", &ledger.SubtaskStatus{State: task.Waiting, Delivery: 3}, 0, endRepeated},
		{"waiting for its retry", &ledger.SubtaskStatus{State: task.Retrying, Delivery: 2}, 0, endRepeated},
		{"cancelled", &ledger.SubtaskStatus{State: task.Cancelled, Delivery: 2}, 0, endRepeated},
		{"gone", nil, 0, endMissing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var works []media.Work
			c, s, k := newFaked(t, handler("acme.report", func(_ context.Context, w media.Work) (media.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				works = append(works, w)
				return media.Result{Rows: 5, Calls: 2, Files: []task.File{{ID: "9"}}}, nil
			}))
			e := envelope(1)
			e.Delivery, e.Attempt, e.Confirmed, e.Compare = 2, 1, true, true
			if tt.row != nil {
				s.states[e.Key] = *tt.row
			}
			require.NoError(t, c.Start(t.Context()))
			m := k.member(acmeNormal)
			msg := m.deliver(message(e, `{"level":"account"}`))
			require.Eventually(t, func() bool { return msg.done.Load() == 1 }, 5*time.Second, time.Millisecond)
			again := m.deliver(message(e, `{"level":"account"}`))
			require.EqualValues(t, 1, again.done.Load(), "a message that comes again is answered from memory")
			c.Stop()
			require.Len(t, s.asked, 1)
			require.Len(t, works, tt.runs)
			want := map[string]float64{tt.end: 1}
			want[endRepeated]++
			for end, n := range want {
				require.Equal(t, n, metricsOf(t, c)["adsync_consumer_subtasks_total acme normal "+end])
			}
			if tt.runs == 0 {
				require.Empty(t, s.written())
				return
			}
			require.Equal(t, media.Work{Key: e.Key, TaskID: 7, TaskName: "report", Delivery: 2, Attempt: 1,
				PlannedAt: e.PlannedAt, Params: []byte(`{"level":"account"}`), Confirmed: true, Compare: true},
				works[0])
			require.Len(t, s.written(), 1)
			o := s.written()[0]
			require.Equal(t, []int{5, 2, 2, 1}, []int{o.Rows, o.Calls, o.Delivery, o.Attempt})
			require.Equal(t, []task.File{{ID: "9"}}, o.Files)
		})
	}
}

func TestConsumer_BoundsAndSurvivesItsHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 1)
		c, s, k := newFaked(t,
			handler("acme.slow", func(ctx context.Context, _ media.Work) (media.Result, error) {
				began := time.Now()
				<-ctx.Done()
				took <- time.Since(began)
				return media.Result{Calls: 3}, ctx.Err()
			}),
			handler("acme.panics", func(context.Context, media.Work) (media.Result, error) { panic("index out of range") }),
		)
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		run := func(e task.Envelope) ledger.Outcome {
			before := len(s.written())
			msg := m.deliver(message(s.wants(e), ""))
			time.Sleep(time.Hour)
			synctest.Wait()
			require.EqualValues(t, 1, msg.done.Load())
			require.Len(t, s.written(), before+1)
			return s.written()[before]
		}
		slow := envelope(1)
		slow.Handler, slow.Timeout, slow.RetryBase = "acme.slow", 30*time.Second, 10*time.Second
		o := run(slow)
		require.Equal(t, 30*time.Second, <-took)
		require.Equal(t, task.Retrying, o.State)
		require.Equal(t, "not done within 30s: context deadline exceeded", o.ErrorText)
		require.Equal(t, []int{1, 3}, []int{o.Attempt, o.Calls})
		require.Equal(t, 5*time.Second, o.DueAt.Sub(o.EndedAt))
		require.Equal(t, 30*time.Second, o.EndedAt.Sub(o.StartedAt))

		slow.AccountID, slow.Timeout = 2, 0
		run(slow)
		require.Equal(t, timeoutDefault, <-took, "no handler keeps its slot forever")

		slow.AccountID, slow.Deadline = 3, time.Now().Add(time.Minute)
		o = run(slow)
		require.Equal(t, time.Minute, <-took, "nothing runs beyond its time to live")
		require.Equal(t, task.Expired, o.State)

		panics := envelope(4)
		panics.Handler = "acme.panics"
		o = run(panics)
		require.Equal(t, task.Failed, o.State)
		require.Equal(t, "bug", o.ErrorClass)
		require.Equal(t, "bug error: panic: index out of range", o.ErrorText)
		require.EqualValues(t, 1, metricsOf(t, c)["adsync_consumer_panics_total acme.panics"])
		require.EqualValues(t, 3, metricsOf(t, c)["adsync_consumer_subtask_seconds acme acme.slow"])
		used, _ := c.open()[0].slots.state()
		require.Zero(t, used)
		c.Stop()
	})
}

func TestConsumer_ShowsItsPools(t *testing.T) {
	t.Parallel()
	c, _, _ := newFaked(t, handler("acme.report", nil))
	require.NoError(t, c.Start(t.Context()))
	defer c.Stop()
	got := metricsOf(t, c)
	require.EqualValues(t, 4, got["adsync_consumer_pool_capacity acme normal"])
	require.Contains(t, got, "adsync_consumer_pool_running acme normal")
	require.Contains(t, got, "adsync_consumer_outcomes_waiting")
}

// However many subtasks wait for one endpoint's limit, those of another do not wait for them, nor does waiting cost
// an attempt.
func TestConsumer_WhatWaitsForALimitHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = 300
		rules := grant.NewRules()
		require.NoError(t,
			rules.Set([]grant.Rule{{Media: "acme", Endpoint: "slow", Scope: grant.ScopePlatform, Period: time.Second, Limit: 10,
				Share: 1}}))
		waiter := ratelimit.NewLocal(100*time.Millisecond, rules, nil)
		c, s, k := newFaked(t, handler("acme.report", func(ctx context.Context, w media.Work) (media.Result, error) {
			call := grant.Call{Media: "acme", Endpoint: "slow"}
			if w.AccountID > slow {
				call.Endpoint = "quick"
			}
			_, err := waiter.Wait(ctx, call)
			if late, ok := errors.AsType[*ratelimit.WaitError](err); ok {
				err = &media.DeferError{After: late.After, Reason: late.Error()}
			}
			return media.Result{}, err
		}))
		s.lanes[0].PoolSize = 32
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop()
		began := time.Now()
		var messages []*fakeEnding
		for account := int64(1); account <= slow+20; account++ {
			messages = append(messages, k.member(acmeNormal).deliver(message(s.wants(envelope(account)), "")))
		}
		time.Sleep(6 * time.Second)
		quick := 0
		for _, o := range s.written() {
			require.Equal(t, task.Succeeded, o.State)
			if o.AccountID > slow {
				quick++
			}
		}
		require.Equal(t, 20, quick, "they wait for nothing, though the pool is of 32")

		// No more is read until some of them have ended.
		for _, m := range messages {
			m.holdsUp.Store(true)
		}
		time.Sleep(3 * time.Second)
		var due []time.Duration
		for _, o := range s.written() {
			if o.State == task.Deferred {
				require.Zero(t, o.Attempt)
				due = append(due, o.DueAt.Sub(began))
			}
		}
		require.InDelta(t, slow-10*8, len(due), 40, "but for those whose turn is near")
		slices.Sort(due)
		require.InDelta(t, slow/10, due[len(due)-1].Seconds(), slow/10/3,
			"they come back one after the other, as the limit lets them")
	})
}
