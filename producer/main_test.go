package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/producer/brake"
	"adsync/producer/tasklist"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// fakeBroker keeps the messages that are written to it.
type fakeBroker struct {
	mu     sync.Mutex
	topics map[string]int
	log    []broker.Message
	sizes  []int                 // of each write
	fail   func(write int) error // called before a write; nil lets each write succeed

	topicsErr  error
	ensured    int                                  // calls of EnsureTopics
	offsets    map[string][]broker.PartitionOffsets // the answers of Offsets, by topic
	offsetsErr error
	looks      int // calls of Offsets

	block func(ctx context.Context) // waited for in each write
}

func (b *fakeBroker) TopicName(media, lane string) string { return "t." + media + "." + lane }

func (b *fakeBroker) GroupName(media, lane string) string { return "g." + media + "." + lane }

func (*fakeBroker) OutcomesTopic() string { return "t.outcomes" }

func (b *fakeBroker) Offsets(_ context.Context, _ string, topics ...string) ([]broker.PartitionOffsets, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks++
	if b.offsetsErr != nil {
		return nil, b.offsetsErr
	}
	return b.offsets[topics[0]], nil
}

func (b *fakeBroker) EnsureTopics(_ context.Context, topics []broker.Topic) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ensured++
	if b.topicsErr != nil {
		return b.topicsErr
	}
	for _, t := range topics {
		b.topics[t.Name] = t.Partitions
	}
	return nil
}

