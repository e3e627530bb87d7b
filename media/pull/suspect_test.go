package pull

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
)

// Many accounts stop spending on the first day of a month. No other figures contradict them.
func TestRule_AccountsThatStopSpendingAreNotSuspect(t *testing.T) {
	t.Parallel()
	levels := []results.ReportLevel{
		{Report: "report_daily", Level: "account"}, {Report: "report_hourly", Level: "account"},
		{Report: "report_daily", Level: "adgroup"}, {Report: "fund_daily", Level: "account"},
	}
	now := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	r := &rule{now: now, zone: time.UTC}
	for range 10_000 {
		var others []results.Figure
		for _, l := range levels {
			a := &results.Answer{ReportLevel: l, Day: "2026-11-21", RunID: task.NewRunID(now)}
			v := r.report(a, others)
			require.Empty(t, v.Suspect)
			require.Empty(t, v.Doubts)
			others = append(others, results.Figure{ReportLevel: l, Coverage: results.Coverage{
				State: results.Complete, CompleteVersion: 1, RunID: a.RunID, AnswerCost: new(int64), AnswerRun: a.RunID,
			}})
		}
	}
}

func TestRule_WhatAnAnswerMayLack(t *testing.T) {
	t.Parallel()
	const unit = 1_000_000
	ended := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		after   time.Duration // since the day's end
		answer  results.Answer
		other   int64 // the cost by hours; 0 = not pulled
		suspect string
	}{
		{name: "lacks nothing", answer: results.Answer{Cost: 100, Rows: 2, Stored: 100}},
		{name: "no rows, as before", answer: results.Answer{}},
		{name: "lacks all rows", answer: results.Answer{Stored: 100, LostCost: 100, LostRows: 3},
			suspect: "lacks 3 of the earlier rows, with 100.00 of CNY 100.00"},
		{name: "lacks rows that had 5 % of the cost", answer: results.Answer{Cost: 95, Rows: 1, Stored: 100, LostCost: 5,
			LostRows: 1}},
		{name: "lacks rows that had 6 % of the cost", answer: results.Answer{Cost: 94, Rows: 1, Stored: 100, LostCost: 6,
			LostRows: 1}, suspect: "lacks 1 of the earlier rows"},
		{name: "less in the same rows", answer: results.Answer{Cost: 10, Rows: 1, Stored: 100}},
		{name: "10 % below another level", after: 2 * time.Hour, answer: results.Answer{Cost: 90, Rows: 1}, other: 100},
		{name: "11 % below another level", after: 2 * time.Hour, answer: results.Answer{Cost: 89, Rows: 1}, other: 100,
			suspect: "report_hourly by account of the same day has 100.00"},
		{name: "half of another level soon after the day", after: time.Hour, answer: results.Answer{Cost: 50, Rows: 1},
			other: 100},
		{name: "more than half below another level soon after the day", after: time.Hour,
			answer: results.Answer{Cost: 49, Rows: 1}, other: 100, suspect: "report_hourly by account"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := &c.answer
			a.ReportLevel, a.Day, a.Currency = results.ReportLevel{Report: "report_daily", Level: "account"}, judgedDay, "CNY"
			a.Cost, a.Stored, a.LostCost = a.Cost*unit, a.Stored*unit, a.LostCost*unit
			var others []results.Figure
			if c.other > 0 {
				others = []results.Figure{{ReportLevel: results.ReportLevel{Report: "report_hourly", Level: "account"},
					Cost: c.other * unit}}
			}
			r := &rule{now: ended.Add(c.after), zone: time.UTC}
			v := r.report(a, others)
			if c.suspect == "" {
				require.Empty(t, v.Suspect)
				return
			}
			require.Contains(t, v.Suspect, c.suspect)
		})
	}
}

func TestRule_WhatIsComparedWithOtherFigures(t *testing.T) {
	t.Parallel()
	ended := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	known := results.Coverage{CompleteVersion: 1, State: results.Complete}
	for _, c := range []struct {
		name     string
		now      time.Time
		answer   results.Answer
		compared bool
	}{
		{"a day that is not over", ended.Add(-time.Second), results.Answer{Cost: 1_000_000}, false},
		{"a first answer", ended, results.Answer{}, true},
		{"an answer that is known", ended, results.Answer{Cost: 1_000_000, Rows: 1, Stored: 1_000_000, Before: known}, false},
		{"another cost", ended, results.Answer{Cost: 2_000_000, Rows: 1, Stored: 1_000_000, Before: known}, true},
		{"an answer after a suspect one", ended, results.Answer{Before: results.Coverage{CompleteVersion: 1,
			State: results.Suspect}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.answer.Day = judgedDay
			require.Equal(t, c.compared, (&rule{now: c.now, zone: time.UTC}).compares(&c.answer))
		})
	}
}

