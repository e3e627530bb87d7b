package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
)

// machine holds the connections of a consumer's process, until the process dies.
type machine struct {
	Store
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

func (m *machine) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, conn := range m.conns {
		_ = conn.Close()
	}
}

func (m *machine) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errors.New("the process is dead")
	}
	return nil
}

func (m *machine) dial(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string,
	string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := m.alive(); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err == nil {
			m.mu.Lock()
			m.conns = append(m.conns, conn)
			m.mu.Unlock()
		}
		return conn, err
	}
}

func (m *machine) SubtaskStates(ctx context.Context, keys []task.Key) (map[task.Key]ledger.SubtaskStatus, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.Store.SubtaskStates(ctx, keys)
}

func (m *machine) ApplyOutcomes(ctx context.Context, outcomes []ledger.Outcome) (int, error) {
	if err := m.alive(); err != nil {
		return 0, err
	}
	return m.Store.ApplyOutcomes(ctx, outcomes)
}

func (m *machine) RecordStarts(ctx context.Context, group, holder string, startsMax int,
	starts []ledger.Start) ([]ledger.Assignment, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.Store.RecordStarts(ctx, group, holder, startsMax, starts)
}

func (m *machine) RecordStops(ctx context.Context, group, holder string, stops []ledger.Stop) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.RecordStops(ctx, group, holder, stops)
}

func (m *machine) RecordSuspect(ctx context.Context, group, holder, topic string, partition int, offset int64) (int,
	error) {
	if err := m.alive(); err != nil {
		return 0, err
	}
	return m.Store.RecordSuspect(ctx, group, holder, topic, partition, offset)
}

// Only the subtask of a message that ends every process that works on it becomes dead. The subtasks around it, in its
// partition and in others, are done.
func TestCareful_AMessageThatEndsItsProcessIsDeadInTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		killer int64
		renews int // how often its partition may get on before its process ends; each resets the count of starts
	}{
		{"it comes at once, so that no partition gets on", 1, 0},
		{"it comes after others", 17, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { killsItsProcess(t, tt.killer, tt.renews) })
		})
	}
}

