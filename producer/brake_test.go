package producer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/store"
	"adsync/base/task"
)

func TestLaneRule(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lane string
		row  store.Lane
		want laneRule
		bad  []string
	}{
		"important holds back others after a minute":      {"important", store.Lane{}, laneRule{50_000, time.Minute, 30}, nil},
		"normal after ten":                                {"normal", store.Lane{}, laneRule{50_000, 10 * time.Minute, 20}, nil},
		"offline nobody, for none is below it as shipped": {"offline", store.Lane{}, laneRule{50_000, 10 * time.Minute, 10}, nil},
		"another name is like normal":                     {"mine", store.Lane{}, laneRule{50_000, 10 * time.Minute, 20}, nil},
		"a row says otherwise":                            {"mine", store.Lane{BacklogMax: 7, LateSeconds: 8, Importance: 9}, laneRule{7, 8 * time.Second, 9}, nil},
		"one made important is late as soon":              {"mine", store.Lane{Importance: 40}, laneRule{50_000, time.Minute, 40}, nil},
		"what cannot be is named":                         {"normal", store.Lane{BacklogMax: -1, LateSeconds: -2, Importance: -3}, laneRule{50_000, 10 * time.Minute, 20}, []string{"importance", "backlog_max", "late_seconds"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, errs := laneRuleOf(tt.lane, tt.row)
			require.Equal(t, tt.want, rule)
			var keys []string
			for _, e := range errs {
				keys = append(keys, e.Key)
			}
			require.Equal(t, tt.bad, keys)
		})
	}
}

var (
	important = store.LaneName{Media: "tulip", Lane: "important"}
	normal    = store.LaneName{Media: "tulip", Lane: "normal"}
	offline   = store.LaneName{Media: "tulip", Lane: "offline"}
)

// look is a look at a lane of one partition.
func (b *brakes) look(name store.LaneName, now time.Time, committed, end int64) {
	b.saw(name, now, b.begin(name), []broker.PartitionOffsets{{Committed: committed, End: end}})
}

func TestBrakes_ALaneRestsAtItsBound(t *testing.T) {
	t.Parallel()
	b := newBrakes()
	b.setRule(normal, laneRule{backlogMax: 100})
	b.sent(normal, 99)
	require.Empty(t, b.held(normal))
	b.sent(normal, 1)
	require.Equal(t, heldByBacklog, b.held(normal), "also before the first look")
	b.look(normal, start, 20, 100)
	require.Empty(t, b.held(normal))
	b.sent(normal, 20)
	require.Equal(t, heldByBacklog, b.held(normal), "what was sent since the look counts")
	b.look(normal, start, 21, 120)
	require.Empty(t, b.held(normal))

	// What is sent while the look is under way is counted again rather than not at all.
	before := b.begin(normal)
	b.sent(normal, 1)
	b.saw(normal, start, before, []broker.PartitionOffsets{{Committed: 21, End: 120}})
	require.Equal(t, heldByBacklog, b.held(normal))
	require.Equal(t, []store.LaneName{normal}, b.heldLanes())

	b.saw(normal, start, b.begin(normal), nil)
	require.Empty(t, b.held(normal), "a lane that cannot be looked at is free")
}

func TestBrakes_ALateLaneHoldsTheLessImportantOnes(t *testing.T) {
	t.Parallel()
	b := newBrakes()
	other := store.LaneName{Media: "orchid", Lane: "offline"}
	for _, name := range []store.LaneName{important, normal, offline, other} {
		rule, _ := laneRuleOf(name.Lane, store.Lane{})
		b.setRule(name, rule)
	}
	b.look(important, start, 0, 100) // 100 are there at 0s,
	b.look(important, start.Add(30*time.Second), 50, 200)
	b.look(important, start.Add(70*time.Second), 100, 200) // and the last of them is done by 70s.
	require.Empty(t, b.heldLanes(), "the oldest is 40 seconds old")
	b.look(important, start.Add(91*time.Second), 101, 200)
	require.Equal(t, []store.LaneName{normal, offline}, b.heldLanes(), "61 seconds; another media has nothing to do with it")
	require.Equal(t, heldByLate, b.held(offline))
	b.look(important, start.Add(93*time.Second), 200, 200)
	require.Empty(t, b.heldLanes())

	b.look(normal, start.Add(100*time.Second), 0, 10)
	b.look(normal, start.Add(701*time.Second), 1, 10)
	require.Equal(t, []store.LaneName{offline}, b.heldLanes(), "the lesser holds the least")
	b.look(normal, start.Add(762*time.Second), 1, 10)
	require.Empty(t, b.heldLanes(), "nobody works it off: holding others back helps nobody")
}

