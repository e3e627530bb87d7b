package consumer

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
)

// newVirtualFlow is newFlow in a bubble of testing/synctest, on six partitions.
func newVirtualFlow(t *testing.T) *flow {
	t.Helper()
	kafka := brokertest.NewVirtual(t)
	f := &flow{T: t, store: storetest.NewSQLite(t), run: task.NewRunID(time.Now()), kafka: kafka.Config()}
	var err error
	f.client, err = broker.New(kafka.Config(), slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.client.Close()) })
	f.exec("DELETE FROM lane")
	f.exec("INSERT INTO lane (media, name, pool_size, partitions) VALUES ('acme', 'normal', 8, 6)")
	f.partitions(6)
	require.NoError(t, f.store.EnsureLogTable(t.Context(), task.LogDay(f.run)))
	return f
}

func (f *flow) partitions(n int) {
	f.Helper()
	require.NoError(f, f.client.EnsureTopics(f.Context(),
		[]broker.Topic{{Name: f.client.TopicName("acme", "normal"), Partitions: n}}))
}

// works counts how often the work of each account was begun and finished.
type works struct {
	mu          sync.Mutex
	began, done map[task.Key]int
	inside      map[int64]int
	most        int // at a time, of one account
}

func newWorks() *works {
	return &works{began: map[task.Key]int{}, done: map[task.Key]int{}, inside: map[int64]int{}}
}

func (w *works) handler(takes time.Duration) media.Handler {
	return handler("acme.report", func(ctx context.Context, work media.Work) (media.Result, error) {
		w.mu.Lock()
		w.began[work.Key]++
		w.inside[work.AccountID]++
		w.most = max(w.most, w.inside[work.AccountID])
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.inside[work.AccountID]--
		}()
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return media.Result{}, ctx.Err()
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.done[work.Key]++
		return media.Result{}, nil
	})
}

// counts returns how many subtasks were begun, and how many finished.
func (w *works) counts() (began, done int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.began), len(w.done)
}

// takenOver reports whether a subtask that another consumer began was begun here.
func (w *works) takenOver(from *works) bool {
	from.mu.Lock()
	defer from.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range from.began {
		if w.began[key] > 0 {
			return true
		}
	}
	return false
}

// once checks that the work of each was begun once.
func (w *works) once(t *testing.T, all []task.Envelope) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range all {
		require.Equal(t, 1, w.began[e.Key], "account %d", e.AccountID)
	}
}

func (f *flow) accounts(n int64) (all []task.Envelope) {
	for account := range n {
		all = append(all, f.envelope(account+1, "acme.report"))
	}
	return all
}

func TestRolling_RestartsLoseNothingAndRedoNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newVirtualFlow(t)
		w := newWorks()
		all := f.accounts(600)
		f.fanOut(0, all...)
		next := func() *Consumer {
			return f.consumer(func(_ *Config, deps *Deps) { deps.Logger = quiet() }, w.handler(500*time.Millisecond))
		}
		live := []*Consumer{next(), next(), next()}
		sent := make(chan struct{})
		go func() { // The load continues.
			defer close(sent)
			for i := 0; i < len(all); i += 10 {
				f.send(all[i : i+10]...)
				time.Sleep(time.Second)
			}
		}()
		time.Sleep(5 * time.Second)
		for i := range live {
			live[i].Stop()
			time.Sleep(3 * time.Second)
			live[i] = next()
			time.Sleep(5 * time.Second)
		}
		<-sent
		for f.counts().State.Open() {
			time.Sleep(time.Second)
		}
		require.Equal(t, endOfRun{State: task.RunSucceeded, Succeeded: 600}, f.counts())
		w.once(t, all) // What is under way at a stop ends before its partition moves.
	})
}