func killsItsProcess(t *testing.T, killer int64, renews int) {
	t.Helper()
	kafka := brokertest.NewVirtual(t)
	f := &flow{T: t, store: storetest.NewSQLite(t), run: task.NewRunID(time.Now())}
	cfg := kafka.Config()
	cfg.Partitions = 2
	client := func(m *machine) *broker.Client {
		own := cfg
		if m != nil {
			own.Dial = m.dial(cfg.Dial)
		}
		c, err := broker.New(own, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		require.NoError(t, err)
		return c
	}
	f.client = client(nil)
	f.exec("DELETE FROM lane")
	f.exec("INSERT INTO lane (media, name, pool_size, partitions) VALUES ('acme', 'normal', 8, 2)")
	require.NoError(t, f.client.EnsureTopics(t.Context(),
		[]broker.Topic{{Name: f.client.TopicName("acme", "normal"), Partitions: 2}}))
	require.NoError(t, f.store.EnsureLogTable(t.Context(), task.LogDay(f.run)))

	var all []task.Envelope
	for account := range int64(40) {
		all = append(all, f.envelope(account+1, "acme.report"))
	}
	f.fanOut(1, all...)

	var deaths atomic.Int32
	end := make(chan struct{}) // lets the goroutines of dead processes go
	var live *Consumer
	var killed chan struct{}
	start := func() *broker.Client {
		m := &machine{Store: f.store}
		killed = make(chan struct{})
		died, kafka := killed, client(m)
		consumerConfig := DefaultConfig()
		consumerConfig.Subscriptions = []string{"acme:*"}
		consumerConfig.DrainTimeout = 2 * time.Second
		var err error
		live, err = New(consumerConfig, Deps{
			Store: m, Registry: media.NewRegistry(handler("acme.report",
				func(ctx context.Context, w media.Work) (media.Result, error) {
					if w.AccountID == killer {
						time.Sleep(300 * time.Millisecond) // Meanwhile others begin, and have not ended at the death.
						deaths.Add(1)
						m.die()
						close(died)
						<-end
						return media.Result{}, nil
					}
					select {
					case <-time.After(time.Second):
						return media.Result{}, nil
					case <-ctx.Done():
						return media.Result{}, ctx.Err()
					}
				})),
			Broker: kafka, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
			Node: fmt.Sprint("n", deaths.Load()), Keys: redis.NewKeys("test"),
		})
		require.NoError(t, err)
		require.NoError(t, live.Start(t.Context()))
		return kafka
	}
	began := time.Now()
	var dead sync.WaitGroup
	for f.counts().State.Open() {
		require.Less(t, time.Since(began), 10*time.Minute, "%v after %d deaths", f.states(), deaths.Load())
		kafka := start()
		gone, c := killed, live
		timeout := time.Now().Add(3 * time.Minute)
		for alive := true; alive && f.counts().State.Open(); {
			require.True(t, time.Now().Before(timeout), "%v after %d deaths", f.states(), deaths.Load())
			select {
			case <-gone:
				alive = false
			case <-time.After(500 * time.Millisecond):
			}
		}
		dead.Go(func() {
			<-end
			c.Stop()
			_ = kafka.Close()
		})
	}
	require.Equal(t, endOfRun{State: task.RunPartial, Succeeded: 39, Failed: 1}, f.counts())
	require.GreaterOrEqual(t, int(deaths.Load()), startsMax+deathsMax)
	require.LessOrEqual(t, int(deaths.Load()), (1+renews)*startsMax+deathsMax)
	var got struct {
		AccountID             int64
		ErrorClass, ErrorText string
	}
	require.NoError(t,
		f.store.Data.Writer(t.Context()).Raw("SELECT account_id, error_class, error_text FROM subtask_dead").Scan(&got).Error)
	require.Equal(t, killer, got.AccountID)
	require.Equal(t, "bug", got.ErrorClass)
	require.Equal(t, "its process ended each of the 3 times that this subtask ran alone", got.ErrorText)
	require.EqualValues(t, 1, metricsOf(t, live)["adsync_consumer_process_killers_total"])
	close(end)
	dead.Wait()
	_ = f.client.Close()
}

// carefulStore knows one partition that needs care, and others that do not.
type carefulStore struct {
	*fakeStore
	others []ledger.Assignment
	fail   error
	hangs  bool // at the end
	stops  chan []ledger.Stop

	noting  sync.Mutex
	offsets []int64 // noted
}

func (s *carefulStore) RecordStarts(context.Context, string, string, int, []ledger.Start) ([]ledger.Assignment, error) {
	known := []ledger.Assignment{{Topic: "t", Partition: 0, Committed: 5, Starts: 4, CarefulUntil: 8, SuspectOffset: -1}}
	return append(known, s.others...), s.fail
}

func (s *carefulStore) RecordSuspect(_ context.Context, _, _, _ string, _ int, offset int64) (int, error) {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.offsets = append(s.offsets, offset)
	return 1, s.fail
}

func (s *carefulStore) RecordStops(ctx context.Context, _, _ string, stops []ledger.Stop) error {
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	s.stops <- stops
	return s.fail
}

func TestCareful_SuspectsGoOneByOneAndOthersAsEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		c, s, k := newFaked(t, at.working(time.Second))
		cs := &carefulStore{fakeStore: s, stops: make(chan []ledger.Stop, 1)}
		c.deps.Store = cs
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		list := []broker.Assignment{{Topic: "t", Partition: 0, Committed: 5, Reach: 8}}
		end := m.assigned.begin(t.Context(), list)
		require.EqualValues(t, 1, metricsOf(t, c)["adsync_consumer_careful_partitions acme normal"])
		var partition sync.WaitGroup
		partition.Go(func() {
			for offset := range int64(6) {
				msg := message(s.wants(envelope(offset+1)), "")
				msg.Offset = 5 + offset
				m.deliver(msg)
			}
		})
		for range 3 {
			synctest.Wait()
			require.Equal(t, 1, at.now())
			time.Sleep(time.Second + c.cfg.OutcomeInterval)
		}
		synctest.Wait()
		require.Equal(t, 3, at.now(), "behind the span all is as ever")
		partition.Wait()
		end(t.Context())
		require.Equal(t, []ledger.Stop{{Topic: "t", Partition: 0, Committed: 5, CutOff: -1}}, <-cs.stops)
		c.Stop()
	})
}

