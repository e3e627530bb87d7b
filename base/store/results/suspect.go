package results

import (
	"fmt"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/task"
)

// An answer about a day is suspect when it lacks what the tables already hold of that day: its own rows, or money that another level,
// the other granularity or the cash flow has. Platforms answer "success, no rows" in the early morning, also to the first question.

const (
	// SuspectShareMax is the share of a day's cost that rows which an answer lacks may have had before it is suspect.
	SuspectShareMax = 0.05
	// otherShareMax is how much less than other figures of the day an answer may have: platforms give back up to a fifteenth for invalid
	// clicks, and levels are pulled one after another. Less than that is left to the comparison of settled days.
	otherShareMax = 0.10
	// freshShareMax is that share during the first hours after the day's end: levels are published at different delays.
	freshShareMax = 0.5
	freshFor      = 2 * time.Hour
	// believedFrom is the hour of the next day from which a repeated answer may be believed, by the account's clock.
	believedFrom = 12
)

// costIndex is the metric by which answers are judged.
var costIndex = metric.Index("cost")

// Comparing names what an answer about a day is compared with. The zero value compares it with its own rows alone.
type Comparing struct {
	// Now is the business time of the answer. Days that are not over in Zone are not compared: their figures move all the time.
	Now  time.Time
	Zone *time.Location
	// With are the reports and levels that hold all of an account's spend, the answer's own included.
	With []ReportLevel
}

// Doubt is a day of another report or level that an answer contradicts: it is suspect, and is pulled again.
type Doubt struct {
	ReportLevel
	Day  day.Day
	Note string
}

// answer is what a whole pull returned for one day, with what the tables held of that day at its level before.
type answer struct {
	ReportLevel
	day        day.Day
	runID      int64
	currency   string
	cost, rows int64
	stored     int64 // the cost that the tables hold
	lostCost   int64 // of it, that of rows which the answer lacks
	lostRows   int
	before     Coverage
}

// figure is what the tables hold of the same day at another level, in the other granularity, or in the cash flow.
type figure struct {
	ReportLevel
	cost     int64
	coverage Coverage // zero when it was never pulled
}

// verdict is what becomes of an answer.
type verdict struct {
	suspect string // why the answer is not believed; "" when it is
	// believed is set when the answer is taken although something contradicts it: a person confirmed it, or the platform repeats it.
	believed bool
	doubts   []Doubt
}

// runTimes are the lowest ids of runs that were made after moments of the day after.
type runTimes struct{ ended, settling, noon int64 }

// over reports whether a day is over, and which share of its cost an answer may lack now.
func (c *Comparing) over(d day.Day) (is bool, share float64, at runTimes) {
	if c.Zone == nil {
		return false, 0, at
	}
	next := d.Add(1)
	ended := next.Start(c.Zone)
	settling := ended.Add(freshFor)
	at = runTimes{task.FirstRunIDAt(ended), task.FirstRunIDAt(settling), task.FirstRunIDAt(next.Hour(believedFrom, c.Zone))}
	if c.Now.Before(settling) {
		return !c.Now.Before(ended), freshShareMax, at
	}
	return true, otherShareMax, at
}

// short reports whether a cost lacks more than a share of another one.
func short(cost, of int64, share float64) bool {
	return of > cost && metric.All[costIndex].Differ(cost, of) && float64(of-cost) > share*float64(of)
}

// same reports whether a cost that was noted is this one.
func same(noted *int64, cost int64) bool {
	return noted != nil && !metric.All[costIndex].Differ(*noted, cost)
}

// lacksRows reports whether the answer lacks too much of its own rows.
func (a *answer) lacksRows() bool {
	return a.stored > 0 && (a.rows == 0 || float64(a.lostCost) > SuspectShareMax*float64(a.stored))
}

// isNews reports whether the answer may contradict figures that agreed before it. Most answers about past days say what is known.
func (a *answer) isNews() bool {
	return a.before.CompleteVersion == 0 || a.before.State != Complete || a.lacksRows() || metric.All[costIndex].Differ(a.cost, a.stored)
}

