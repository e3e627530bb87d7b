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

// around are the reports and levels with whose figures answers are compared.
type around struct {
	of              []accountDays
	reports, levels []string
}

// accountDays are accounts of whose answers the same days are compared.
type accountDays struct {
	days     []day.Day
	accounts []int64
}

// add adds an answer of an account for some days, compared with reports and levels.
func (a *around) add(accountID int64, days []day.Day, with []ReportLevel) {
	i := slices.IndexFunc(a.of, func(of accountDays) bool { return slices.Equal(of.days, days) })
	if i < 0 {
		i = len(a.of)
		a.of = append(a.of, accountDays{days: days})
	}
	a.of[i].accounts = append(a.of[i].accounts, accountID)
	for _, r := range with {
		a.reports, a.levels = sqldb.AppendNew(a.reports, r.Report), sqldb.AppendNew(a.levels, r.Level)
	}
}

// where returns the condition that rows are of these accounts and days. It begins with the list of accounts: a proxy
// of several servers reads it to find the shards.
func (a *around) where() (condition string, args []any) {
	var all []int64
	parts := make([]string, len(a.of))
	for i, of := range a.of {
		all = append(all, of.accounts...)
		parts[i] = "account_id IN (" + sqldb.Numbers(of.accounts) + ") AND day IN ?"
		args = append(args, of.days)
	}
	if len(parts) == 1 {
		return parts[0], args
	}
	return "account_id IN (" + sqldb.Numbers(all) + ") AND (" + strings.Join(parts, " OR ") + ")", args
}

// whereCoverage returns the condition that rows of coverage are of these answers or compared with them.
func (a *around) whereCoverage() (condition string, args []any) {
	condition, args = a.where()
	return condition + " AND report IN ? AND level IN ?", append(args, a.reports, a.levels)
}

// evidence is what answers of an account are compared with: the locked coverage and the stored figures around them.
type evidence struct {
	coverage []Coverage
	costs    []costSum
}

// readEvidence returns the stored figures of days of an account. It locks their coverage for the transaction, so that
// of two pulls that contradict each other the later one sees the earlier.
func readEvidence(d *sqldb.DB, tx *gorm.DB, of *around) (e evidence, err error) {
	condition, args := of.whereCoverage()
	err = tx.Raw("SELECT * FROM coverage WHERE "+condition+" ORDER BY account_id, report, level, day"+
		d.Dialect().ForUpdate(), args...).Scan(&e.coverage).Error
	if err != nil {
		return evidence{}, fmt.Errorf("read the coverage of other levels: %w", err)
	}
	e.costs, err = of.readCosts(tx)
	return e, err
}

// figures returns the figures of days, by day: those of each report and level of with, without but, and of the cash
// flow.
func (e *evidence) figures(days []day.Day, with []ReportLevel, but ReportLevel) map[day.Day][]Figure {
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
	for i := range e.coverage {
		c := &e.coverage[i]
		at(c.Report, c.Level, c.Day).Coverage = *c
	}
	for i := range e.costs {
		s := &e.costs[i]
		at(s.Report, s.Level, s.Day).Cost = s.Cost
	}
	found := map[day.Day][]Figure{}
	for p, f := range figures {
		if p.ReportLevel != but && slices.Contains(days, p.day) &&
			(p.ReportLevel == cashFlow || slices.Contains(with, p.ReportLevel)) {
			found[p.day] = append(found[p.day], *f)
		}
	}
	for _, all := range found {
		// The largest cost is named first.
		slices.SortFunc(all, func(a, b Figure) int {
			if a.Cost != b.Cost {
				return int(min(max(b.Cost-a.Cost, -1), 1))
			}
			return strings.Compare(a.String(), b.String())
		})
	}
	return found
}

type costSum struct {
	AccountID int64
	Report    string
	Level     string
	Day       day.Day
	Cost      int64
}

