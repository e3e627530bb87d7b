package consumer

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/service"
	"adsync/base/store/exclusion"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
)

// fakeStore answers from memory. Tests can make it fail or be slow.
type fakeStore struct {
	mu      sync.Mutex
	lanes   []settings.Lane
	states  map[task.Key]ledger.SubtaskStatus
	batches [][]ledger.Outcome
	asked   [][]task.Key
	stops   []task.Stop
	fail    error
	noStops error // of reading stops alone
	// noFloors is of reading and reporting floors alone.
	noFloors error
	// noTurns is of the answers to those who ask for floors.
	noTurns error
	hold    chan struct{} // when set, every call waits for it
	*fakeExclusion
}

// fakeExclusion has the rows of package exclusion. Stores of one deployment share it.
type fakeExclusion struct {
	keysMu sync.Mutex
	keys   map[string]exclusion.SerialHold
	floors *exclusion.Queue
	// outside has the subtasks with work outside.
	outside map[task.Key]task.Envelope
	asks    int // calls of AskFloor
}

func newFakeExclusion() *fakeExclusion {
	return &fakeExclusion{keys: map[string]exclusion.SerialHold{}, floors: exclusion.NewQueue(),
		outside: map[task.Key]task.Envelope{}}
}

func (f *fakeExclusion) ClaimSerialKey(_ context.Context, want exclusion.SerialHold) (exclusion.SerialHold, error) {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	holder, held := f.keys[want.SerialKey]
	if !held || holder.Key == want.Key && holder.Delivery <= want.Delivery {
		holder = want
		f.keys[want.SerialKey] = want
	}
	return holder, nil
}

func (f *fakeExclusion) ReleaseSerialKey(_ context.Context, h exclusion.SerialHold) error {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	if f.keys[h.SerialKey] == h {
		delete(f.keys, h.SerialKey)
	}
	return nil
}

func (f *fakeStore) ReadFloors(context.Context) (exclusion.Reading, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	return f.floors.Read(clock.System{}.Now()), cmp.Or(f.noFloors, f.fail)
}

func (f *fakeExclusion) AskFloor(_ context.Context, want exclusion.Floor) (exclusion.Turn, error) {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	f.asks++
	return f.floors.Ask(clock.System{}.Now(), want, func(floor exclusion.Floor) (n int, err error) {
		for k, e := range f.outside {
			if floor.Covers(e.Media, e.Lane) && !floor.Admits(k, e.Ancestors) {
				n++
			}
		}
		return n, nil
	})
}

func (f *fakeExclusion) ReleaseFloor(_ context.Context, k task.Key, claim string) error {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	f.floors.Release(clock.System{}.Now(), k, claim)
	return nil
}

func (f *fakeExclusion) EndFloorWait(_ context.Context, k task.Key, claim string) error {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	f.floors.EndWait(clock.System{}.Now(), k, claim)
	return nil
}

// AskFloor changes the row also where its answer is lost.
func (f *fakeStore) AskFloor(ctx context.Context, want exclusion.Floor) (exclusion.Turn, error) {
	turn, err := f.fakeExclusion.AskFloor(ctx, want)
	f.mu.Lock()
	defer f.mu.Unlock()
	return turn, cmp.Or(err, f.noTurns)
}

func (f *fakeStore) ReportFloors(_ context.Context, node string, running map[int64]int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	f.floors.Report(clock.System{}.Now(), node, running)
	return cmp.Or(f.noFloors, f.fail)
}

func (f *fakeExclusion) LeaveFloors(_ context.Context, node string) error {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	f.floors.Forget(node)
	return nil
}

func (f *fakeExclusion) heldKeys() int {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	return len(f.keys)
}

func (f *fakeStore) wait(ctx context.Context) error {
	f.mu.Lock()
	hold, fail := f.hold, f.fail
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fail
}

