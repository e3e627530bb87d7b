package watch

import (
	"context"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store/overview"
	"adsync/base/task"
	"adsync/media"
)

// tasksMax is for how many tasks of a platform freshness is exported: those with the oldest figures.
const tasksMax = 200

// ageBuckets are the bounds of the exported ages, in seconds.
var ageBuckets = []float64{60, 120, 180, 300, 600, 1200, 1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600, 16 * 3600, 24 * 3600,
	48 * 3600}

// ages holds the ages of accounts' newest good pulls.
type ages struct {
	buckets map[float64]uint64
	count   uint64
	sum     float64
	late    int
	oldest  time.Duration
}

func (a *ages) add(age time.Duration, isLate bool) {
	for _, bound := range ageBuckets {
		if age.Seconds() <= bound {
			a.buckets[bound]++
		}
	}
	a.count++
	a.sum += age.Seconds()
	a.oldest = max(a.oldest, age)
	if isLate {
		a.late++
	}
}

// scope is a report and level that tasks pull. Tasks of several days are measured by the newest: today, or yesterday
// for tasks that look back. Configuration has no day.
type scope struct {
	report, level string
	dated         bool
	back          int // days before today, where dated
	tasks         []scopeTask
}

type scopeTask struct {
	name   string
	tiers  []string // nil = all
	period time.Duration
	// hours is true if the task pulls the last hours of a day, so that a pull of these counts. Other tasks pull the whole
	// day.
	hours bool
}

// scopesOf returns the scopes of a platform whose tasks can be measured by a present day, with these tasks.
func scopesOf(p media.Platform, tasks []task.Task, now time.Time) []scope {
	var scopes []scope
	n := 0
	for _, t := range tasks {
		what, ok := strings.CutPrefix(t.Handler, p.Name()+".")
		if !ok || n == tasksMax {
			continue
		}
		params, err := media.ReadPullParams(t.Params)
		if err != nil {
			continue
		}
		s, ok := scopeOf(p, what, params.Level)
		if !ok || params.Skip > 0 {
			continue
		}
		if s.dated && params.Days > 1 {
			s.back = 1
		}
		n++
		i := slices.IndexFunc(scopes, func(have scope) bool {
			return have.report == s.report && have.level == s.level && have.back == s.back
		})
		if i < 0 {
			i = len(scopes)
			scopes = append(scopes, s)
		}
		scopes[i].tasks = append(scopes[i].tasks, scopeTask{
			name: t.Name, tiers: t.Tiers(), period: period(t, now), hours: params.MovingHours > 0 || params.Mode == "changes",
		})
	}
	return scopes
}

// scopeOf returns the scope that a handler pulls.
func scopeOf(p media.Platform, what, level string) (scope, bool) {
	for _, r := range p.Reports() {
		if r.Name == what && r.Level == level {
			return scope{report: r.Name, level: r.Level, dated: true}, true
		}
	}
	for _, l := range p.Lists() {
		if l.Name == what {
			return scope{report: l.Name, level: l.Level}, true
		}
	}
	return scope{report: what, level: media.FundLevel}, what == media.BalanceName
}

// period returns the longest time between the task's next ticks; 0 if it has none.
func period(t task.Task, now time.Time) time.Duration {
	s, err := schedule.Parse(t.Cron, t.Timezone, t.Name)
	if err != nil { // The task starts after others.
		return 0
	}
	var longest time.Duration
	for i, moments := 1, s.NextN(now, 4); i < len(moments); i++ {
		longest = max(longest, moments[i].Sub(moments[i-1]))
	}
	return longest
}

// readAges reads the ages of the accounts' figures, by task.
func (w *walk) readAges(ctx context.Context, g *group) error {
	if len(g.pulled) == 0 {
		return nil
	}
	for _, s := range w.scopes {
		on := day.Epoch
		if s.dated {
			on = g.today.Add(-s.back)
		}
		rows, err := w.Store.PulledDays(ctx, g.pulled, s.report, s.level, []day.Day{on})
		if err != nil {
			return err
		}
		pulled := make(map[int64]overview.PulledDay, len(rows))
		for _, r := range rows {
			pulled[r.AccountID] = r
		}
		for _, a := range g.accounts {
			if a.Parked != "" {
				continue
			}
			for _, t := range s.tasks {
				w.addAge(a, t, g.age(pulled[a.ID], t, s.dated, on))
			}
		}
	}
	return nil
}

// age returns the age of a day's figures. A day that was never pulled is as old as the day itself.
func (g *group) age(pulled overview.PulledDay, t scopeTask, dated bool, on day.Day) time.Duration {
	at := pulled.WholeAt()
	if t.hours {
		at = pulled.GoodAt()
	}
	switch {
	case !at.IsZero():
		return min(max(g.now.Sub(at.Add(g.shift)), 0), ageMax)
	case dated:
		return g.now.Sub(on.Start(g.zone))
	default:
		return ageMax
	}
}

func (w *walk) addAge(a overview.WatchAccount, t scopeTask, age time.Duration) {
	if t.tiers != nil && !slices.Contains(t.tiers, a.Tier) {
		return
	}
	key := scopeKey{t.name, a.Tier}
	of := w.ages[key]
	if of == nil {
		of = &ages{buckets: map[float64]uint64{}}
		for _, bound := range ageBuckets {
			of.buckets[bound] = 0
		}
		w.ages[key] = of
	}
	of.add(age, t.period > 0 && age > 2*t.period)
}
