package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/base/sqldb"
)

// cashFlow is the report and level of the accounts' cash flow.
var cashFlow = ReportLevel{Report: "fund_daily", Level: "account"}

// readEvidence returns the stored figures of days of an account, by day: those of each report and level of with, and
// of the cash flow. It locks their coverage for the transaction, so that of two pulls that contradict each other the
// later one sees the earlier.
func readEvidence(
	d *sqldb.DB, tx *gorm.DB, accountID int64, days []day.Day, with []ReportLevel,
) (map[day.Day][]Figure, error) {
	var reports, levels []string
	for _, r := range with {
		reports, levels = sqldb.AppendNew(reports, r.Report), sqldb.AppendNew(levels, r.Level)
	}
	var known []Coverage
	err := tx.Raw(
		"SELECT * FROM coverage WHERE account_id = ? AND report IN ? AND level IN ? AND day IN ? ORDER BY report, level, day"+
			d.Dialect().ForUpdate(),
		accountID, reports, levels, days).Scan(&known).Error
	if err != nil {
		return nil, fmt.Errorf("read the coverage of other levels: %w", err)
	}
	type place struct {
		ReportLevel
		day day.Day
	}
	figures := map[place]*Figure{}
	at := func(report, level string, on day.Day) *Figure {
		p := place{ReportLevel{Report: report, Level: level}, on}
		if figures[p] == nil {
			figures[p] = &Figure{ReportLevel: p.ReportLevel}
		}
		return figures[p]
	}
	for _, c := range known {
		at(c.Report, c.Level, c.Day).Coverage = c
	}
	sums, err := costSums(tx, accountID, days, reports, levels)
	if err != nil {
		return nil, fmt.Errorf("add up the cost of other levels: %w", err)
	}
	for _, s := range sums {
		at(s.Report, s.Level, s.Day).Cost = s.Cost
	}
	evidence := map[day.Day][]Figure{}
	for p, f := range figures {
		if p.ReportLevel == cashFlow || slices.Contains(with, p.ReportLevel) {
			evidence[p.day] = append(evidence[p.day], *f)
		}
	}
	for _, all := range evidence {
		// The largest cost is named first.
		slices.SortFunc(all, func(a, b Figure) int {
			if a.Cost != b.Cost {
				return int(min(max(b.Cost-a.Cost, -1), 1))
			}
			return strings.Compare(a.String(), b.String())
		})
	}
	return evidence, nil
}

type costSum struct {
	Report string
	Level  string
	Day    day.Day
	Cost   int64
}

// costSums adds up the cost of days of an account by report and level, and the spend in its cash flow.
func costSums(tx *gorm.DB, accountID int64, days []day.Day, reports, levels []string) ([]costSum, error) {
	var parts []string
	var args []any
	for _, report := range reports {
		parts = append(parts, "SELECT '"+report+
			"' AS report, level, day, CAST(COALESCE(SUM(cost), 0) AS SIGNED) AS cost FROM "+
			ReportTable(report == "report_hourly").Name+
			" WHERE day IN ? AND account_id = ? AND level IN ? GROUP BY day, level")
		args = append(args, days, accountID, levels)
	}
	parts = append(parts, "SELECT '"+cashFlow.Report+"', '"+cashFlow.Level+
		"', day, COALESCE(paid, 0) FROM fund_daily WHERE day IN ? AND account_id = ? AND fund = ?")
	args = append(args, days, accountID, string(fund.Total))
	var sums []costSum
	return sums, tx.Raw(strings.Join(parts, " UNION ALL "), args...).Scan(&sums).Error
}

// markDoubts makes days suspect that an answer contradicts. Whole pulls that come meanwhile set their own state.
func markDoubts(tx *gorm.DB, accountID int64, doubts []Doubt) error {
	for _, x := range doubts {
		err := tx.Exec(
			"UPDATE coverage SET state = ?, note = ? WHERE account_id = ? AND report = ? AND level = ? AND day = ?"+
				" AND state = ?",
			Suspect, x.Note, accountID, x.Report, x.Level, x.Day, Complete).Error
		if err != nil {
			return fmt.Errorf("mark the days that an answer contradicts: %w", err)
		}
	}
	return nil
}

// judgeReport judges a pull's answers, and writes the verdicts into its outcomes.
func judgeReport(d *sqldb.DB, tx *gorm.DB, w *ReportWrite, answers []Answer, outcomes []dayOutcome,
	result *ReportResult) error {
	evidence, err := evidenceFor(d, tx, w.AccountID, &w.Judging, answers, w.Confirmed)
	if err != nil {
		return err
	}
	for i := range answers {
		a, o := &answers[i], &outcomes[i]
		if o.opens {
			continue // It lacks figures or rows, so that its cost is not the day's.
		}
		v := w.Judging.judge(a, evidence[a.Day], w.Confirmed)
		o.apply(a, v)
		if v.Suspect != "" {
			result.Suspect = append(result.Suspect, a.Day)
			result.Why = cmp.Or(result.Why, v.Suspect)
		}
		result.Doubts = append(result.Doubts, v.Doubts...)
	}
	return markDoubts(tx, w.AccountID, result.Doubts)
}