func TestCareful_EndsWithTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		c, s, k := newFaked(t, at.working(time.Second))
		cs := &carefulStore{fakeStore: s, stops: make(chan []ledger.Stop, 1)}
		cs.others = []ledger.Assignment{{Topic: "t", Partition: 1, Committed: 7, Starts: 4, CarefulUntil: 1031,
			SuspectOffset: -1}}
		c.deps.Store = cs
		k.logs = map[int]int64{0: 6, 1: 7}
		require.NoError(t, c.Start(t.Context()))
		careful := func() float64 { return metricsOf(t, c)["adsync_consumer_careful_partitions acme normal"] }
		m := k.member(acmeNormal)
		end := m.assigned.begin(t.Context(), nil)
		require.EqualValues(t, 1, careful(), "in the other one nothing waits")
		msg := message(s.wants(envelope(1)), "")
		msg.Offset = 5
		var partition sync.WaitGroup
		partition.Go(func() { m.deliver(msg) })
		synctest.Wait()
		require.EqualValues(t, 1, careful())
		partition.Wait()
		require.Zero(t, careful(), "what was there is done, and nothing may come for hours")
		end(t.Context())
		c.Stop()
	})
}

func TestCareful_ManyPartitionsAreOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s, k := newFaked(t, newPresence().working(time.Second))
		cs := &carefulStore{fakeStore: s, stops: make(chan []ledger.Stop, 1)}
		for p := range 23 {
			cs.others = append(cs.others, ledger.Assignment{Topic: "t", Partition: p + 1, Committed: 7, Starts: 4,
				CarefulUntil: 9, SuspectOffset: -1})
		}
		c.deps.Store = cs
		var log lines
		c.logTo(&log)
		require.NoError(t, c.Start(t.Context()))
		end := k.member(acmeNormal).assigned.begin(t.Context(), nil)
		require.Equal(t, 1, log.count("messages run one by one"))
		require.Equal(t, 1, log.count("partitions=24"))
		require.Equal(t, 1, log.count("t/0: 4 starts at offset 5, careful until 8"))
		require.Zero(t, log.count("t/3:"), "the first few stand for all")
		end(t.Context())
		c.Stop()
	})
}

func TestCareful_WhoWaitsForCareHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		waits func(account int64) task.Envelope
	}{
		{"a parallel one, with no slot", envelope},
		{"a serial one, with no turn", func(account int64) task.Envelope { return serial(account, 0) }},
		{"an exclusive one, with no floor", func(account int64) task.Envelope {
			e := exclusive(account, time.Hour)
			e.Handler = "acme.report"
			return e
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				at := newPresence()
				c, s, k := newFaked(t, at.working(10*time.Second))
				cs := &carefulStore{fakeStore: s, stops: make(chan []ledger.Stop, 1), others: []ledger.Assignment{
					{Topic: "t", Partition: 1, Committed: 5, Starts: 4, CarefulUntil: 8, SuspectOffset: 5, SuspectStarts: 1},
				}}
				c.deps.Store = cs
				require.NoError(t, c.Start(t.Context()))
				m := k.member(acmeNormal)
				m.assigned.begin(t.Context(), []broker.Assignment{
					{Topic: "t", Partition: 0, Committed: 5, Reach: 8}, {Topic: "t", Partition: 1, Committed: 5, Reach: 8},
				})
				deliver := func(partition int, offset int64, e task.Envelope) {
					msg := message(s.wants(e), "")
					msg.Partition, msg.Offset = partition, offset
					go m.deliver(msg)
					synctest.Wait()
				}
				deliver(0, 5, envelope(1))
				waits := tt.waits(2)
				deliver(1, 5, waits)
				deliver(2, 5, serial(2, 1))
				used, _ := c.open()[0].slots.state()
				require.Equal(t, []int{2, 2}, []int{used, at.now()}, "who waits for care has nothing that others need")

				s.set(func(f *fakeStore) { f.states[waits.Key] = ledger.SubtaskStatus{State: task.Cancelled, Delivery: 1} })
				time.Sleep(time.Minute)
				require.Len(t, s.written(), 2, "what was ended while it waited does not begin")
				c.Stop()
			})
		})
	}
}