func TestBrakes_AgesOfPartitions(t *testing.T) {
	t.Parallel()
	l := newBrakes().lane(normal)
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	part := func(p int, from, committed, end int64) broker.PartitionOffsets {
		return broker.PartitionOffsets{Partition: p, Start: from, Committed: committed, End: end}
	}
	require.Zero(t, l.age(part(0, 0, 5, 5), second(0)), "nothing waits")
	require.Zero(t, l.age(part(0, 0, 5, 9), second(10)), "it has come since the last look")
	require.Zero(t, l.age(part(1, 3, -1, 9), second(10)))
	require.Equal(t, 20*time.Second, l.age(part(0, 0, 8, 20), second(30)))
	require.Equal(t, 10*time.Second, l.age(part(0, 0, 9, 20), second(40)), "the next came at 30")
	require.Equal(t, 30*time.Second, l.age(part(1, 3, -1, 9), second(40)), "never committed: all that is there waits")
	require.Zero(t, l.age(part(0, 0, 20, 20), second(50)))
	require.Zero(t, l.age(part(0, 0, 20, 3), second(60)), "of another log nothing is known")
	require.Zero(t, l.age(part(0, 0, 0, 3), second(70)))
	require.Equal(t, 5*time.Second, l.age(part(0, 0, 0, 3), second(75)))

	// However long nothing is worked off, what is remembered stays small and the oldest is known.
	for n := range 5000 {
		l.age(part(2, 0, 0, int64(n+1)), second(2*n))
	}
	require.LessOrEqual(t, len(l.ends[2]), endsMax)
	require.Equal(t, 10_000*time.Second, l.age(part(2, 0, 0, 6000), second(10_000)))
}

// model is a media's three lanes, worked off by consumers that share what the platform lets through by the sizes of
// their pools.
type model struct {
	brakes *brakes
	lanes  []*modelLane
}

type modelLane struct {
	name     store.LaneName
	weight   float64
	perRun   int // subtasks of the run of each minute
	toFanOut int // subtasks of runs that are not sent yet
	sentAt   []time.Time
	done     float64

	backlogMax  int
	latest      time.Duration // the highest age of the first message
	firstBraked time.Duration // since the beginning; -1 = never
	fanOutMax   int           // the most that waited for its fan-out
}

// run lets a quarter of an hour pass.
func (m *model) run(perSecond func(second int) float64) {
	const batch = 100
	for s := range 900 {
		now := start.Add(time.Duration(s) * time.Second)
		for _, l := range m.lanes {
			if s%60 == 0 {
				l.toFanOut += l.perRun
			}
			for range 10 { // up to 1,000 a second
				if l.toFanOut == 0 {
					break
				}
				if m.brakes.held(l.name) != "" {
					if l.firstBraked < 0 {
						l.firstBraked = time.Duration(s) * time.Second
					}
					break
				}
				n := min(batch, l.toFanOut)
				m.brakes.sent(l.name, n)
				l.toFanOut -= n
				for range n {
					l.sentAt = append(l.sentAt, now)
				}
			}
			l.fanOutMax = max(l.fanOutMax, l.toFanOut)
		}
		m.consume(perSecond(s))
		for _, l := range m.lanes {
			done := int(l.done)
			l.backlogMax = max(l.backlogMax, len(l.sentAt)-done)
			if done < len(l.sentAt) {
				l.latest = max(l.latest, now.Sub(l.sentAt[done]))
			}
			if s%2 == 0 {
				m.brakes.look(l.name, now, int64(done), int64(len(l.sentAt)))
			}
		}
	}
}

// consume shares capacity out by weight; what one lane does not need goes to the others.
func (m *model) consume(capacity float64) {
	for capacity > 1e-6 {
		weights := 0.0
		for _, l := range m.lanes {
			if float64(len(l.sentAt))-l.done > 1e-6 {
				weights += l.weight
			}
		}
		if weights == 0 {
			return
		}
		used := 0.0
		for _, l := range m.lanes {
			if left := float64(len(l.sentAt)) - l.done; left > 1e-6 {
				n := min(left, capacity*l.weight/weights)
				l.done += n
				used += n
			}
		}
		capacity -= used
	}
}