func (f *fakeStore) set(change func(*fakeStore)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeStore) Lanes(context.Context) ([]settings.Lane, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lanes), f.fail
}

func (f *fakeStore) SubtaskStates(ctx context.Context, keys []task.Key) (map[task.Key]ledger.SubtaskStatus, error) {
	f.mu.Lock()
	f.asked = append(f.asked, slices.Clone(keys))
	f.mu.Unlock()
	if err := f.wait(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	states := make(map[task.Key]ledger.SubtaskStatus, len(keys))
	for _, k := range keys {
		if s, ok := f.states[k]; ok {
			states[k] = s
		}
	}
	return states, nil
}

func (f *fakeStore) ApplyOutcomes(ctx context.Context, outcomes []ledger.Outcome) (int, error) {
	if err := f.wait(ctx); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, slices.Clone(outcomes))
	return 0, nil
}

func (f *fakeStore) ActiveStops(context.Context) ([]task.Stop, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.stops), cmp.Or(f.noStops, f.fail)
}

func (f *fakeStore) RecordStarts(context.Context, string, string, int, []ledger.Start) ([]ledger.Assignment, error) {
	return nil, nil
}

func (f *fakeStore) RecordStops(context.Context, string, string, []ledger.Stop) error { return nil }

func (f *fakeStore) RecordSuspect(context.Context, string, string, string, int, int64) (int, error) {
	return 1, nil
}

func (f *fakeStore) written() (all []ledger.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		all = append(all, b...)
	}
	return all
}

func (f *fakeStore) sizes() (sizes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

// fakeMessage records how a message ended.
type fakeMessage struct {
	done, abandoned atomic.Int32
	holdsUp         atomic.Bool
}

func (m *fakeMessage) Done()    { m.done.Add(1) }
func (m *fakeMessage) Abandon() { m.abandoned.Add(1) }

func (m *fakeMessage) HoldsUp() bool { return m.holdsUp.Load() }

// fakeKafka makes members to which tests deliver messages.
type fakeKafka struct {
	mu      sync.Mutex
	members map[laneName]*fakeMember
	ensured map[laneName]int
	refuse  map[laneName]error
	logs    map[int]int64 // where the logs end, by partition; of others that cannot be told
}

func newFakeKafka() *fakeKafka {
	return &fakeKafka{members: map[laneName]*fakeMember{}, ensured: map[laneName]int{}, refuse: map[laneName]error{}}
}

func (k *fakeKafka) ensure(_ context.Context, lanes map[laneName]int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for lane, partitions := range lanes {
		if err := k.refuse[lane]; err != nil {
			return err
		}
		k.ensured[lane] = partitions
	}
	return nil
}

func (k *fakeKafka) groupName(lane laneName) string { return "g." + lane.String() }

func (k *fakeKafka) ends(context.Context, string) (map[int]int64, error) { return k.logs, nil }

func (k *fakeKafka) join(lane laneName, handle func(context.Context, *broker.Message, ending),
	parts *assigned) service.Service {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := &fakeMember{handle: handle, assigned: parts}
	m.ctx, m.revoke = context.WithCancelCause(context.Background())
	k.members[lane] = m
	return m
}

func (k *fakeKafka) member(lane laneName) *fakeMember {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.members[lane]
}

// fakeMember behaves as a broker.Group with one partition: Stop revokes, then waits for the work under way.
type fakeMember struct {
	handle   func(context.Context, *broker.Message, ending)
	assigned *assigned
	ctx      context.Context // the partition's
	revoke   context.CancelCauseFunc
	log      func(event string)
	stopped  atomic.Bool

	mu      sync.Mutex // for revoked, and for adding to working before it
	revoked bool
	working sync.WaitGroup
}

func (m *fakeMember) Start(context.Context) error { return nil }

func (m *fakeMember) Stop() {
	m.note("stop reading")
	m.mu.Lock()
	m.revoked = true
	m.mu.Unlock()
	m.revoke(broker.ErrRevoked)
	m.working.Wait()
	m.note("commit")
	m.note("leave")
	m.stopped.Store(true)
}

func (m *fakeMember) note(event string) {
	if m.log != nil {
		m.log(event)
	}
}

// deliver passes a message on as the partition's goroutine does. A revoked partition abandons it.
func (m *fakeMember) deliver(msg *broker.Message) *fakeEnding {
	e := &fakeEnding{member: m}
	if m.begin() {
		m.handle(m.ctx, msg, e)
	} else {
		e.fakeMessage.Abandon()
	}
	return e
}

// begin reports whether the partition is still here, and counts a message under way.
func (m *fakeMember) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.revoked {
		m.working.Add(1)
	}
	return !m.revoked
}

