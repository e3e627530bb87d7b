package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/sqldb"
)

// cashFlow is the report and level of the accounts' cash flow.
var cashFlow = ReportLevel{Report: "fund_daily", Level: "account"}

// readEvidence returns what the tables hold of days of an account at each report and level of With, and in the cash flow, by day. It
// locks their coverage for the transaction, so that of two pulls that contradict each other the later one finds the earlier.
func readEvidence(d *sqldb.DB, tx *gorm.DB, accountID int64, days []day.Day, with []ReportLevel) (map[day.Day][]figure, error) {
	var reports, levels []string
	for _, r := range with {
		reports, levels = sqldb.AppendNew(reports, r.Report), sqldb.AppendNew(levels, r.Level)
	}
	var known []Coverage
	err := tx.Raw("SELECT * FROM coverage WHERE account_id = ? AND report IN ? AND level IN ? AND day IN ? ORDER BY report, level, day"+d.Dialect().ForUpdate(),
		accountID, reports, levels, days).Scan(&known).Error
	if err != nil {
		return nil, fmt.Errorf("read the coverage of other levels: %w", err)
	}
	type place struct {
		ReportLevel
		day day.Day
	}
	figures := map[place]*figure{}
	at := func(report, level string, on day.Day) *figure {
		p := place{ReportLevel{Report: report, Level: level}, on}
		if figures[p] == nil {
			figures[p] = &figure{ReportLevel: p.ReportLevel}
		}
		return figures[p]
	}
	for _, c := range known {
		at(c.Report, c.Level, c.Day).coverage = c
	}
	sums, err := costSums(tx, accountID, days, reports, levels)
	if err != nil {
		return nil, fmt.Errorf("add up the cost of other levels: %w", err)
	}
	for _, s := range sums {
		at(s.Report, s.Level, s.Day).cost = s.Cost
	}
	evidence := map[day.Day][]figure{}
	for p, f := range figures {
		if p.ReportLevel == cashFlow || slices.Contains(with, p.ReportLevel) {
			evidence[p.day] = append(evidence[p.day], *f)
		}
	}
	for _, all := range evidence {
		// What holds most is named first.
		slices.SortFunc(all, func(a, b figure) int {
			if a.cost != b.cost {
				return int(min(max(b.cost-a.cost, -1), 1))
			}
			return strings.Compare(a.name(), b.name())
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

// costSums adds up the cost of days of an account by report and level, and what its cash flow says was spent.
func costSums(tx *gorm.DB, accountID int64, days []day.Day, reports, levels []string) ([]costSum, error) {
	var parts []string
	var args []any
	for _, report := range reports {
		parts = append(parts, "SELECT '"+report+"' AS report, level, day, CAST(COALESCE(SUM(cost), 0) AS SIGNED) AS cost FROM "+ReportTable(report == "report_hourly").Name+
			" WHERE day IN ? AND account_id = ? AND level IN ? GROUP BY day, level")
		args = append(args, days, accountID, levels)
	}
	parts = append(parts, "SELECT '"+cashFlow.Report+"', '"+cashFlow.Level+"', day, COALESCE(paid, 0) FROM fund_daily WHERE day IN ? AND account_id = ? AND fund = ?")
	args = append(args, days, accountID, string(fund.Total))
	var sums []costSum
	return sums, tx.Raw(strings.Join(parts, " UNION ALL "), args...).Scan(&sums).Error
}

// markDoubts makes days suspect that an answer contradicts. Whole pulls of them that come meanwhile decide for themselves.
func markDoubts(tx *gorm.DB, accountID int64, doubts []Doubt) error {
	for _, x := range doubts {
		err := tx.Exec("UPDATE coverage SET state = ?, note = ? WHERE account_id = ? AND report = ? AND level = ? AND day = ? AND state = ?",
			Suspect, x.Note, accountID, x.Report, x.Level, x.Day, Complete).Error
		if err != nil {
			return fmt.Errorf("mark what an answer contradicts: %w", err)
		}
	}
	return nil
}

// judgeReport judges what a whole pull says of each day, and writes the verdicts into its outcomes. Other figures are read only of days that are
// over and whose answer is news.
func judgeReport(d *sqldb.DB, tx *gorm.DB, w *ReportWrite, before []Coverage, there *thereBefore, stale map[day.Day]*staleRows, outcomes []dayOutcome, result *ReportResult) error {
	if !w.Whole || w.FromHour > 0 {
		return nil
	}
	answers := w.answers(before, there, stale)
	evidence, err := evidenceFor(d, tx, w.AccountID, &w.Comparing, answers, w.Confirmed)
	if err != nil {
		return err
	}
	for i := range answers {
		a, o := &answers[i], &outcomes[i]
		if o.opens {
			continue // It lacks figures or rows, and says nothing of the day's cost.
		}
		v := verdict{believed: true} // by a person
		if !w.Confirmed {
			v = a.judge(&w.Comparing, evidence[a.day])
		}
		o.take(a, v)
		if v.suspect != "" {
			result.Suspect = append(result.Suspect, a.day)
			result.Why = cmp.Or(result.Why, v.suspect)
		}
		result.Doubts = append(result.Doubts, v.doubts...)
	}
	return markDoubts(tx, w.AccountID, result.Doubts)
}

// answers gathers what a pull says of each day. before is the coverage of these days.
func (w *ReportWrite) answers(before []Coverage, there *thereBefore, stale map[day.Day]*staleRows) []answer {
	answers := make([]answer, len(w.Days))
	byDay := make(map[day.Day]*answer, len(w.Days))
	for i, on := range w.Days {
		answers[i] = answer{ReportLevel: ReportLevel{Report: w.Report, Level: w.Level}, day: on, runID: w.RunID, currency: w.Currency, stored: there.costs[on], before: before[i]}
		if s := stale[on]; s != nil {
			answers[i].lostCost, answers[i].lostRows = s.cost, len(s.keys)
		}
		byDay[on] = &answers[i]
	}
	twice := len(there.rows) < len(w.Rows)
	for i := range w.Rows {
		row := &w.Rows[i]
		a := byDay[row.Day]
		if a == nil || twice && there.rows[row.key(w.Hourly)] != i {
			continue
		}
		cost, _ := row.Metrics.Get(costIndex)
		a.cost, a.rows = a.cost+cost, a.rows+1
	}
	return answers
}

// evidenceFor reads what answers are compared with: nothing for those that a person confirmed, that are no news, or whose day is not over.
func evidenceFor(d *sqldb.DB, tx *gorm.DB, accountID int64, c *Comparing, answers []answer, confirmed bool) (map[day.Day][]figure, error) {
	if confirmed || len(c.With) == 0 {
		return nil, nil
	}
	var days []day.Day
	for i := range answers {
		if over, _, _ := c.over(answers[i].day); over && answers[i].isNews() {
			days = append(days, answers[i].day)
		}
	}
	if len(days) == 0 {
		return nil, nil
	}
	evidence, err := readEvidence(d, tx, accountID, days, c.With)
	for on, figures := range evidence {
		evidence[on] = slices.DeleteFunc(figures, func(f figure) bool { return f.ReportLevel == answers[0].ReportLevel })
	}
	return evidence, err
}

// take notes a verdict about an answer.
func (o *dayOutcome) take(a *answer, v verdict) {
	o.answered, o.answerCost, o.answerRun = true, a.cost, a.runID
	if same(a.before.AnswerCost, a.cost) && a.before.AnswerRun > 0 {
		o.answerCost, o.answerRun = *a.before.AnswerCost, a.before.AnswerRun
	}
	switch {
	case v.suspect != "":
		o.state, o.whole, o.note = Suspect, false, v.suspect
	case v.believed || same(a.before.BelievedCost, a.cost):
		o.believed = &a.cost
	}
}

// judgeFunds judges the cash flow of days that are over against the account's figures: a day without a row that had spend is suspect, and money
// that was spent contradicts figures that have little or none of it.
func judgeFunds(d *sqldb.DB, tx *gorm.DB, w *FundWrite, before []Coverage, have fundTables, outcomes []dayOutcome, result *ReportResult) error {
	if !w.daily() || !w.Whole {
		return nil
	}
	paid := map[day.Day]int64{}
	for _, s := range w.Sums {
		if s.Kind == fund.Total {
			paid[s.Day] = s.Values[fund.Paid].Micros
		}
	}
	var answers []answer
	var of []*dayOutcome
	for i := range outcomes {
		o := &outcomes[i]
		if o.state != Complete {
			continue
		}
		answers = append(answers, answer{
			ReportLevel: cashFlow, day: o.day, runID: w.RunID, currency: w.Currency, cost: paid[o.day], rows: o.rows,
			stored: have.public[fundKey{day: o.day, name: string(fund.Total)}][fund.Paid].Micros, before: before[i],
		})
		of = append(of, o)
	}
	evidence, err := evidenceFor(d, tx, w.AccountID, &w.Comparing, answers, w.Confirmed)
	if err != nil {
		return err
	}
	for i := range answers {
		a := &answers[i]
		v := verdict{believed: w.Confirmed}
		if !w.Confirmed {
			v = a.judgeFlow(&w.Comparing, evidence[a.day])
		}
		of[i].take(a, v)
		if v.suspect != "" {
			result.Suspect = append(result.Suspect, a.day)
			result.Why = cmp.Or(result.Why, v.suspect)
		}
		result.Doubts = append(result.Doubts, v.doubts...)
	}
	return markDoubts(tx, w.AccountID, result.Doubts)
}