func newModel(bound int64, weights ...float64) *model {
	m := &model{brakes: newBrakes()}
	for i, name := range []store.LaneName{important, normal, offline} {
		rule, _ := laneRuleOf(name.Lane, store.Lane{BacklogMax: bound})
		m.brakes.setRule(name, rule)
		m.lanes = append(m.lanes, &modelLane{name: name, weight: weights[i], perRun: []int{3000, 3600, 3600}[i], firstBraked: -1})
	}
	return m
}

// Consumers do 200 subtasks a second of the 170 that are planned, and half of that for ten minutes.
func halfSpeed(second int) float64 {
	if second >= 120 && second < 720 {
		return 100
	}
	return 200
}

func TestBrakes_ConsumersAtHalfSpeedForTenMinutes(t *testing.T) {
	t.Parallel()
	const bound = 5000
	m := newModel(bound, 64, 32, 8) // the pools as shipped
	m.run(halfSpeed)
	first, second, third := m.lanes[0], m.lanes[1], m.lanes[2]
	require.LessOrEqual(t, first.latest, time.Minute, "the important lane keeps its lateness")
	require.EqualValues(t, -1, first.firstBraked, "and is never slowed")
	require.Positive(t, second.firstBraked)
	require.Positive(t, third.firstBraked)
	for _, l := range m.lanes {
		require.LessOrEqual(t, l.backlogMax, bound+100, "%s: the bound and a batch", l.name.Lane)
	}
	require.Greater(t, third.fanOutMax, bound, "what was not sent waits in the tables")

	free := newModel(1<<40, 64, 32, 8)
	free.run(halfSpeed)
	require.Greater(t, free.lanes[2].backlogMax, 3*bound, "without the brake it would be in Kafka")
}

// Where pools give the important lane no more room than others, it becomes late, and then the others stop for it.
func TestBrakes_TheOthersStopForALateLane(t *testing.T) {
	t.Parallel()
	m := newModel(50_000, 1, 1, 1)
	m.run(halfSpeed)
	free := newModel(50_000, 1, 1, 1)
	for _, l := range free.lanes { // nobody is important
		rule, _ := laneRuleOf("", store.Lane{})
		free.brakes.setRule(l.name, rule)
	}
	free.run(halfSpeed)
	require.EqualValues(t, -1, m.lanes[0].firstBraked)
	for _, l := range m.lanes[1:] {
		require.Positive(t, l.firstBraked)
	}
	// It is late by its minute and by as long as the others' backlog takes.
	require.Less(t, m.lanes[0].latest, 2*time.Minute)
	require.Greater(t, free.lanes[0].latest, m.lanes[0].latest+30*time.Second)
}

func TestWatchLanes_SetsBrakesAndTells(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(30)
	id := b.addTask("daily", "tulip.report", "0 0 * * *", map[string]any{"lane": "offline"})
	b.addTask("urgent", "tulip.report", "0 0 * * *", map[string]any{"lane": "important"})
	b.exec(b.store.Config, "INSERT INTO lane (media, name, pool_size, backlog_max) VALUES ('tulip', 'offline', 5, 40)")
	tm := b.term()
	ctx := t.Context()
	b.broker.offsets = map[string][]broker.PartitionOffsets{
		"t.tulip.offline":   {{Committed: 70, End: 100}, {Committed: -1, Start: 5, End: 16}},
		"t.tulip.important": {{Committed: 7, End: 7}},
	}
	require.NoError(t, tm.watchLanes(ctx))
	require.Equal(t, heldByBacklog, tm.brakes.held(offline))
	require.Empty(t, tm.brakes.held(important))
	require.Equal(t, 41.0, testutil.ToFloat64(tm.metrics.backlog.WithLabelValues("tulip", "offline")))
	require.Zero(t, testutil.ToFloat64(tm.metrics.backlog.WithLabelValues("tulip", "important")))

	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	require.Empty(t, b.broker.log, "it rests")
	require.Len(t, tm.brakes.rested, 1, "its lane is looked at soon")
	require.NoError(t, tm.watchLanes(ctx))
	require.Positive(t, testutil.ToFloat64(tm.metrics.braked.WithLabelValues("tulip", "offline", heldByBacklog)))

	b.broker.offsets["t.tulip.offline"][1].Committed = 11
	<-tm.queue.made // that something was made
	require.NoError(t, tm.watchLanes(ctx))
	require.Len(t, tm.queue.made, 1, "it goes on at once")
	require.NoError(t, tm.fan(b, runID))
	require.Len(t, b.broker.log, 10, "a brake takes effect after the batch that reaches the bound")
	require.Equal(t, task.RunFanningOut, b.run(runID).State)
	require.EqualValues(t, 10, b.run(runID).Cursor)

	b.broker.offsetsErr = errors.New("no broker")
	require.NoError(t, tm.watchLanes(ctx))
	require.NoError(t, tm.fan(b, runID))
	require.Len(t, b.broker.log, 30, "what cannot be seen holds nobody up")
	require.Equal(t, task.RunRunning, b.run(runID).State)
}