type fakeEnding struct {
	fakeMessage
	member *fakeMember
	once   sync.Once
}

func (e *fakeEnding) Done() {
	e.fakeMessage.Done()
	e.once.Do(e.member.working.Done)
}

func (e *fakeEnding) Abandon() {
	e.fakeMessage.Abandon()
	e.once.Do(e.member.working.Done)
}

// message is what a producer sends for a subtask.
func message(e task.Envelope, value string) *broker.Message {
	m := &broker.Message{Topic: "t", Value: []byte(value)}
	for _, h := range e.Seal().Headers(e.Key, e.Delivery, e.Attempt) {
		m.Headers = append(m.Headers, broker.Header{Key: h.Name, Value: h.Value})
	}
	return m
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func noCauses() *telemetry.CauseLog { return telemetry.NewCauseLog(quiet()) }

// newFaked returns a consumer on fakes with one lane, acme:normal of 4 slots.
func newFaked(t *testing.T, handlers ...media.Handler) (*Consumer, *fakeStore, *fakeKafka) {
	t.Helper()
	s := &fakeStore{states: map[task.Key]ledger.SubtaskStatus{}, fakeExclusion: newFakeExclusion(),
		lanes: []settings.Lane{{Media: "acme", Name: "normal", PoolSize: 4}}}
	k := newFakeKafka()
	c, err := New(DefaultConfig(), Deps{
		Store: s, Registry: media.NewRegistry(handlers...), Clock: clock.System{}, Logger: quiet(),
		Registerer: prometheus.NewRegistry(), Node: "n1",
	})
	require.NoError(t, err)
	c.kafka = k
	c.jitter = func() float64 { return 0.5 }
	return c, s, k
}

func handler(name string, run func(ctx context.Context, w media.Work) (media.Result, error)) media.Handler {
	return media.Handler{Name: name, Run: run}
}

func envelope(account int64) task.Envelope {
	return task.Envelope{
		Key: task.Key{RunID: 1 << 40, AccountID: account, Part: "d"}, TaskID: 7, TaskName: "report", Media: "acme",
		Lane:    "normal",
		Handler: "acme.report", Delivery: 1, RetryMax: 5,
	}
}

// wants stores a row that waits for the envelope.
func (f *fakeStore) wants(e task.Envelope) task.Envelope {
	f.set(func(f *fakeStore) {
		f.states[e.Key] = ledger.SubtaskStatus{State: task.Waiting, Delivery: e.Delivery, Attempt: e.Attempt}
	})
	return e
}

// metricsOf returns the values of all metrics by name and label values, the media first; of histograms the number of
// observations.
func metricsOf(t *testing.T, c *Consumer) map[string]float64 {
	t.Helper()
	registry, ok := c.deps.Registerer.(*prometheus.Registry)
	require.True(t, ok)
	families, err := registry.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, l := range m.GetLabel() {
				if l.GetName() != "media" {
					name += " " + l.GetValue()
				}
			}
			for _, l := range m.GetLabel() {
				if l.GetName() == "media" {
					name = family.GetName() + " " + l.GetValue() + name[len(family.GetName()):]
				}
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}