// All messages that the ended process may have begun run one by one, however many there are: those that waited for call
// limits took no slots.
func TestCareful_AllThatMayHaveBegunGoOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s, k := newFaked(t, newPresence().working(time.Second))
		cs := &carefulStore{fakeStore: s, stops: make(chan []ledger.Stop, 1), others: []ledger.Assignment{
			{Topic: "t", Partition: 1, Committed: 5, Starts: 4, CarefulUntil: 15, SuspectOffset: -1},
		}}
		c.deps.Store = cs
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		m.assigned.begin(t.Context(), []broker.Assignment{{Topic: "t", Partition: 1, Committed: 5, Reach: 8}})
		var partition sync.WaitGroup
		partition.Go(func() {
			for i := range int64(13) {
				e := serial(1, i)
				if i >= 3 {
					e = envelope(i)
				}
				msg := message(s.wants(e), "")
				msg.Partition, msg.Offset = 1, 5+i
				m.deliver(msg)
			}
		})
		partition.Wait()
		c.Stop()
		require.Equal(t, []int64{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, cs.offsets, "the pool is of four")
	})
}

func TestCareful_WhatWasCutOffIsToldAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s, k := newFaked(t, newPresence().working(time.Hour))
		cs := &carefulStore{fakeStore: s, stops: make(chan []ledger.Stop, 1)}
		c.deps.Store = cs
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		list := []broker.Assignment{{Topic: "t", Partition: 0, Committed: 5, Reach: 8}}
		end := m.assigned.begin(t.Context(), list)
		msg := message(s.wants(envelope(1)), "")
		msg.Offset = 5
		go m.deliver(msg)
		synctest.Wait()
		c.Stop()
		end(t.Context())
		require.Equal(t, []ledger.Stop{{Topic: "t", Partition: 0, Committed: 5, CutOff: 5}}, <-cs.stops)
	})
}

// The group waits for the record, and its session expires meanwhile.
func TestCareful_ASlowDatabaseHoldsUpTheHandBackForASecondAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s, k := newFaked(t, newPresence().working(time.Second))
		c.deps.Store = &carefulStore{fakeStore: s, hangs: true}
		require.NoError(t, c.Start(t.Context()))
		end := k.member(acmeNormal).assigned.begin(t.Context(),
			[]broker.Assignment{{Topic: "t", Partition: 0, Committed: 5, Reach: 8}})
		began := time.Now()
		end(t.Context())
		require.Equal(t, time.Second, time.Since(began))
		c.Stop()
	})
}

// holders records who started and stopped.
type holders struct {
	*carefulStore
	started, stopped []string
}

func (h *holders) RecordStarts(ctx context.Context, group, holder string, startsMax int,
	starts []ledger.Start) ([]ledger.Assignment, error) {
	h.started = append(h.started, holder)
	return h.carefulStore.RecordStarts(ctx, group, holder, startsMax, starts)
}

func (h *holders) RecordStops(_ context.Context, _, holder string, _ []ledger.Stop) error {
	h.stopped = append(h.stopped, holder)
	return nil
}

func TestCareful_AnEndIsThatOfItsOwnStart(t *testing.T) {
	t.Parallel()
	c, s, _ := newFaked(t)
	h := &holders{carefulStore: &carefulStore{fakeStore: s}}
	c.deps.Store = h
	g := newAssigned(c, "g", newSlots(4, func(int) {}))
	list := []broker.Assignment{{Topic: "t", Partition: 0, Committed: 5, Reach: 8}}
	first := g.begin(t.Context(), list)
	second := g.begin(t.Context(), list)
	first(t.Context())
	require.Equal(t, 1, g.count(), "the partition still needs care")
	second(t.Context())
	require.Zero(t, g.count())
	require.Equal(t, h.started, h.stopped)
	require.NotEqual(t, h.started[0], h.started[1])
}

func TestCareful_WorkGoesOnWithoutTheTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		c, s, k := newFaked(t, at.working(time.Second))
		var log lines
		c.logTo(&log)
		cs := &carefulStore{fakeStore: s, stops: make(chan []ledger.Stop, 1), fail: errors.New("no such table")}
		c.deps.Store = cs
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		list := []broker.Assignment{{Topic: "t", Partition: 0, Committed: 5, Reach: 8}}
		for range 5 {
			end := m.assigned.begin(t.Context(), list)
			end(t.Context())
			<-cs.stops
		}
		msg := message(s.wants(envelope(1)), "")
		msg.Offset = 5
		m.deliver(msg)
		time.Sleep(2 * time.Second)
		require.Len(t, s.written(), 1)
		require.Equal(t, task.Succeeded, s.written()[0].State)
		require.Equal(t, 1, log.count("cannot record"), "one line")
		c.Stop()
	})
}