// readCosts adds up the cost by account, report, level and day, and the spend in the cash flow.
func (a *around) readCosts(tx *gorm.DB) (sums []costSum, err error) {
	var parts []string
	var args []any
	condition, values := a.where()
	for _, report := range a.reports {
		parts = append(parts, "SELECT account_id, '"+report+
			"' AS report, level, day, CAST(COALESCE(SUM(cost), 0) AS SIGNED) AS cost FROM "+
			ReportTable(report == "report_hourly").Name+" WHERE "+condition+
			" AND level IN ? GROUP BY day, account_id, level")
		args = append(append(args, values...), a.levels)
	}
	parts = append(parts, "SELECT account_id, '"+cashFlow.Report+"', '"+cashFlow.Level+
		"', day, COALESCE(paid, 0) FROM fund_daily WHERE "+condition+" AND fund = ?")
	args = append(append(args, values...), string(fund.Total))
	if err := tx.Raw(strings.Join(parts, " UNION ALL "), args...).Scan(&sums).Error; err != nil {
		return nil, fmt.Errorf("add up the cost of other levels: %w", err)
	}
	return sums, nil
}

// markDoubts makes days suspect that an answer contradicts. Whole pulls that come meanwhile set their own state.
func markDoubts(tx *gorm.DB, accountID int64, doubts []Doubt) error {
	for _, x := range doubts {
		err := tx.Exec(
			"UPDATE coverage SET state = ?, note = ?, digest = NULL"+
				" WHERE account_id = ? AND report = ? AND level = ? AND day = ? AND state = ?",
			Suspect, x.Note, accountID, x.Report, x.Level, x.Day, Complete).Error
		if err != nil {
			return fmt.Errorf("mark the days that an answer contradicts: %w", err)
		}
	}
	return nil
}

// judgeReport judges a pull's answers by the figures of their days, and writes the verdicts into its outcomes.
func judgeReport(tx *gorm.DB, w *ReportWrite, answers []Answer, others map[day.Day][]Figure, outcomes []dayOutcome,
	result *ReportResult) error {
	for i := range answers {
		a, o := &answers[i], &outcomes[i]
		if o.opens {
			continue // It lacks figures or rows, so that its cost is not the day's.
		}
		v := w.Judging.judge(a, others[a.Day], w.Confirmed)
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

// compared returns the days whose answers are compared with other figures; none if a person confirmed the answers.
func (j *Judging) compared(answers []Answer, confirmed bool) (days []day.Day) {
	if confirmed || j.Compares == nil || len(j.With) == 0 {
		return nil
	}
	for i := range answers {
		if j.Compares(&answers[i]) {
			days = append(days, answers[i].Day)
		}
	}
	return days
}

// evidenceFor reads the figures with which answers are compared, by day, for the days that are compared.
func evidenceFor(d *sqldb.DB, tx *gorm.DB, accountID int64, j *Judging, answers []Answer,
	confirmed bool) (map[day.Day][]Figure, error) {
	days := j.compared(answers, confirmed)
	if len(days) == 0 {
		return nil, nil
	}
	of := &around{}
	of.add(accountID, days, j.With)
	e, err := readEvidence(d, tx, of)
	if err != nil {
		return nil, err
	}
	return e.figures(days, j.With, answers[0].ReportLevel), nil
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
	others, err := evidenceFor(d, tx, w.AccountID, &w.Judging, answers, w.Confirmed)
	if err != nil {
		return err
	}
	for i := range answers {
		a := &answers[i]
		v := w.Judging.judge(a, others[a.Day], w.Confirmed)
		of[i].apply(a, v)
		if v.Suspect != "" {
			result.Suspect = append(result.Suspect, a.Day)
			result.Why = cmp.Or(result.Why, v.Suspect)
		}
		result.Doubts = append(result.Doubts, v.Doubts...)
	}
	return markDoubts(tx, w.AccountID, result.Doubts)
}
