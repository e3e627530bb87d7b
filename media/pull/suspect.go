package pull

import (
	"fmt"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/money"
	"adsync/base/plural"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/media"
)

// An answer about a day is suspect when it lacks what the tables already hold of that day: its own rows, or money
// that another level, the other granularity or the cash flow has. Platforms answer "success, no rows" in the early
// morning, also to the first query of a day.

const (
	// lostShareMax is the share of a day's cost that the rows missing from an answer may have had before the answer is
	// suspect.
	lostShareMax = 0.05
	// otherShareMax is the share by which an answer may be below other figures of the day: platforms refund up to a
	// fifteenth for invalid clicks, and levels are pulled one after another. The comparison of settled days handles
	// smaller differences.
	otherShareMax = 0.10
	// freshShareMax is that share for freshFor after the day's end: levels are published at different delays.
	freshShareMax = 0.5
	freshFor      = 2 * time.Hour
	// believedFrom is the hour of the next day from which a repeated answer may be believed, by the account's clock.
	believedFrom = 12
)

// rule judges an account's answers at one moment. Its functions read no tables: the store calls them under the fence.
type rule struct {
	// now is the business time of the answers. Days that are not over in zone are not compared: their figures still
	// change.
	now  time.Time
	zone *time.Location
}

// judgeReport returns the rule for an account's answers of a report. An answer of a report that does not hold all of
// the account's spend is compared with its own rows only.
func (p *puller) judgeReport(account media.Account, report media.Report) results.Judging {
	r := &rule{now: p.Clock.Now(), zone: account.Zone}
	if report.Overlaps {
		return results.Judging{Judge: r.report}
	}
	return results.Judging{Judge: r.report, With: p.whole, Compares: r.compares}
}

// judgeFlow returns the rule for an account's cash flow.
func (p *puller) judgeFlow(account media.Account) results.Judging {
	r := &rule{now: p.Clock.Now(), zone: account.Zone}
	return results.Judging{Judge: r.flow, With: p.whole, Compares: r.compares}
}

// lacksAllRows returns why balances or cash flow without a row are suspect; "" if they are not. held is the number of
// rows that the tables hold.
func lacksAllRows(came, held int) (suspect string) {
	if came > 0 || held == 0 {
		return ""
	}
	return "the platform's answer lacks all " + plural.Count(held, "row", "rows")
}

// lacksAllObjects returns why an empty full list is suspect while the table has live objects; "" if it is not.
func lacksAllObjects(came, live int) (suspect string) {
	if came > 0 || live == 0 {
		return ""
	}
	return "the platform's list is empty though there are live objects"
}

// runTimes holds the lowest ids of runs that were made after three moments of the next day.
type runTimes struct{ ended, settling, noon int64 }

// over reports whether a day is over, and returns the share of its cost that an answer may lack now.
func (r *rule) over(d day.Day) (is bool, share float64, at runTimes) {
	next := d.Add(1)
	ended := next.Start(r.zone)
	settling := ended.Add(freshFor)
	noon := next.Hour(believedFrom, r.zone)
	at = runTimes{task.FirstRunIDAt(ended), task.FirstRunIDAt(settling), task.FirstRunIDAt(noon)}
	if r.now.Before(settling) {
		return !r.now.Before(ended), freshShareMax, at
	}
	return true, otherShareMax, at
}

// below reports whether a cost is below another one by more than a share of it.
func below(cost, of int64, currency string, share float64) bool {
	return of > cost && metric.All[metric.Cost].Differ(cost, of, currency) && float64(of-cost) > share*float64(of)
}

// lacksRows reports whether the answer lacks too many of its own earlier rows.
func lacksRows(a *results.Answer) bool {
	return a.Stored > 0 && (a.Rows == 0 || float64(a.LostCost) > lostShareMax*float64(a.Stored))
}

// isNews reports whether the answer may contradict figures that agreed before it. Most answers about past days repeat
// what is known.
func isNews(a *results.Answer) bool {
	return a.Before.CompleteVersion == 0 || a.Before.State != results.Complete || lacksRows(a) ||
		metric.All[metric.Cost].Differ(a.Cost, a.Stored, a.Currency)
}

// answeredTwice reports whether two runs got the same answer, the later one after noon of the next day.
func answeredTwice(cost int64, currency string, c *results.Coverage, last int64, at runTimes) bool {
	return c.Answered(cost, currency) && c.AnswerRun > 0 && c.AnswerRun != last && last >= at.noon
}