func TestWatchLanes_LooksRarelyAtIdleLanes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("urgent", "tulip.report", "0 0 * * *", map[string]any{"lane": "important"})
	tm := b.term()
	b.broker.offsets = map[string][]broker.PartitionOffsets{"t.tulip.important": {{Committed: 7, End: 7}}}
	for range 3 {
		require.NoError(t, tm.watchLanes(t.Context()))
	}
	require.Equal(t, 1, b.broker.looks)
	tm.brakes.sent(important, 1)
	require.NoError(t, tm.watchLanes(t.Context()))
	require.Equal(t, 2, b.broker.looks)
}

func TestStartFanOuts_WhatRestsTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	slow := b.addTask("slow", "tulip.report", "0 0 1 1 *", map[string]any{"lane": "offline"})
	old := b.addTask("old", "tulip.report", "0 0 1 1 *", map[string]any{"lane": "offline", "ttl_seconds": 60})
	fast := b.addTask("fast", "tulip.report", "0 0 1 1 *", map[string]any{"lane": "important"})
	tm := b.term()
	ctx := t.Context()
	tm.most = 2
	tm.brakes.setRule(offline, laneRule{backlogMax: 1, importance: 10})
	tm.brakes.sent(offline, 1)
	var held []int64
	for range 5 {
		held = append(held, tm.order(b, slow, task.Order{}))
	}
	expired := tm.order(b, old, task.Order{})
	urgent := tm.order(b, fast, task.Order{})
	pass := func() {
		group := newGroup()
		require.NoError(t, tm.startFanOuts(ctx, group))
		require.NoError(t, group.Wait())
	}
	pass()
	require.Equal(t, task.RunRunning, b.run(urgent).State)
	for _, id := range append(held, expired) {
		require.Equal(t, task.RunFanningOut, b.run(id).State, fmt.Sprint(id))
	}
	b.clock.add(time.Minute)
	pass()
	require.Equal(t, task.RunExpired, b.run(expired).State, "its time to live ends what waits too long")
	require.Equal(t, task.RunFanningOut, b.run(held[0]).State)
	tm.brakes.setRule(offline, laneRule{backlogMax: 1000, importance: 10})
	for range 3 {
		pass()
	}
	for _, id := range held {
		require.Equal(t, task.RunRunning, b.run(id).State)
	}
}

func TestBrakes_AreShortForAWhileAfterALaneWasLate(t *testing.T) {
	t.Parallel()
	setup := func() *brakes {
		b := newBrakes()
		for _, name := range []store.LaneName{important, offline} {
			rule, _ := laneRuleOf(name.Lane, store.Lane{})
			b.setRule(name, rule)
		}
		b.look(important, start, 0, 100)
		b.look(important, start.Add(lateImportant+time.Second), 1, 100)
		require.Equal(t, heldByLate, b.held(offline))
		b.look(important, start.Add(lateImportant+2*time.Second), 100, 100)
		require.Empty(t, b.held(offline), "nothing of it waits")
		return b
	}
	b := setup()
	b.sent(offline, shortMin-1)
	require.Empty(t, b.held(offline))
	b.sent(offline, 1)
	require.Equal(t, heldByLate, b.held(offline))
	b.look(important, start.Add(lateImportant+shortFor), 100, 100)
	require.Equal(t, heldByLate, b.held(offline))
	b.look(important, start.Add(lateImportant+shortFor+time.Second), 100, 100)
	require.Empty(t, b.held(offline))

	b = setup()
	b.lane(offline).rate = 100 // a second
	b.sent(offline, 100*30-1)
	require.Empty(t, b.held(offline), "so much is done in half a minute")
	b.sent(offline, 1)
	require.Equal(t, heldByLate, b.held(offline))
}
