package brake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
)

func TestLaneRule(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lane string
		row  settings.Lane
		want Rule
		bad  []string
	}{
		"important holds back others after a minute": {"important", settings.Lane{}, Rule{50_000, time.Minute, 30}, nil},
		"normal after ten": {"normal", settings.Lane{}, Rule{50_000, 10 * time.Minute, 20},
			nil},
		"offline nobody, for none is below it as shipped": {"offline", settings.Lane{}, Rule{50_000, 10 * time.Minute, 10},
			nil},
		"another name is like normal": {"mine", settings.Lane{}, Rule{50_000, 10 * time.Minute, 20}, nil},
		"a row says otherwise": {"mine",
			settings.Lane{BacklogMax: 7, LateSeconds: 8, Importance: 9}, Rule{7, 8 * time.Second, 9}, nil},
		"one made important is late as soon": {"mine", settings.Lane{Importance: 40},
			Rule{50_000, time.Minute, 40}, nil},
		"what cannot be is named": {"normal",
			settings.Lane{BacklogMax: -1, LateSeconds: -2, Importance: -3}, Rule{50_000, 10 * time.Minute, 20},
			[]string{"importance", "backlog_max", "late_seconds"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, errs := RuleOf(tt.lane, tt.row)
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
	important = ledger.LaneName{Media: "tulip", Lane: "important"}
	normal    = ledger.LaneName{Media: "tulip", Lane: "normal"}
	offline   = ledger.LaneName{Media: "tulip", Lane: "offline"}
)

// start is the moment of the first look.
var start = time.Date(2026, 11, 21, 9, 0, 30, 0, time.UTC)

// look is a look at a lane of one partition.
func (b *Brakes) look(name ledger.LaneName, now time.Time, committed, end int64) {
	b.Saw(name, now, b.Begin(name), []broker.PartitionOffsets{{Committed: committed, End: end}})
}

func TestBrakes_ALaneRestsAtItsBound(t *testing.T) {
	t.Parallel()
	b := New()
	b.SetRule(normal, Rule{BacklogMax: 100})
	b.Sent(normal, 99)
	require.Empty(t, b.Held(normal))
	b.Sent(normal, 1)
	require.Equal(t, ByBacklog, b.Held(normal), "also before the first look")
	b.look(normal, start, 20, 100)
	require.Empty(t, b.Held(normal))
	b.Sent(normal, 20)
	require.Equal(t, ByBacklog, b.Held(normal), "what was sent since the look counts")
	b.look(normal, start, 21, 120)
	require.Empty(t, b.Held(normal))

	// What is sent while the look is under way is counted again rather than not at all.
	before := b.Begin(normal)
	b.Sent(normal, 1)
	b.Saw(normal, start, before, []broker.PartitionOffsets{{Committed: 21, End: 120}})
	require.Equal(t, ByBacklog, b.Held(normal))
	require.Equal(t, []ledger.LaneName{normal}, b.HeldLanes())

	b.Saw(normal, start, b.Begin(normal), nil)
	require.Empty(t, b.Held(normal), "a lane that cannot be looked at is free")
}

func TestBrakes_ALateLaneHoldsTheLessImportantOnes(t *testing.T) {
	t.Parallel()
	b := New()
	other := ledger.LaneName{Media: "orchid", Lane: "offline"}
	for _, name := range []ledger.LaneName{important, normal, offline, other} {
		rule, _ := RuleOf(name.Lane, settings.Lane{})
		b.SetRule(name, rule)
	}
	b.look(important, start, 0, 100) // 100 are there at 0s,
	b.look(important, start.Add(30*time.Second), 50, 200)
	b.look(important, start.Add(70*time.Second), 100, 200) // and the last of them is done by 70s.
	require.Empty(t, b.HeldLanes(), "the oldest is 40 seconds old")
	b.look(important, start.Add(91*time.Second), 101, 200)
	require.Equal(t, []ledger.LaneName{normal, offline}, b.HeldLanes(),
		"61 seconds; another media has nothing to do with it")
	require.Equal(t, ByLate, b.Held(offline))
	b.look(important, start.Add(93*time.Second), 200, 200)
	require.Empty(t, b.HeldLanes())

	b.look(normal, start.Add(100*time.Second), 0, 10)
	b.look(normal, start.Add(701*time.Second), 1, 10)
	require.Equal(t, []ledger.LaneName{offline}, b.HeldLanes(), "the lesser holds the least")
	b.look(normal, start.Add(762*time.Second), 1, 10)
	require.Empty(t, b.HeldLanes(), "nobody works it off: holding others back helps nobody")
}

func TestBrakes_AgesOfPartitions(t *testing.T) {
	t.Parallel()
	l := New().lane(normal)
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
	brakes *Brakes
	lanes  []*modelLane
}

type modelLane struct {
	name     ledger.LaneName
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
				if m.brakes.Held(l.name) != "" {
					if l.firstBraked < 0 {
						l.firstBraked = time.Duration(s) * time.Second
					}
					break
				}
				n := min(batch, l.toFanOut)
				m.brakes.Sent(l.name, n)
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
	m := &model{brakes: New()}
	for i, name := range []ledger.LaneName{important, normal, offline} {
		rule, _ := RuleOf(name.Lane, settings.Lane{BacklogMax: bound})
		m.brakes.SetRule(name, rule)
		m.lanes = append(m.lanes, &modelLane{name: name, weight: weights[i], perRun: []int{3000, 3600, 3600}[i],
			firstBraked: -1})
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
		rule, _ := RuleOf("", settings.Lane{})
		free.brakes.SetRule(l.name, rule)
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

func TestBrakes_AreShortForAWhileAfterALaneWasLate(t *testing.T) {
	t.Parallel()
	setup := func() *Brakes {
		b := New()
		for _, name := range []ledger.LaneName{important, offline} {
			rule, _ := RuleOf(name.Lane, settings.Lane{})
			b.SetRule(name, rule)
		}
		b.look(important, start, 0, 100)
		b.look(important, start.Add(lateImportant+time.Second), 1, 100)
		require.Equal(t, ByLate, b.Held(offline))
		b.look(important, start.Add(lateImportant+2*time.Second), 100, 100)
		require.Empty(t, b.Held(offline), "nothing of it waits")
		return b
	}
	b := setup()
	b.Sent(offline, shortMin-1)
	require.Empty(t, b.Held(offline))
	b.Sent(offline, 1)
	require.Equal(t, ByLate, b.Held(offline))
	b.look(important, start.Add(lateImportant+shortFor), 100, 100)
	require.Equal(t, ByLate, b.Held(offline))
	b.look(important, start.Add(lateImportant+shortFor+time.Second), 100, 100)
	require.Empty(t, b.Held(offline))

	b = setup()
	b.lane(offline).rate = 100 // a second
	b.Sent(offline, 100*30-1)
	require.Empty(t, b.Held(offline), "so much is done in half a minute")
	b.Sent(offline, 1)
	require.Equal(t, ByLate, b.Held(offline))
}