// told reports whether an answer was given in two runs, the second of them made after noon of the next day.
func told(cost int64, noted *int64, first, last int64, at runTimes) bool {
	return same(noted, cost) && first > 0 && first != last && last >= at.noon
}

// judge decides whether an answer is believed. It reads nothing: others are the figures of the same day elsewhere, none when the day
// is not over or the answer is no news.
func (a *answer) judge(c *Comparing, others []figure) verdict {
	_, share, at := c.over(a.day)
	lacking := slices.IndexFunc(others, func(f figure) bool { return short(a.cost, f.cost, share) })
	var reason string
	switch {
	case a.lacksRows():
		reason = fmt.Sprintf("the platform's answer lacks %d of the rows that there were, with %s of %s %s", a.lostRows, money(a.lostCost), a.currency, money(a.stored))
	case lacking >= 0:
		f := others[lacking]
		reason = fmt.Sprintf("the platform's answer has %s %s, and %s of the same day has %s", a.currency, money(a.cost), f.name(), money(f.cost))
	default:
		return verdict{doubts: a.doubts(others, share, at)}
	}
	repeated := told(a.cost, a.before.AnswerCost, a.before.AnswerRun, a.runID, at)
	witnesses := 0
	for _, f := range others {
		if c := f.coverage; (c.State == Complete || c.State == Suspect) && told(a.cost, c.AnswerCost, c.AnswerRun, c.RunID, at) {
			witnesses++
		}
	}
	if same(a.before.BelievedCost, a.cost) || witnesses > 1 || witnesses == 1 && repeated {
		return verdict{believed: true}
	}
	v := verdict{suspect: reason}
	if !repeated {
		return v
	}
	// The platform stands by its answer: what says otherwise, and was pulled before, is pulled again.
	for _, f := range others {
		if f.coverage.State == Complete && f.coverage.RunID < a.before.AnswerRun && short(a.cost, f.cost, share) {
			v.doubts = append(v.doubts, a.doubt(f))
		}
	}
	return v
}

// doubts returns the figures that lack too much of an answer that is believed, of those that were pulled after the day's end.
func (a *answer) doubts(others []figure, share float64, at runTimes) []Doubt {
	var doubts []Doubt
	for _, f := range others {
		c := &f.coverage
		if c.State != Complete || c.RunID < at.ended || same(c.BelievedCost, f.cost) {
			continue
		}
		may := share
		if c.RunID < at.settling {
			may = freshShareMax
		}
		if short(f.cost, a.cost, may) {
			doubts = append(doubts, a.doubt(f))
		}
	}
	return doubts
}

// judgeFlow decides whether a day's cash flow is believed. A day without a row is repeated by no other level: it is believed when the platform says it
// again after noon of the next day.
func (a *answer) judgeFlow(c *Comparing, others []figure) verdict {
	_, _, at := c.over(a.day)
	if a.rows > 0 {
		return verdict{doubts: a.doubts(others, freshShareMax, at)}
	}
	for _, f := range others {
		if !short(0, f.cost, otherShareMax) {
			continue
		}
		if same(a.before.BelievedCost, 0) || told(0, a.before.AnswerCost, a.before.AnswerRun, a.runID, at) {
			return verdict{believed: true}
		}
		return verdict{suspect: fmt.Sprintf("the platform's answer has no cash flow, and %s of the same day has %s %s", f.name(), a.currency, money(f.cost))}
	}
	return verdict{}
}

func (a *answer) doubt(f figure) Doubt {
	return Doubt{ReportLevel: f.ReportLevel, Day: a.day, Note: fmt.Sprintf("the last answer has %s %s, and %s of the same day has %s", a.currency, money(f.cost), a.name(), money(a.cost))}
}

// name names a report and level in a note.
func (r ReportLevel) name() string { return r.Report + " by " + r.Level }

func money(micros int64) string { return fmt.Sprintf("%.2f", float64(micros)/1e6) }