func TestLacksAll_OnlyAnEmptyAnswerIsSuspect(t *testing.T) {
	t.Parallel()
	require.Empty(t, lacksAllRows(0, 0))
	require.Empty(t, lacksAllRows(1, 3))
	require.Equal(t, "the platform's answer lacks all 3 rows", lacksAllRows(0, 3))
	require.Empty(t, lacksAllObjects(0, 0))
	require.Empty(t, lacksAllObjects(1, 3))
	require.NotEmpty(t, lacksAllObjects(0, 3))
}

// judgedDay is the day whose figures are pulled, mostly on the day after it.
const judgedDay = day.Day("2026-11-21")

// judged is a test with a store. The rule judges each answer that is written into it.
type judged struct {
	*testing.T
	*store.Store
	zone  *time.Location
	pulls int
}

func newJudged(t *testing.T) *judged {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{dailyTable, hourlyTable, fundDailyTable}))
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	return &judged{T: t, Store: s, zone: zone}
}

// at returns a time, such as "09:00", of the day after judgedDay.
func (j *judged) at(clock string) time.Time {
	at, err := time.ParseInLocation("2006-01-02 15:04", judgedDay.Add(1).String()+" "+clock, j.zone)
	require.NoError(j, err)
	return at
}

// puller returns a puller that judges at a time and compares with all reports and levels.
func (j *judged) puller(now time.Time) *puller {
	p := &puller{Deps: Deps{Clock: clock.NewScaled(now, 1, true)}}
	for _, report := range []string{"report_daily", "report_hourly"} {
		for _, level := range []string{"account", "campaign", "adgroup"} {
			p.whole = append(p.whole, results.ReportLevel{Report: report, Level: level})
		}
	}
	return p
}

func (j *judged) claim(account int64, of results.ReportLevel, now time.Time, days ...day.Day) results.Claim {
	j.pulls++
	claim, _, err := j.BeginPull(j.Context(), results.Scope{AccountID: account, Media: "test", Report: of.Report,
		Level: of.Level, Days: days}, fmt.Sprint("pull", j.pulls), task.NewRunID(now))
	require.NoError(j, err)
	return claim
}

// write returns what to write for an answer about judgedDay: one row with a cost in yuan, or no row if yuan is 0.
func (j *judged) write(account int64, of results.ReportLevel, now time.Time, yuan int64) results.ReportWrite {
	w := results.ReportWrite{
		Claim: j.claim(account, of, now, judgedDay), Raw: dailyTable, Currency: "CNY", Zone: j.zone.String(), Whole: true,
		DirtySummary: true,
		Judging:      j.puller(now).judgeReport(media.Account{Zone: j.zone}, media.Report{}),
	}
	if w.Hourly = of.Report == "report_hourly"; w.Hourly {
		w.Raw = hourlyTable
	}
	if yuan > 0 {
		row := results.ReportRow{Day: judgedDay, Object: "1", Raw: []any{yuan * 100}, JSON: fmt.Sprint(yuan)}
		row.Metrics.Set(metric.Index("cost"), yuan*1_000_000)
		w.Rows = []results.ReportRow{row}
	}
	return w
}

// reportLevel parses "daily adgroup" into a report and level.
func reportLevel(of string) results.ReportLevel {
	report, level, _ := strings.Cut(of, " ")
	return results.ReportLevel{Report: "report_" + report, Level: level}
}

// pull writes the answer of a pull for account 7 at a time. of is a report and level, such as "daily adgroup".
func (j *judged) pull(of, clock string, yuan int64) results.ReportResult {
	result, err := j.WriteReport(j.Context(), j.write(7, reportLevel(of), j.at(clock), yuan))
	require.NoError(j, err)
	return result
}

// flow writes the cash flow of account 7, pulled at a time.
func (j *judged) flow(clock string, yuan int64) results.ReportResult {
	now := j.at(clock)
	w := results.FundWrite{
		Claim: j.claim(7, results.ReportLevel{Report: "fund_daily", Level: "account"}, now, judgedDay), Raw: fundDailyTable,
		Currency: "CNY", Zone: j.zone.String(), Whole: true,
		JudgeRows: lacksAllRows, Judging: j.puller(now).judgeFlow(media.Account{Zone: j.zone}),
	}
	if yuan > 0 {
		w.Rows = []results.FundRow{{Day: judgedDay, FundType: "ALL", Raw: []any{yuan * 100}, JSON: fmt.Sprint(yuan)}}
		sum := results.FundSum{Day: judgedDay, Row: fund.Row{Kind: fund.Total}}
		sum.Values[fund.Paid] = fund.Of(yuan * 1_000_000)
		w.Sums = append(w.Sums, sum)
	}
	result, err := j.WriteFunds(j.Context(), w)
	require.NoError(j, err)
	return result
}

