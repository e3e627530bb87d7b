package simulator

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawCorrections(t *rapid.T, a *account, day int) *corrections {
	c := newCorrections()
	for range rapid.IntRange(0, 2).Draw(t, "corrections") {
		percent := rapid.Int64Range(-100, 300).Draw(t, "percent")
		c.add(a, correction{}, correctedDays{from: day - rapid.IntRange(0, 9).Draw(t, "back"), to: day, percent: percent})
	}
	return c
}

func TestFunds_BalanceIsWhatCameInMinusWhatTheAdsCost(t *testing.T) {
	t.Parallel()
	w := testWorld()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t, w)
		now := moments().Draw(t, "now")
		day := dayOf(now)
		v := &view{now: now, corrections: drawCorrections(t, &a, day)}
		costs := totals(v.rows(&a, scope{from: day - 12, to: day}))
		days := v.fundDays(&a, day-12, day)
		for i, d := range days {
			require.Equal(t, costs[d.day][cost], d.paid.total(), "day %s: what was paid is what the report says", formatDay(d.day))
			for _, f := range []funds{d.deposit, d.paid, d.transferIn, d.transferOut, d.balance} {
				require.GreaterOrEqual(t, f.cash, int64(0))
				require.GreaterOrEqual(t, f.bank, int64(0))
				if !a.usesBank() {
					require.Zero(t, f.bank)
				}
				require.GreaterOrEqual(t, f.grant, int64(0))
			}
			if i > 0 {
				require.Equal(t, days[i-1].day+1, d.day)
				require.Equal(t, days[i-1].balance.plus(d.deposit).plus(d.transferIn).minus(d.transferOut).minus(d.paid), d.balance, "day %s", formatDay(d.day))
			}
		}
		n := v.fundNow(&a)
		require.GreaterOrEqual(t, n.balance.cash, n.locked)
		require.GreaterOrEqual(t, n.balance.grant, int64(0))
		require.GreaterOrEqual(t, n.balance.bank, int64(0))
		require.Equal(t, costs[day][cost], n.paidToday.total(), "what was paid today is what the report says")
		if a.runsAds() {
			require.Positive(t, n.balance.cash+n.balance.bank)
		}
	})
}

func TestFunds_NowAgreesWithTheEndOfTheDay(t *testing.T) {
	t.Parallel()
	w := testWorld()
	a := w.account(w.specs[0], 0)
	moved, granted, swept := 0, 0, 0
	for day := dayOf(noon.Unix()) - 30; day < dayOf(noon.Unix()); day++ {
		midnight := &view{now: dayStart(day + 1), corrections: newCorrections()}
		told := (&view{now: midnight.now + fundsToldAfter, corrections: newCorrections()}).fundDays(&a, day, day)
		require.Len(t, told, 1)
		end := midnight.fundNow(&a)
		if weekOf(day+1) != day+1 { // what is left is swept on Mondays
			// Spend for invalid clicks is given back at 02:00.
			spent := totals(midnight.rows(&a, scope{from: day, to: day}))[day][cost]
			require.Equal(t, told[0].balance.total()+told[0].paid.total(), end.balance.total()+spent, formatDay(day))
		}
		if told[0].paid.total() > 0 {
			moved++
		}
		if told[0].paid.grant > 0 {
			granted++
			require.Zero(t, end.balance.grant*told[0].paid.cash, "cash is touched when the grant is used up")
		}
		if told[0].transferOut.total() > 0 {
			swept++
		}
	}
	require.Greater(t, moved, 25)
	require.Positive(t, granted)
	require.GreaterOrEqual(t, swept, 4, "each Monday")
}

func TestFunds_DepositsDoNotMoveWithTheCorrectionsOfLaterNights(t *testing.T) {
	t.Parallel()
	w := testWorld()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t, w)
		day := dayOf(moments().Draw(t, "now"))
		at := func(days int) []fundDay {
			return (&view{now: dayStart(day+1+days) + fundsToldAfter, corrections: newCorrections()}).fundDays(&a, day-8, day)
		}
		require.Equal(t, at(0), at(rapid.IntRange(1, 300).Draw(t, "days")), "what was told once stays")
	})
}

func TestFunds_ADayIsToldAtEightOnTheNext(t *testing.T) {
	t.Parallel()
	w := testWorld()
	a := w.account(w.specs[1], 0)
	day := dayOf(noon.Unix())
	at := func(moment int64) int {
		return len((&view{now: moment, corrections: newCorrections()}).fundDays(&a, day, day+1))
	}
	require.Zero(t, at(dayStart(day+1)+8*hourLength-1))
	require.Equal(t, 1, at(dayStart(day+1)+8*hourLength))
}

func TestFunds_OfAccountsWithoutAds(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	day := dayOf(noon.Unix()) - 1
	for _, media := range s.sim.world.names() {
		empty, quiet := s.find(media, classEmpty), s.find(media, classQuiet)
		require.Zero(t, s.truth().fundNow(empty))
		require.Empty(t, s.truth().fundDays(empty, day-6, day))
		n := s.truth().fundNow(quiet)
		require.Positive(t, n.balance.cash)
		days := s.truth().fundDays(quiet, day-6, day)
		require.Len(t, days, 7)
		require.Equal(t, fundDay{day: day, balance: n.balance}, days[6])
		require.Zero(t, s.truth().fundDays(quiet, 0, dayOf(firstMoment.Unix())-1), "before the world there was no money")
	}
}

