package results

import (
	"adsync/base/day"
	"adsync/base/metric"
)

// Judging decides whether the answers of a whole pull are believed. Its functions read nothing: they run in the
// transaction that writes, under the scope's fence, on the rows that it has read. The zero value believes every
// answer. A person's confirmation overrides it.
type Judging struct {
	// Judge decides about the answer for one day. others are the figures of the same day elsewhere, the largest cost
	// first; none where Compares returns false.
	Judge func(a *Answer, others []Figure) Verdict
	// With are the reports and levels with whose figures an answer is compared, the answer's own included. The cash flow
	// is added.
	With []ReportLevel
	// Compares reports whether an answer is compared with other figures: reading them takes two statements.
	Compares func(a *Answer) bool
}

// JudgeRows returns why an answer of came rows is suspect where the tables hold held rows of its scope; "" if it is
// believed. It runs like the functions of Judging. nil believes every answer.
type JudgeRows func(came, held int) (suspect string)

// Answer is a whole pull's answer for one day, with the stored rows of that day at its level.
type Answer struct {
	ReportLevel
	Day        day.Day
	RunID      int64
	Currency   string
	Cost, Rows int64
	Stored     int64 // the stored cost
	LostCost   int64 // the part of Stored whose rows the answer lacks
	LostRows   int
	Before     Coverage
}

// Figure is the stored cost of the same day at another level, in the other granularity, or in the cash flow.
type Figure struct {
	ReportLevel
	Cost     int64
	Coverage Coverage // zero when it was never pulled
}

// Verdict is the decision about an answer.
type Verdict struct {
	Suspect string // why the answer is not believed; "" if it is
	// Believed is set if the answer is accepted although something contradicts it: a person confirmed it, or the
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

// Answered reports whether cost is the platform's last answer for the whole day.
func (c *Coverage) Answered(cost int64, currency string) bool {
	return sameCost(c.AnswerCost, cost, currency)
}

// Believed reports whether cost was accepted although something contradicts it.
func (c *Coverage) Believed(cost int64, currency string) bool {
	return sameCost(c.BelievedCost, cost, currency)
}

func sameCost(noted *int64, cost int64, currency string) bool {
	return noted != nil && !metric.All[metric.Cost].Differ(*noted, cost, currency)
}

// String returns the name of a report and level in a note.
func (r ReportLevel) String() string { return r.Report + " by " + r.Level }

// judge decides about an answer. confirmed is set if a person confirmed it.
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
