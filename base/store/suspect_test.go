package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// judged is a store whose answers are compared with all reports and levels.
type judged struct {
	*testing.T
	*store.Store
	zone  *time.Location
	pulls int
}

func newJudged(t *testing.T) *judged {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []store.RawTable{rawReport, rawHours, rawFundDaily}))
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	return &judged{T: t, Store: s, zone: zone}
}

// at is a time of the day after the one that is judged.
func (j *judged) at(clock string) time.Time {
	at, err := time.ParseInLocation("2006-01-02 15:04", today.Add(1).String()+" "+clock, j.zone)
	require.NoError(j, err)
	return at
}

func (j *judged) comparing(now time.Time) store.Comparing {
	c := store.Comparing{Now: now, Zone: j.zone}
	for _, report := range []string{"report_daily", "report_hourly"} {
		for _, level := range []string{"account", "campaign", "adgroup"} {
			c.With = append(c.With, store.ReportLevel{Report: report, Level: level})
		}
	}
	return c
}

func (j *judged) claim(account int64, of store.ReportLevel, now time.Time, days ...day.Day) store.Claim {
	j.pulls++
	claim, _, err := j.BeginPull(j.Context(), store.Scope{AccountID: account, Media: "test", Report: of.Report, Level: of.Level, Days: days}, fmt.Sprint("pull", j.pulls), task.NewRunID(now))
	require.NoError(j, err)
	return claim
}

// write is what an answer of some yuan, in one row, or in none when it is 0, comes to.
func (j *judged) write(account int64, of store.ReportLevel, now time.Time, yuan int64) store.ReportWrite {
	w := reportOf(j.claim(account, of, now, today))
	w.Comparing = j.comparing(now)
	if w.Hourly = of.Report == "report_hourly"; w.Hourly {
		w.Raw = rawHours
	}
	if yuan > 0 {
		w.Rows = []store.ReportRow{costRow(today, "1", yuan*1_000_000, fmt.Sprint(yuan))}
	}
	return w
}

// words reads "daily adgroup" as a report and level.
func words(of string) store.ReportLevel {
	report, level, _ := strings.Cut(of, " ")
	return store.ReportLevel{Report: "report_" + report, Level: level}
}

func (j *judged) pull(of, clock string, yuan int64) store.ReportResult {
	result, err := j.WriteReport(j.Context(), j.write(7, words(of), j.at(clock), yuan))
	require.NoError(j, err)
	return result
}

func (j *judged) flow(clock string, yuan int64) store.ReportResult {
	now := j.at(clock)
	w := fundsOf(j.claim(7, store.ReportLevel{Report: "fund_daily", Level: "account"}, now, today), rawFundDaily)
	w.Comparing = j.comparing(now)
	if yuan > 0 {
		w.Rows = []store.FundRow{{Day: today, FundType: "ALL", Raw: []any{yuan * 100}, JSON: fmt.Sprint(yuan)}}
		sum := store.FundSum{Day: today, Row: fund.Row{Kind: fund.Total}}
		sum.Values[fund.Paid] = fund.Of(yuan * 1_000_000)
		w.Sums = append(w.Sums, sum)
	}
	result, err := j.WriteFunds(j.Context(), w)
	require.NoError(j, err)
	return result
}

// coverage is the day's as "daily account": state.
func (j *judged) states() map[string]string {
	all, err := j.ReadCoverage(j.Context(), 7, today, today)
	require.NoError(j, err)
	states := map[string]string{}
	for _, c := range all {
		states[strings.TrimPrefix(c.Report, "report_")+" "+c.Level] = string(c.State)
	}
	return states
}

func (j *judged) cost(of string) int64 {
	l, sum := words(of), int64(0)
	require.NoError(j, j.Data.Writer(j.Context()).Raw("SELECT CAST(COALESCE(SUM(cost), 0) AS SIGNED) FROM "+l.Report+" WHERE account_id = 7 AND level = ?", l.Level).Row().Scan(&sum))
	return sum / 1_000_000
}