// states returns the day's coverage states by "daily account".
func (j *judged) states() map[string]string {
	all, err := j.ReadCoverage(j.Context(), 7, judgedDay, judgedDay)
	require.NoError(j, err)
	states := map[string]string{}
	for _, c := range all {
		states[strings.TrimPrefix(c.Report, "report_")+" "+c.Level] = string(c.State)
	}
	return states
}

// cost returns the stored cost of account 7 in yuan.
func (j *judged) cost(of string) int64 {
	l, sum := reportLevel(of), int64(0)
	require.NoError(j, j.Data.Writer(j.Context()).Raw("SELECT CAST(COALESCE(SUM(cost), 0) AS SIGNED) FROM "+l.Report+
		" WHERE account_id = 7 AND level = ?", l.Level).Row().Scan(&sum))
	return sum / 1_000_000
}

func TestWriteReport_AFirstAnswerIsJudgedByWhatIsStoredOfTheDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		stored     string // what was pulled before, at 00:10
		storedYuan int64  // its cost
		pulled     string // what is pulled at clock
		clock      string
		yuan       int64 // its cost
		suspect    string
	}{
		{name: "no rows, but hours with spend", stored: "hourly account", storedYuan: 452_388, pulled: "daily account",
			clock: "05:00", suspect: "report_hourly by account of the same day has 452,388.00"},
		{name: "no rows of hours, but a day with spend", stored: "daily account", storedYuan: 100, pulled: "hourly account",
			clock: "05:00", suspect: "report_daily by account"},
		{name: "no ad groups, but an account with spend", stored: "daily account", storedYuan: 100, pulled: "daily adgroup",
			clock: "05:00", suspect: "report_daily by account"},
		{name: "an account without spend, but ad groups with spend", stored: "daily adgroup", storedYuan: 100,
			pulled: "daily account", clock: "09:00", suspect: "report_daily by adgroup"},
		{name: "no hours of ad groups, but days of campaigns", stored: "daily campaign", storedYuan: 100,
			pulled: "hourly adgroup", clock: "09:00", suspect: "report_daily by campaign"},
		{name: "less than the hours", stored: "hourly account", storedYuan: 452_388, pulled: "daily account", clock: "05:00",
			yuan: 372_749, suspect: "has CNY 372,749.00, and report_hourly"},
		{name: "a little less, as after a refund", stored: "hourly account", storedYuan: 100, pulled: "daily account",
			clock: "09:00", yuan: 91},
		{name: "the same", stored: "hourly account", storedYuan: 100, pulled: "daily account", clock: "09:00", yuan: 100},
		{name: "a level that lags behind just after midnight", stored: "hourly account", storedYuan: 100,
			pulled: "daily adgroup", clock: "00:20", yuan: 80},
		{name: "no rows just after midnight", stored: "hourly account", storedYuan: 100, pulled: "daily adgroup",
			clock: "00:20", suspect: "report_hourly"},
		{name: "nothing was spent", stored: "hourly account", pulled: "daily account", clock: "05:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := newJudged(t)
			require.Empty(t, j.pull(c.stored, "00:10", c.storedYuan).Suspect)
			result := j.pull(c.pulled, c.clock, c.yuan)
			if c.suspect == "" {
				require.Empty(t, result.Suspect, result.Why)
				require.Equal(t, map[string]string{c.stored: "complete", c.pulled: "complete"}, j.states())
				return
			}
			require.Equal(t, []day.Day{judgedDay}, result.Suspect)
			require.Contains(t, result.Why, c.suspect)
			require.Equal(t, map[string]string{c.stored: "complete", c.pulled: "suspect"}, j.states(),
				"the stored figures are not in doubt")
			require.Equal(t, c.storedYuan, j.cost(c.stored))
			require.Empty(t, j.pull(c.pulled, "12:30", c.storedYuan).Suspect, "an answer that lacks nothing is believed")
			require.Equal(t, map[string]string{c.stored: "complete", c.pulled: "complete"}, j.states())
		})
	}
}