// answers returns a whole pull's answer for each day; nil for any other pull. before is the coverage of these days.
func (w *ReportWrite) answers(before []Coverage, stored *storedRows, stale map[day.Day]*staleRows) []Answer {
	if !w.Whole || w.FromHour > 0 {
		return nil
	}
	answers := make([]Answer, len(w.Days))
	byDay := make(map[day.Day]*Answer, len(w.Days))
	for i, on := range w.Days {
		answers[i] = Answer{ReportLevel: ReportLevel{Report: w.Report, Level: w.Level}, Day: on, RunID: w.RunID,
			Currency: w.Currency, Stored: stored.costs[on], Before: before[i]}
		if s := stale[on]; s != nil {
			answers[i].LostCost, answers[i].LostRows = s.cost, len(s.keys)
		}
		byDay[on] = &answers[i]
	}
	twice := len(stored.rows) < len(w.Rows)
	for i := range w.Rows {
		row := &w.Rows[i]
		a := byDay[row.Day]
		if a == nil || twice && stored.rows[row.key(w.Hourly)] != i {
			continue
		}
		cost, _ := row.Metrics.Get(metric.Cost)
		a.Cost, a.Rows = a.Cost+cost, a.Rows+1
	}
	return answers
}

// evidenceFor reads the figures with which answers are compared, for the days that are compared; none if a person
// confirmed the answers.
func evidenceFor(d *sqldb.DB, tx *gorm.DB, accountID int64, j *Judging, answers []Answer,
	confirmed bool) (map[day.Day][]Figure, error) {
	if confirmed || j.Compares == nil || len(j.With) == 0 {
		return nil, nil
	}
	var days []day.Day
	for i := range answers {
		if j.Compares(&answers[i]) {
			days = append(days, answers[i].Day)
		}
	}
	if len(days) == 0 {
		return nil, nil
	}
	evidence, err := readEvidence(d, tx, accountID, days, j.With)
	for on, figures := range evidence {
		evidence[on] = slices.DeleteFunc(figures, func(f Figure) bool { return f.ReportLevel == answers[0].ReportLevel })
	}
	return evidence, err
}

// apply writes the verdict on an answer into the day's outcome.
func (o *dayOutcome) apply(a *Answer, v Verdict) {
	o.answered, o.answerCost, o.answerRun = true, a.Cost, a.RunID
	if a.Before.Answered(a.Cost, a.Currency) && a.Before.AnswerRun > 0 {
		o.answerCost, o.answerRun = *a.Before.AnswerCost, a.Before.AnswerRun
	}
	switch {
	case v.Suspect != "":
		o.state, o.whole, o.note = Suspect, false, v.Suspect
	case v.Believed || a.Before.Believed(a.Cost, a.Currency):
		o.believed = &a.Cost
	}
}

// judgeFunds judges the cash flow of each day, and writes the verdicts into its outcomes.
func judgeFunds(d *sqldb.DB, tx *gorm.DB, w *FundWrite, before []Coverage, have fundTables, outcomes []dayOutcome,
	result *ReportResult) error {
	if !w.daily() || !w.Whole {
		return nil
	}
	paid := map[day.Day]int64{}
	for _, s := range w.Sums {
		if s.Kind == fund.Total {
			paid[s.Day] = s.Values[fund.Paid].Micros
		}
	}
	var answers []Answer
	var of []*dayOutcome
	for i := range outcomes {
		o := &outcomes[i]
		if o.state != Complete {
			continue
		}
		answers = append(answers, Answer{
			ReportLevel: cashFlow, Day: o.day, RunID: w.RunID, Currency: w.Currency, Cost: paid[o.day], Rows: o.rows,
			Stored: have.public[fundKey{day: o.day, name: string(fund.Total)}][fund.Paid].Micros, Before: before[i],
		})
		of = append(of, o)
	}
	evidence, err := evidenceFor(d, tx, w.AccountID, &w.Judging, answers, w.Confirmed)
	if err != nil {
		return err
	}
	for i := range answers {
		a := &answers[i]
		v := w.Judging.judge(a, evidence[a.Day], w.Confirmed)
		of[i].apply(a, v)
		if v.Suspect != "" {
			result.Suspect = append(result.Suspect, a.Day)
			result.Why = cmp.Or(result.Why, v.Suspect)
		}
		result.Doubts = append(result.Doubts, v.Doubts...)
	}
	return markDoubts(tx, w.AccountID, result.Doubts)
}