func TestWriteReport_AFirstAnswerIsJudgedByWhatIsStoredOfTheDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		stored         string // what was pulled before, at 00:10
		has            int64
		answers        string
		clock          string
		yuan           int64
		suspect, after string
	}{
		{name: "no rows beside hours that were spent", stored: "hourly account", has: 452_388, answers: "daily account", clock: "05:00", suspect: "report_hourly by account of the same day has 452388.00"},
		{name: "no rows of hours beside a day that was spent", stored: "daily account", has: 100, answers: "hourly account", clock: "05:00", suspect: "report_daily by account"},
		{name: "no ad groups beside an account that spent", stored: "daily account", has: 100, answers: "daily adgroup", clock: "05:00", suspect: "report_daily by account"},
		{name: "an account without spend beside ad groups that spent", stored: "daily adgroup", has: 100, answers: "daily account", clock: "09:00", suspect: "report_daily by adgroup"},
		{name: "hours of ad groups are missing beside days of campaigns", stored: "daily campaign", has: 100, answers: "hourly adgroup", clock: "09:00", suspect: "report_daily by campaign"},
		{name: "too few", stored: "hourly account", has: 452_388, answers: "daily account", clock: "05:00", yuan: 372_749, suspect: "has CNY 372749.00, and report_hourly"},
		{name: "a little less, as figures fall", stored: "hourly account", has: 100, answers: "daily account", clock: "09:00", yuan: 91},
		{name: "the same", stored: "hourly account", has: 100, answers: "daily account", clock: "09:00", yuan: 100},
		{name: "a level that lags behind just after midnight", stored: "hourly account", has: 100, answers: "daily adgroup", clock: "00:20", yuan: 80},
		{name: "no rows just after midnight", stored: "hourly account", has: 100, answers: "daily adgroup", clock: "00:20", suspect: "report_hourly"},
		{name: "nothing was spent", stored: "hourly account", answers: "daily account", clock: "05:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := newJudged(t)
			require.Empty(t, j.pull(c.stored, "00:10", c.has).Suspect)
			result := j.pull(c.answers, c.clock, c.yuan)
			if c.suspect == "" {
				require.Empty(t, result.Suspect, result.Why)
				require.Equal(t, map[string]string{c.stored: "complete", c.answers: "complete"}, j.states())
				return
			}
			require.Equal(t, []day.Day{today}, result.Suspect)
			require.Contains(t, result.Why, c.suspect)
			require.Equal(t, map[string]string{c.stored: "complete", c.answers: "suspect"}, j.states(), "what was there is not in doubt")
			require.Equal(t, c.has, j.cost(c.stored))
			require.Empty(t, j.pull(c.answers, "12:30", c.has).Suspect, "the whole answer is believed")
			require.Equal(t, map[string]string{c.stored: "complete", c.answers: "complete"}, j.states())
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

// Which of two answers that contradict each other comes first does not matter.
func TestWriteReport_AnAnswerContradictsAnEarlierOne(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	require.Empty(t, j.pull("daily account", "05:00", 0).Suspect, "nothing contradicts it yet")
	require.Empty(t, j.pull("daily adgroup", "05:00", 0).Suspect)
	result := j.pull("hourly account", "05:10", 100)
	require.Empty(t, result.Suspect)
	require.Len(t, result.Doubts, 2)
	require.Equal(t, map[string]string{"daily account": "suspect", "daily adgroup": "suspect", "hourly account": "complete"}, j.states())
	var note string
	require.NoError(t, j.Data.Writer(t.Context()).Raw("SELECT note FROM coverage WHERE report = 'report_daily' AND level = 'account'").Row().Scan(&note))
	require.Equal(t, "the last answer has CNY 0.00, and report_hourly by account of the same day has 100.00", note)
	require.Empty(t, j.pull("daily account", "08:10", 100).Suspect)
	require.Empty(t, j.pull("hourly account", "08:20", 100).Doubts, "what is suspect already is not marked again")

	j = newJudged(t)
	require.Empty(t, j.pull("daily account", "09:00", 0).Suspect)
	require.Empty(t, j.pull("hourly account", "09:00", 0).Suspect)
	require.Len(t, j.flow("09:30", 100).Doubts, 2)
	require.Equal(t, map[string]string{"daily account": "suspect", "hourly account": "suspect", "fund_daily account": "complete"}, j.states())
}

// What was pulled before the day was over lacks the rest of the day: it is a hole, and no contradiction.
func TestWriteReport_WhatWasPulledDuringTheDayIsNoContradiction(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	evening := j.at("00:00").Add(-4 * time.Hour)
	for _, yuan := range []int64{0, 60} { // Figures of the present day are not compared.
		for _, of := range []string{"daily account", "hourly account"} {
			_, err := j.WriteReport(t.Context(), j.write(7, words(of), evening, yuan))
			require.NoError(t, err)
			yuan += 30
		}
	}
	require.Equal(t, map[string]string{"daily account": "complete", "hourly account": "complete"}, j.states())
	require.Empty(t, j.pull("daily account", "05:00", 200).Doubts)
	require.Equal(t, map[string]string{"daily account": "complete", "hourly account": "complete"}, j.states())
}

// A day that was truly cancelled does not stay suspect.
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
	suspect("hourly account", "11:50", "another says so too, but before noon")
	suspect("daily account", "12:10", "repeated after noon, but the hours are not")
	require.EqualValues(t, 100, j.cost("daily account"))
	require.Empty(t, j.pull("hourly account", "12:20", 0).Suspect, "both repeat it")
	require.Empty(t, j.pull("daily account", "13:10", 0).Suspect)
	require.Empty(t, j.pull("daily adgroup", "13:20", 0).Suspect, "two others repeat it")
	require.Zero(t, j.cost("daily account")+j.cost("hourly account")+j.cost("daily adgroup"))

	require.Empty(t, j.pull("daily account", "14:00", 100).Suspect, "the platform gives it back")
	require.Equal(t, "complete", j.states()["hourly account"], "its zero was believed: what contradicts it now is only one level")
	require.NotEmpty(t, j.pull("daily account", "15:00", 0).Suspect, "and what takes it away again is judged anew")
}

// A level that nobody repeats does not make a day whole: the one that stands by its answer has the others pulled again.
func TestWriteReport_ARepeatedAnswerHasOthersPulledAgain(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.pull("hourly account", "02:30", 100)
	require.NotEmpty(t, j.pull("daily account", "09:00", 50).Suspect)
	require.Equal(t, "complete", j.states()["hourly account"])
	result := j.pull("daily account", "12:10", 50)
	require.NotEmpty(t, result.Suspect)
	require.Len(t, result.Doubts, 1)
	require.Equal(t, map[string]string{"daily account": "suspect", "hourly account": "suspect"}, j.states())
	require.Empty(t, j.pull("hourly account", "13:10", 100).Suspect, "it says the same")
	require.Empty(t, j.pull("daily account", "14:10", 50).Doubts, "it was pulled since")
	require.Equal(t, map[string]string{"daily account": "suspect", "hourly account": "complete"}, j.states())
}

func TestWriteReport_AConfirmedAnswerStaysBelieved(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.pull("hourly account", "02:30", 100)
	j.pull("daily account", "02:30", 100)
	require.NotEmpty(t, j.pull("daily account", "09:00", 0).Suspect)
	w := j.write(7, words("daily account"), j.at("09:30"), 0)
	w.Confirmed = true
	result, err := j.WriteReport(t.Context(), w)
	require.NoError(t, err)
	require.Empty(t, result.Suspect)
	require.Zero(t, j.cost("daily account"))
	require.Empty(t, j.pull("daily account", "10:00", 0).Suspect, "what was confirmed, the platform says again")
	require.Empty(t, j.pull("hourly account", "10:10", 101).Doubts, "what was confirmed is not doubted")
	require.Equal(t, map[string]string{"daily account": "complete", "hourly account": "complete"}, j.states())
	require.NotEmpty(t, j.pull("daily account", "10:20", 20).Suspect, "another answer was not confirmed")
}

// Two pulls of one run, moments apart, are not two: a platform's trouble lasts longer.
func TestWriteReport_TriesOfOneRunAreNotRepeats(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.pull("hourly account", "02:30", 100)
	now := j.at("13:00")
	for _, of := range []string{"daily adgroup", "daily account", "daily adgroup", "daily account"} {
		w := j.write(7, words(of), now, 0)
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
	require.Empty(t, j.flow("12:30", 0).Suspect, "the platform says it again after noon: the account is paid for elsewhere")
	require.Equal(t, "complete", j.states()["fund_daily account"])
	require.Empty(t, j.flow("13:30", 0).Suspect)
}

// Accounts that stop spending are many on the first day of a month. Nothing contradicts them.
func TestWriteReport_AccountsThatStopSpendingAreNotSuspect(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	const accounts = 40
	for id := range int64(accounts) {
		for _, of := range []string{"daily account", "hourly account", "daily adgroup"} {
			for _, clock := range []string{"05:00", "09:00"} {
				statements := sqldbtest.Statements(j.Data, func() {
					result, err := j.WriteReport(t.Context(), j.write(id+1, words(of), j.at(clock), 0))
					require.NoError(t, err)
					require.Empty(t, result.Suspect)
					require.Empty(t, result.Doubts)
				})
				require.LessOrEqual(t, statements, 8, "beside the claim: the lock, two reads, two of the evidence, coverage")
			}
		}
	}
	var states []string
	require.NoError(t, j.Data.Writer(t.Context()).Raw("SELECT DISTINCT state FROM coverage").Scan(&states).Error)
	require.Equal(t, []string{"complete"}, states)
}

// What past days cost beyond the present one: nothing when the figures are known, two statements when they are news.
func TestWriteReport_StatementsOfComparing(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	statements := func(w store.ReportWrite) int {
		return sqldbtest.Statements(j.Data, func() {
			_, err := j.WriteReport(t.Context(), w)
			require.NoError(t, err)
		})
	}
	daily := words("daily account")
	require.Equal(t, 8, statements(j.write(7, daily, j.at("00:00").Add(-time.Hour), 100)), "the present day is not compared")
	require.Equal(t, 4, statements(j.write(7, daily, j.at("09:00"), 100)), "nothing has changed")
	require.Equal(t, 9, statements(j.write(7, daily, j.at("09:30"), 200)), "the lock, two reads, two of the evidence, two upserts, the mark, coverage")
}