func sampleFund() (*account, fundNow, fundDay) {
	a := &account{p: &spec{name: "oceanengine"}, id: 25_610, index: 3}
	n := fundNow{balance: funds{cash: 120_005, grant: 3050}, paidToday: funds{cash: 98, grant: 2}, locked: 100}
	d := fundDay{
		day: dayOf(noon.Unix()), deposit: funds{cash: 100_000, grant: 5}, paid: funds{cash: 50_000, grant: 70}, transferIn: funds{cash: 1_100_000},
		transferOut: funds{cash: 55_050}, balance: funds{cash: 300_000, grant: 1},
	}
	return a, n, d
}

func TestFunds_AnswersAgreeWithTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	// The figures served differ from the truth, and the money does not.
	s.order("faults", fields{"kind": "alter", "what": "value", "seed": 1, "media": "tencent", "level": "account", "granularity": "daily", "field": "cost"})
	for i := range s.sim.world.count(s.spec("tencent")) {
		a := s.account("tencent", i)
		want := map[string]string{"FUND_TYPE_SHARED": "0"}
		for _, line := range s.truthLines("media", "tencent", "kind", "balance", "account", idText(a.id)) {
			var row struct {
				Fund    string
				Balance int64
			}
			require.NoError(t, json.Unmarshal([]byte(line), &row))
			want[map[string]string{"cash": "FUND_TYPE_CASH", "grant": "FUND_TYPE_GIFT", "bank": "FUND_TYPE_BANK"}[row.Fund]] = strconv.FormatInt(row.Balance/10_000, 10)
		}
		got := map[string]string{}
		for _, item := range data(t, s.tencentCall(a, "funds/get"))["list"].([]any) {
			row := item.(map[string]any)
			got[row["fund_type"].(string)] = row["balance"].(json.Number).String()
		}
		require.Equal(t, want, got)
	}
	for i := range s.sim.world.count(s.spec("oceanengine")) {
		a := s.account("oceanengine", i)
		paid := int64(0)
		for _, line := range s.truthLines("media", "oceanengine", "kind", "fund_daily", "account", idText(a.id), "from", "2026-10-20", "to", "2026-11-15") {
			var row struct{ Paid int64 }
			require.NoError(t, json.Unmarshal([]byte(line), &row))
			paid += row.Paid / 10_000
		}
		got := int64(0)
		for page := 1; page <= 3; page++ {
			d := data(t, s.oceanCall(a, "2/advertiser/fund/daily_stat/", "start_date", "2026-10-20", "end_date", "2026-11-15", "page", strconv.Itoa(page)))
			if a.class == classEmpty {
				require.Equal(t, json.Number("0"), d["page_info"].(map[string]any)["total_number"])
				continue
			}
			require.Equal(t, json.Number("26"), d["page_info"].(map[string]any)["total_number"], "up to yesterday")
			for _, item := range d["list"].([]any) {
				yuan, err := item.(map[string]any)["cost"].(json.Number).Float64()
				require.NoError(t, err)
				got += int64(yuan*100 + 0.5)
			}
		}
		require.Equal(t, paid, got)
	}
}

func TestFunds_RefuseWhatThePlatformsRefuse(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.account("tencent", 0)
	for query, want := range map[string]int{
		``: 18001, `x`: 12003, `{"start_date":"2026-11-01"}`: 18001, `{"start_date":"2026-11-1","end_date":"2026-11-02"}`: 18002,
		`{"start_date":"2026-11-01","end_date":"2026-11-10"}`: 0, `{"start_date":"2026-11-01","end_date":"2026-11-11"}`: 18003,
		`{"start_date":"2026-11-02","end_date":"2026-11-01"}`: 18004, `{"start_date":"2024-11-01","end_date":"2024-11-01"}`: 18004,
	} {
		require.Equal(t, want, code(t, s.tencentCall(a, "daily_balance_report/get", "date_range", query)), query)
	}
	require.Equal(t, 18003, code(t, s.tencentCall(a, "daily_balance_report/get", "date_range", `{"start_date":"2026-11-01","end_date":"2026-11-10"}`, "page_size", "101")))
	o := s.account("oceanengine", 0)
	for _, query := range [][]string{
		{"start_date", "x"}, {"start_date", "2026-11-02", "end_date", "2026-11-01"}, {"start_date", "2024-11-02", "end_date", "2026-11-01"},
		{"start_date", "2026-11-01", "end_date", "2026-11-01", "page_size", "101"},
	} {
		require.Equal(t, 40000, code(t, s.oceanCall(o, "2/advertiser/fund/daily_stat/", query...)), "%v", query)
	}
	first := data(t, s.oceanCall(o, "2/advertiser/fund/daily_stat/"))
	require.Equal(t, "2026-01-01", first["list"].([]any)[0].(fields)["date"], "without days it is this year")
	require.Equal(t, json.Number("10"), first["page_info"].(fields)["page_size"])
	require.Contains(t, data(t, s.oceanCall(o, "2/advertiser/fund/get/", "grant_type_split", "ON")), "common_grant")
	require.Equal(t, 40000, code(t, s.oceanCall(o, "2/advertiser/fund/get/", "grant_type_split", "YES")))
	other := *s.account("oceanengine", 0)
	other.id++
	require.Equal(t, 40002, code(t, s.do(oceanRequest(s.token(o), "2/advertiser/fund/get/", query("advertiser_id", idText(other.id))))))
	require.Equal(t, 12201, code(t, s.do(s.tencentRequest(s.token(a), "funds/get", query("account_id", "1")))))
}