func TestWriteReport_AFirstAnswerIsJudgedByTheCashFlow(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	require.Empty(t, j.flow("08:30", 100).Suspect)
	require.Contains(t, j.pull("daily account", "09:00", 0).Why, "fund_daily by account of the same day has 100.00")
	require.Contains(t, j.pull("hourly adgroup", "09:00", 80).Why, "fund_daily by account")
	require.Empty(t, j.pull("daily campaign", "09:00", 100).Suspect)
}

// The order of two answers that contradict each other does not matter.
func TestWriteReport_AnAnswerContradictsAnEarlierOne(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	require.Empty(t, j.pull("daily account", "05:00", 0).Suspect, "nothing contradicts it yet")
	require.Empty(t, j.pull("daily adgroup", "05:00", 0).Suspect)
	result := j.pull("hourly account", "05:10", 100)
	require.Empty(t, result.Suspect)
	require.Len(t, result.Doubts, 2)
	require.Equal(t, map[string]string{"daily account": "suspect", "daily adgroup": "suspect",
		"hourly account": "complete"}, j.states())
	var note string
	require.NoError(t,
		j.Data.Writer(t.Context()).Raw(
			"SELECT note FROM coverage WHERE report = 'report_daily' AND level = 'account'").Row().Scan(&note))
	require.Equal(t, "the last answer has CNY 0.00, and report_hourly by account of the same day has 100.00", note)
	require.Empty(t, j.pull("daily account", "08:10", 100).Suspect)
	require.Empty(t, j.pull("hourly account", "08:20", 100).Doubts,
		"figures that are suspect already are not marked again")

	j = newJudged(t)
	require.Empty(t, j.pull("daily account", "09:00", 0).Suspect)
	require.Empty(t, j.pull("hourly account", "09:00", 0).Suspect)
	require.Len(t, j.flow("09:30", 100).Doubts, 2)
	require.Equal(t, map[string]string{"daily account": "suspect", "hourly account": "suspect",
		"fund_daily account": "complete"}, j.states())
}

// Figures that were pulled before the day was over lack the rest of the day: that is a hole, not a contradiction.
func TestWriteReport_FiguresPulledDuringTheDayAreNoContradiction(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	evening := j.at("00:00").Add(-4 * time.Hour)
	for _, yuan := range []int64{0, 60} { // Figures of the present day are not compared.
		for _, of := range []string{"daily account", "hourly account"} {
			_, err := j.WriteReport(t.Context(), j.write(7, reportLevel(of), evening, yuan))
			require.NoError(t, err)
			yuan += 30
		}
	}
	require.Equal(t, map[string]string{"daily account": "complete", "hourly account": "complete"}, j.states())
	require.Empty(t, j.pull("daily account", "05:00", 200).Doubts)
	require.Equal(t, map[string]string{"daily account": "complete", "hourly account": "complete"}, j.states())
}

// A day whose spend the platform really withdrew does not stay suspect.
func TestWriteReport_WhatTwoLevelsRepeatAfterNoonIsBelieved(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	for _, of := range []string{"daily account", "hourly account", "daily adgroup"} {
		j.pull(of, "02:30", 100)
	}
	suspect := func(of, clock, why string) {
		t.Helper()
		require.NotEmpty(t, j.pull(of, clock, 0).Suspect, why)
	}
	suspect("daily account", "09:00", "it lacks its own rows")
	suspect("daily account", "11:50", "repeated, but before noon")
	suspect("hourly account", "11:50", "repeated by another level, but before noon")
	suspect("daily account", "12:10", "repeated after noon, but the hours are not")
	require.EqualValues(t, 100, j.cost("daily account"))
	require.Empty(t, j.pull("hourly account", "12:20", 0).Suspect, "both repeat it")
	require.Empty(t, j.pull("daily account", "13:10", 0).Suspect)
	require.Empty(t, j.pull("daily adgroup", "13:20", 0).Suspect, "two others repeat it")
	require.Zero(t, j.cost("daily account")+j.cost("hourly account")+j.cost("daily adgroup"))

	require.Empty(t, j.pull("daily account", "14:00", 100).Suspect, "the platform restores it")
	require.Equal(t, "complete", j.states()["hourly account"],
		"its zero was believed, and only one level contradicts it now")
	require.NotEmpty(t, j.pull("daily account", "15:00", 0).Suspect, "a later zero is judged from the start")
}

