package results

import (
	"adsync/base/day"
	"adsync/base/metric"
)

// Judging decides whether the answers of a whole pull are believed. Its functions read nothing: they run in the
// transaction that writes, under the scope's fence, on what the tables hold then. The zero value believes every
// answer. A person's confirmation stands above it.
type Judging struct {
	// Judge decides about the answer for one day. others are the figures of the same day elsewhere, the largest cost
	// first, none of them where Compares says no.
	Judge func(a *Answer, others []Figure) Verdict
	// With are the reports and levels whose figures an answer is compared with, the answer's own included. The cash
	// flow is added.
	With []ReportLevel
	// Compares reports whether an answer is compared with other figures: reading them takes two statements.
	Compares func(a *Answer) bool
}

// JudgeRows returns why an answer of so many rows is suspect where the tables hold so many of its scope; "" when it
// is believed. It runs as the functions of Judging do. nil believes every answer.
type JudgeRows func(came, held int) (suspect string)

// Answer is what a whole pull returned for one day, with what the tables held of that day at its level before.
type Answer struct {
	ReportLevel
	Day        day.Day
	RunID      int64
	Currency   string
	Cost, Rows int64
	Stored     int64 // the cost that the tables hold
	LostCost   int64 // of it, that of rows which the answer lacks
	LostRows   int
	Before     Coverage
}

// Figure is what the tables hold of the same day at another level, in the other granularity, or in the cash flow.
type Figure struct {
	ReportLevel
	Cost     int64
	Coverage Coverage // zero when it was never pulled
}

// Verdict is what becomes of an answer.
type Verdict struct {
	Suspect string // why the answer is not believed; "" when it is
	// Believed is set when the answer is taken although something contradicts it: a person confirmed it, or the
	// platform repeats it.
	Believed bool
	Doubts   []Doubt
}

// Doubt is a day of another report or level that an answer contradicts: it is suspect, and is pulled again.
type Doubt struct {
	ReportLevel
	Day  day.Day
	Note string
}

// Answered reports whether cost is what the platform last answered for the whole day.
func (c *Coverage) Answered(cost int64) bool { return sameCost(c.AnswerCost, cost) }

// Believed reports whether cost was taken although something contradicts it.
func (c *Coverage) Believed(cost int64) bool { return sameCost(c.BelievedCost, cost) }

func sameCost(noted *int64, cost int64) bool {
	return noted != nil && !metric.All[metric.Cost].Differ(*noted, cost)
}

// String names a report and level in a note.
func (r ReportLevel) String() string { return r.Report + " by " + r.Level }

// judge decides about an answer. confirmed says that a person has.
func (j *Judging) judge(a *Answer, others []Figure, confirmed bool) Verdict {
	if confirmed || j.Judge == nil {
		return Verdict{Believed: confirmed}
	}
	return j.Judge(a, others)
}

func (j JudgeRows) judge(came, held int, confirmed bool) (suspect string) {
	if confirmed || j == nil {
		return ""
	}
	return j(came, held)
}