func (b *fakeBroker) Write(ctx context.Context, msgs []broker.Message) ([]broker.Position, error) {
	if b.block != nil {
		b.block(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes = append(b.sizes, len(msgs))
	positions := make([]broker.Position, len(msgs))
	failed := map[int]bool{}
	var err error
	if b.fail != nil {
		err = b.fail(len(b.sizes))
		if w, ok := errors.AsType[*broker.WriteError](err); ok {
			for _, i := range slices.Concat(w.Failed, w.Unknown) {
				failed[i] = true
			}
		} else if err != nil {
			return nil, err
		}
	}
	for i, m := range msgs {
		positions[i] = broker.Position{Topic: m.Topic, Partition: int(m.Key[len(m.Key)-1]) % 3, Offset: -1}
		if _, known := b.topics[m.Topic]; !known {
			return nil, broker.ErrUnknownTopic
		}
		if !failed[i] {
			positions[i].Offset = int64(len(b.log))
			b.log = append(b.log, m)
		}
	}
	return positions, err
}

// envelopes returns the control part of everything written.
func (b *fakeBroker) envelopes(t testing.TB) []task.Envelope {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]task.Envelope, len(b.log))
	for i, m := range b.log {
		var err error
		all[i], err = new(task.Envelopes).Parse(func(name string) []byte {
			for _, h := range m.Headers {
				if h.Key == name {
					return h.Value
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	return all
}

// accounts returns the account of each message, in order.
func (b *fakeBroker) accounts(t testing.TB) []int64 {
	t.Helper()
	var ids []int64
	for _, e := range b.envelopes(t) {
		ids = append(ids, e.AccountID)
	}
	return ids
}

// fakeClock is stopped until it is set.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func (c *fakeClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *fakeClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// start is the moment of the tests' stopped clock: 17:00:30 in Shanghai.
var start = time.Date(2026, 11, 21, 9, 0, 30, 0, time.UTC)

type reportParams struct {
	Level string `json:"level"`
}

// handlers: report has the planned day (or the ordered days, at most the last 30) as parts, token runs over logins,
// tidy runs once.
func handlers() *media.Registry {
	return media.NewRegistry(
		media.Handler{
			Name: "tulip.report", Target: media.Accounts,
			Check: func(raw json.RawMessage) error { return media.CheckParams(raw, &reportParams{}) },
			Parts: func(p media.Plan) ([]string, error) {
				today := day.Of(p.PlannedAt, p.Zone)
				if p.From == "" {
					return []string{today.String()}, nil
				}
				if p.From < today.Add(-30) {
					return nil, fmt.Errorf("from: %s is before %s, the first day that can be asked for", p.From, today.Add(-30))
				}
				var parts []string
				for _, d := range day.Between(p.From, p.To) {
					parts = append(parts, d.String())
				}
				return parts, nil
			},
		},
		media.Handler{Name: "tulip.token", Target: media.Logins},
		media.Handler{Name: "system.tidy", Target: media.Once,
			Parts: func(media.Plan) ([]string, error) { return []string{"a", "b"}, nil }},
		media.Handler{Name: "system.rows", Target: media.Once,
			List:  func(context.Context) ([]string, error) { return []string{"x", "y"}, nil },
			Parts: func(p media.Plan) ([]string, error) { return p.Parts, nil }},
	)
}

type bench struct {
	*Producer
	t      testing.TB
	store  *store.Store
	broker *fakeBroker
	clock  *fakeClock
}

// setup returns a producer that is not started, with small batches and a stopped clock.
func setup(t testing.TB) *bench {
	t.Helper()
	b := &bench{
		t: t, store: storetest.New(t), broker: &fakeBroker{topics: map[string]int{}}, clock: &fakeClock{now: start},
	}
	b.Producer = b.another()
	return b
}

// another returns one more producer on the same store and broker.
func (b *bench) another() *Producer {
	b.t.Helper()
	cfg := DefaultConfig()
	cfg.BatchSize = 10
	p, err := New(cfg, Deps{
		Store: b.store, Registry: handlers(), Broker: b.broker, Clock: b.clock,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	require.NoError(b.t, err)
	return p
}

// term has the loops of a lead and their shared state, so that a test can call each loop separately.
type term struct {
	*planning
	*fanOuts
	*dueWork
	*sweeper
	*laneWatch
	*queuedRelease
	*stopOrders
	*cancels
	*parkedRelease
	*redrives
	*bindings
	*sqlEdits
	*upkeepLoop
	notices []*notices
	lease   lease.Lease
	clock   clock.Clock
	tasks   *tasklist.Set
	queue   *fanOutQueue
	brakes  *brake.Brakes
	metrics *metrics
}

func newTerm(p *Producer, l lease.Lease) *term {
	all := newLoops(p, l)
	return &term{
		planning: all.planning, fanOuts: all.fanOuts, dueWork: all.due, sweeper: all.sweeper, laneWatch: all.laneWatch,
		queuedRelease: all.queued, stopOrders: all.orders, cancels: all.cancels, parkedRelease: all.parked,
		redrives: all.redrives, bindings: all.bindings, sqlEdits: all.edits, upkeepLoop: all.upkeep,
		notices: all.notices, lease: l, clock: p.clock, tasks: p.tasks, queue: all.fanOuts.queue,
		brakes: all.fanOuts.brakes, metrics: p.metrics,
	}
}

// keepUp runs a pass of each upkeep loop.
func (t *term) keepUp(ctx context.Context) error {
	return errors.Join(t.upkeepLoop.keepUp(ctx), t.keepBindings(ctx), t.note(ctx), t.keepDead(ctx))
}

// term makes the producer the leader, in place of any leader before, with the tasks loaded.
func (b *bench) term() *term {
	b.t.Helper()
	ctx := b.t.Context()
	require.NoError(b.t, b.tasks.Reload(ctx))
	b.exec(b.store.Data, "UPDATE leader SET expires_at = '1970-01-01 00:00:00.000'")
	l, _, err := b.store.Leadership().Campaign(ctx, "tester", time.Minute)
	require.NoError(b.t, err)
	return newTerm(b.Producer, l)
}

func (b *bench) exec(db *sqldb.DB, sql string, args ...any) {
	b.t.Helper()
	require.NoError(b.t, db.Writer(b.t.Context()).Exec(sql, args...).Error)
}

func (b *bench) addAccounts(n int64) {
	b.t.Helper()
	for id := int64(1); id <= n; id++ {
		b.exec(b.store.Config, "INSERT INTO media_account (id, media, external_id, token_id) VALUES (?, 'tulip', ?, 1)", id,
			fmt.Sprint("e", id))
	}
}

// addTask inserts a task and returns its id; columns override "cron" and what the table has by default.
func (b *bench) addTask(name, handler, cron string, columns map[string]any) int64 {
	b.t.Helper()
	media := "tulip"
	if strings.HasPrefix(handler, "system.") {
		media = "system"
	}
	b.exec(b.store.Config, "INSERT INTO cron_task (name, media, handler, cron) VALUES (?, ?, ?, ?)", name, media, handler,
		cron)
	for column, value := range columns {
		b.exec(b.store.Config, "UPDATE cron_task SET "+column+" = ? WHERE name = ?", value, name)
	}
	var id int64
	require.NoError(b.t, b.store.Config.Writer(b.t.Context()).Raw("SELECT id FROM cron_task WHERE name = ?",
		name).Row().Scan(&id))
	return id
}

// order orders a run, of the task's whole scope unless it names accounts or days, and lets the leader make it.
func (t *term) order(b *bench, taskID int64, o task.Order) int64 {
	b.t.Helper()
	if len(o.Accounts) == 0 && o.Redrive == nil {
		o.Scope = task.ScopeAll
	}
	id := task.NewRunID(t.clock.Now())
	require.NoError(b.t, b.store.AddOrder(b.t.Context(),
		ledger.RunOrder{RunID: id, TaskID: taskID, Request: o, OrderedAt: t.clock.Now()}))
	require.NoError(b.t, t.takeOrders(b.t.Context()))
	return id
}

// fan does the fan-out of a run to its end, or to its first error.
func (t *term) fan(b *bench, runID int64) error {
	b.t.Helper()
	run := b.run(runID)
	return t.fanOut(b.t.Context(), &run)
}

func (b *bench) run(id int64) ledger.Run {
	b.t.Helper()
	run, err := b.store.Run(b.t.Context(), id)
	require.NoError(b.t, err)
	return run
}

func (b *bench) runs() []ledger.Run {
	b.t.Helper()
	runs, err := b.store.SearchRuns(b.t.Context(), ledger.RunSearch{Limit: 1000})
	require.NoError(b.t, err)
	slices.Reverse(runs)
	return runs
}

// end gives every open subtask of a run an outcome.
func (b *bench) end(run ledger.Run, state task.State) {
	b.t.Helper()
	var outcomes []ledger.Outcome
	rows, err := b.store.Data.Writer(b.t.Context()).Raw("SELECT account_id, part, delivery FROM "+ledger.LogTable(run.ID)+
		" WHERE run_id = ?", run.ID).Rows()
	require.NoError(b.t, err)
	defer rows.Close()
	for rows.Next() {
		o := ledger.Outcome{State: state, EndedAt: b.clock.Now(), DueAt: b.clock.Now(), Media: run.Media,
			Lane: run.Settings.Lane, TaskID: run.TaskID, Attempt: 1}
		o.RunID = run.ID
		require.NoError(b.t, rows.Scan(&o.AccountID, &o.Part, &o.Delivery))
		outcomes = append(outcomes, o)
	}
	require.NoError(b.t, rows.Err())
	require.NoError(b.t, rows.Close())
	_, err = b.store.ApplyOutcomes(b.t.Context(), outcomes)
	require.NoError(b.t, err)
}

func ids(from, to int64) []int64 {
	var all []int64
	for id := from; id <= to; id++ {
		all = append(all, id)
	}
	return all
}

var errStale = lease.ErrStaleLease