// An answer that only one level repeats is not believed. Its repetition makes the levels that contradict it suspect, so
// that they are pulled again.
func TestWriteReport_ARepeatedAnswerMakesContradictingLevelsSuspect(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.pull("hourly account", "02:30", 100)
	require.NotEmpty(t, j.pull("daily account", "09:00", 50).Suspect)
	require.Equal(t, "complete", j.states()["hourly account"])
	result := j.pull("daily account", "12:10", 50)
	require.NotEmpty(t, result.Suspect)
	require.Len(t, result.Doubts, 1)
	require.Equal(t, map[string]string{"daily account": "suspect", "hourly account": "suspect"}, j.states())
	require.Empty(t, j.pull("hourly account", "13:10", 100).Suspect, "it repeats its answer")
	require.Empty(t, j.pull("daily account", "14:10", 50).Doubts, "the hours were pulled again since")
	require.Equal(t, map[string]string{"daily account": "suspect", "hourly account": "complete"}, j.states())
}

func TestWriteReport_AConfirmedAnswerStaysBelieved(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.pull("hourly account", "02:30", 100)
	j.pull("daily account", "02:30", 100)
	require.NotEmpty(t, j.pull("daily account", "09:00", 0).Suspect)
	w := j.write(7, reportLevel("daily account"), j.at("09:30"), 0)
	w.Confirmed = true
	result, err := j.WriteReport(t.Context(), w)
	require.NoError(t, err)
	require.Empty(t, result.Suspect)
	require.Zero(t, j.cost("daily account"))
	require.Empty(t, j.pull("daily account", "10:00", 0).Suspect, "the platform repeats the confirmed answer")
	require.Empty(t, j.pull("hourly account", "10:10", 101).Doubts, "a confirmed answer is not doubted")
	require.Equal(t, map[string]string{"daily account": "complete", "hourly account": "complete"}, j.states())
	require.NotEmpty(t, j.pull("daily account", "10:20", 20).Suspect, "another answer was not confirmed")
}

// Two pulls of one run, moments apart, count as one: a platform's failure lasts longer.
func TestWriteReport_TriesOfOneRunAreNotRepeats(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.pull("hourly account", "02:30", 100)
	now := j.at("13:00")
	for _, of := range []string{"daily adgroup", "daily account", "daily adgroup", "daily account"} {
		w := j.write(7, reportLevel(of), now, 0)
		w.RunID = task.FirstRunIDAt(now)
		result, err := j.WriteReport(t.Context(), w)
		require.NoError(t, err)
		require.NotEmpty(t, result.Suspect)
	}
}

func TestWriteFunds_ADayWithoutCashFlowThatHadSpendIsSuspect(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.pull("daily account", "08:10", 100)
	require.Contains(t, j.flow("09:00", 0).Why, "no cash flow, and report_daily by account of the same day has CNY 100.00")
	require.Equal(t, map[string]string{"daily account": "complete", "fund_daily account": "suspect"}, j.states())
	require.Empty(t, j.flow("12:30", 0).Suspect,
		"the platform repeats it after noon: the account is paid from elsewhere")
	require.Equal(t, "complete", j.states()["fund_daily account"])
	require.Empty(t, j.flow("13:30", 0).Suspect)
}

// Many accounts stop spending on the first day of a month. No other figures contradict them.
func TestWriteReport_AccountsThatStopSpendingAreNotSuspect(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	const accounts = 40
	for id := range int64(accounts) {
		for _, of := range []string{"daily account", "hourly account", "daily adgroup"} {
			for _, clock := range []string{"05:00", "09:00"} {
				statements := sqldbtest.Statements(j.Data, func() {
					result, err := j.WriteReport(t.Context(), j.write(id+1, reportLevel(of), j.at(clock), 0))
					require.NoError(t, err)
					require.Empty(t, result.Suspect)
					require.Empty(t, result.Doubts)
				})
				require.LessOrEqual(t, statements, 8,
					"the claim, the insert of coverage, the lock, two reads, two of the evidence, coverage")
			}
		}
	}
	var states []string
	require.NoError(t, j.Data.Writer(t.Context()).Raw("SELECT DISTINCT state FROM coverage").Scan(&states).Error)
	require.Equal(t, []string{"complete"}, states)
}

// The comparison with other figures costs two more statements, and only if the figures are news.
func TestWriteReport_StatementsOfComparing(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	statements := func(w results.ReportWrite) int {
		return sqldbtest.Statements(j.Data, func() {
			_, err := j.WriteReport(t.Context(), w)
			require.NoError(t, err)
		})
	}
	daily := reportLevel("daily account")
	require.Equal(t, 8, statements(j.write(7, daily, j.at("00:00").Add(-time.Hour), 100)),
		"the present day is not compared")
	require.Equal(t, 2, statements(j.write(7, daily, j.at("09:00"), 100)), "nothing has changed")
	require.Equal(t, 9, statements(j.write(7, daily, j.at("09:30"), 200)),
		"the lock, two reads, two of the evidence, two upserts, the mark, coverage")
}