func TestRolling_AKilledConsumersWorkIsDoneByOthersWithin30Seconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newVirtualFlow(t)
		deployed := func(m *machine) *broker.Client {
			cfg := broker.DefaultConfig()
			virtual := f.kafka
			cfg.Brokers, cfg.Replication, cfg.MinInsync, cfg.Dial = virtual.Brokers, 1, 1, virtual.Dial
			if m != nil {
				cfg.Dial = m.dial(virtual.Dial)
			}
			c, err := broker.New(cfg, quiet(), prometheus.NewRegistry())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close()) })
			return c
		}
		f.exec("UPDATE lane SET pool_size = 64")
		w, lost := newWorks(), newWorks()
		all := f.accounts(200)
		f.fanOut(0, all...)
		m := &machine{Store: f.store}
		doomed := f.consumer(func(cfg *Config, deps *Deps) {
			*cfg = DefaultConfig()
			cfg.Subscriptions = []string{"acme:*"}
			deps.Logger, deps.Broker, deps.Store = quiet(), deployed(m), m
		}, lost.handler(time.Hour))
		// The survivor works for long, too: it needs its drain before it gets the partitions.
		f.consumer(func(cfg *Config, deps *Deps) {
			*cfg = DefaultConfig()
			cfg.Subscriptions = []string{"acme:*"}
			deps.Logger, deps.Broker = quiet(), deployed(nil)
		}, w.handler(8*time.Second))
		time.Sleep(20 * time.Second)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for i := 0; i < len(all); i += 5 {
				f.send(all[i : i+5]...)
				time.Sleep(time.Second)
			}
		}()
		time.Sleep(3 * time.Second)
		began, _ := lost.counts()
		require.NotZero(t, began)
		m.die()
		died := time.Now()
		for !w.takenOver(lost) {
			require.Less(t, time.Since(died), time.Minute)
			time.Sleep(100 * time.Millisecond)
		}
		require.Less(t, time.Since(died), 30*time.Second)
		t.Log("took", time.Since(died))
		go doomed.Stop()
		<-sent
		for f.counts().State.Open() {
			time.Sleep(time.Second)
		}
		require.Equal(t, endOfRun{State: task.RunSucceeded, Succeeded: 200}, f.counts())
	})
}

func TestRolling_MorePartitionsUnderLoadLoseNothingAndSerialHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newVirtualFlow(t)
		r := redistest.NewVirtual(t)
		w := newWorks()
		for range 2 {
			f.consumer(func(_ *Config, deps *Deps) {
				deps.Logger, deps.Redis, deps.Keys = quiet(), r.Client(t), redis.NewKeys("test")
			}, w.handler(time.Second))
		}
		// Each account has a subtask in each of many parts, which run one after the other.
		const accounts, parts = 20, 15
		var rounds [parts][]task.Envelope
		var all []task.Envelope
		for part := range rounds {
			for account := range int64(accounts) {
				e := f.envelope(account+1, "acme.report")
				e.Part, e.Concurrency = string(rune('a'+part)), task.Serial
				rounds[part] = append(rounds[part], e)
			}
			all = append(all, rounds[part]...)
		}
		f.fanOut(0, all...)
		time.Sleep(10 * time.Second)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for part := range rounds {
				f.send(rounds[part]...)
				time.Sleep(time.Second)
			}
		}()
		time.Sleep(4 * time.Second)
		f.partitions(12)
		<-sent
		began := time.Now()
		for f.counts().State.Open() {
			require.Less(t, time.Since(began), 10*time.Minute)
			time.Sleep(time.Second)
			f.resend(func(e *task.Envelope) { e.Concurrency = task.Serial })
		}
		require.Equal(t, endOfRun{State: task.RunSucceeded, Succeeded: accounts * parts}, f.counts())
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Equal(t, 1, w.most, "of one account one at a time, also while its messages lie in two partitions")
		used := map[int]bool{}
		offsets, err := f.client.Offsets(t.Context(), f.client.GroupName("acme", "normal"),
			f.client.TopicName("acme", "normal"))
		require.NoError(t, err)
		for _, p := range offsets {
			if p.End > 0 {
				used[p.Partition] = true
			}
		}
		require.Greater(t, len(used), 6)
	})
}