// compares reports whether an answer is compared with other figures: its day is over and it is news.
func (r *rule) compares(a *results.Answer) bool {
	over, _, _ := r.over(a.Day)
	return over && isNews(a)
}

// report decides whether an answer of a report is believed. others are the figures of other reports and levels for
// the same day; there are none when the day is not over or the answer is no news.
func (r *rule) report(a *results.Answer, others []results.Figure) results.Verdict {
	_, share, at := r.over(a.Day)
	lacking := slices.IndexFunc(others, func(f results.Figure) bool { return below(a.Cost, f.Cost, a.Currency, share) })
	var reason string
	switch {
	case lacksRows(a):
		reason = fmt.Sprintf("the platform's answer lacks %d of the earlier rows, with %s of %s %s",
			a.LostRows, money.Format(a.LostCost, a.Currency), a.Currency, money.Format(a.Stored, a.Currency))
	case lacking >= 0:
		f := others[lacking]
		reason = fmt.Sprintf("the platform's answer has %s %s, and %s of the same day has %s",
			a.Currency, money.Format(a.Cost, a.Currency), f.ReportLevel, money.Format(f.Cost, a.Currency))
	default:
		return results.Verdict{Doubts: doubts(a, others, share, at)}
	}
	repeated := answeredTwice(a.Cost, a.Currency, &a.Before, a.RunID, at)
	witnesses := 0
	for _, f := range others {
		if c := f.Coverage; (c.State == results.Complete || c.State == results.Suspect) &&
			answeredTwice(a.Cost, a.Currency, &c, c.RunID, at) {
			witnesses++
		}
	}
	if a.Before.Believed(a.Cost, a.Currency) || witnesses > 1 || witnesses == 1 && repeated {
		return results.Verdict{Believed: true}
	}
	v := results.Verdict{Suspect: reason}
	if !repeated {
		return v
	}
	// The platform repeats its answer: figures that contradict it and were pulled before are pulled again.
	for _, f := range others {
		c := &f.Coverage
		if c.State == results.Complete && c.RunID < a.Before.AnswerRun && below(a.Cost, f.Cost, a.Currency, share) {
			v.Doubts = append(v.Doubts, doubt(a, f))
		}
	}
	return v
}

// doubts returns the figures that lack too much compared with a believed answer. Figures that were pulled before the
// day's end are left out.
func doubts(a *results.Answer, others []results.Figure, share float64, at runTimes) []results.Doubt {
	var found []results.Doubt
	for _, f := range others {
		c := &f.Coverage
		if c.State != results.Complete || c.RunID < at.ended || c.Believed(f.Cost, a.Currency) {
			continue
		}
		may := share
		if c.RunID < at.settling {
			may = freshShareMax
		}
		if below(f.Cost, a.Cost, a.Currency, may) {
			found = append(found, doubt(a, f))
		}
	}
	return found
}

// flow decides whether a day's cash flow is believed. A day without a row that had spend is suspect, and spent money
// contradicts figures that have little or none of it. No other level repeats a day without a row: it is believed when
// the platform repeats it after noon of the next day.
func (r *rule) flow(a *results.Answer, others []results.Figure) results.Verdict {
	_, _, at := r.over(a.Day)
	if a.Rows > 0 {
		return results.Verdict{Doubts: doubts(a, others, freshShareMax, at)}
	}
	for _, f := range others {
		if !below(0, f.Cost, a.Currency, otherShareMax) {
			continue
		}
		if a.Before.Believed(0, a.Currency) || answeredTwice(0, a.Currency, &a.Before, a.RunID, at) {
			return results.Verdict{Believed: true}
		}
		return results.Verdict{Suspect: fmt.Sprintf(
			"the platform's answer has no cash flow, and %s of the same day has %s %s", f.ReportLevel, a.Currency,
			money.Format(f.Cost, a.Currency),
		)}
	}
	return results.Verdict{}
}

func doubt(a *results.Answer, f results.Figure) results.Doubt {
	return results.Doubt{ReportLevel: f.ReportLevel, Day: a.Day, Note: fmt.Sprintf(
		"the last answer has %s %s, and %s of the same day has %s", a.Currency, money.Format(f.Cost, a.Currency),
		a.ReportLevel, money.Format(a.Cost, a.Currency),
	)}
}