func TestRolling_PoisonBlocksNothing(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	var all, poison []task.Envelope
	for account := range int64(60) {
		e := f.envelope(account+1, "acme.report")
		switch account % 6 {
		case 1:
			e.Handler = "acme.panics"
			poison = append(poison, e)
		case 3:
			e.Concurrency = "unheard of"
			poison = append(poison, e)
		}
		all = append(all, e)
	}
	f.fanOut(0, all...)
	// Between them lie messages that no program of ours has written.
	var messages []broker.Message
	for _, e := range all {
		m := *message(e, "\x00{not json")
		m.Topic, m.Key = f.client.TopicName(e.Media, e.Lane), []byte{byte(e.AccountID)}
		messages = append(messages, m,
			broker.Message{Topic: m.Topic, Key: m.Key, Value: []byte("garbage")},
			broker.Message{Topic: m.Topic, Key: m.Key, Headers: []broker.Header{{Key: "adsync-version",
				Value: []byte{0xff, 0x00}}}})
	}
	_, err := f.client.Write(t.Context(), messages)
	require.NoError(t, err)
	f.consumer(nil,
		handler("acme.report", func(context.Context, media.Work) (media.Result, error) { return media.Result{}, nil }),
		handler("acme.panics", func(context.Context, media.Work) (media.Result, error) { panic("index out of range") }),
	)
	f.awaitRun(endOfRun{State: task.RunPartial, Succeeded: 40, Failed: len(poison)})
	f.awaitOffsets("normal")
	var dead []string
	require.NoError(t,
		f.store.Data.Writer(t.Context()).Raw("SELECT DISTINCT error_text FROM subtask_dead ORDER BY error_text").Scan(
			&dead).Error)
	require.Len(t, dead, 2)
	require.Contains(t, dead[0], "panic: index out of range")
	require.Contains(t, dead[1], `its message cannot be read: header task: concurrency "unheard of"`)
}

// slow is a store that blocks outcomes for a while.
type slow struct {
	Store
	hold chan struct{}
}

func (s slow) ApplyOutcomes(ctx context.Context, outcomes []ledger.Outcome) (int, error) {
	select {
	case <-s.hold:
		return s.Store.ApplyOutcomes(ctx, outcomes)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func TestRolling_AStoreThatStallsStopsTheWorkAndNotTheMembership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newVirtualFlow(t)
		registry := prometheus.NewRegistry()
		client, err := broker.New(f.kafka, quiet(), registry)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		w, hold := newWorks(), make(chan struct{})
		all := f.accounts(300)
		f.fanOut(0, all...)
		f.consumer(func(cfg *Config, deps *Deps) {
			cfg.OutcomeBatch = 10
			deps.Logger, deps.Store, deps.Broker = quiet(), slow{f.store, hold}, client
		}, w.handler(100*time.Millisecond))
		f.send(all...)
		time.Sleep(2 * time.Minute)
		// Batches are being written, the queue is full, and each slot waits with its outcome.
		const bound = outcomeWriters*10 + outcomeQueue*10 + 8
		began, done := w.counts()
		require.LessOrEqual(t, done, bound, "nothing piles up")
		require.Equal(t, began, done, "and no call is spent on what cannot be written")
		require.EqualValues(t, 1, sum(t, registry, "adsync_broker_rebalances_total"), "heartbeats continue")
		close(hold)
		for f.counts().State.Open() {
			time.Sleep(time.Second)
		}
		require.Equal(t, endOfRun{State: task.RunSucceeded, Succeeded: 300}, f.counts())
		w.once(t, all)
	})
}

// sum adds up a metric over its labels.
func sum(t *testing.T, registry *prometheus.Registry, name string) (total float64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return total
}
