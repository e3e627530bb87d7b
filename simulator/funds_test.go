package simulator

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/simulator/world"
)

func drawCorrections(t *rapid.T, a *world.Account, day int) *world.Corrections {
	c := world.NewCorrections()
	for range rapid.IntRange(0, 2).Draw(t, "corrections") {
		percent := rapid.Int64Range(-100, 300).Draw(t, "percent")
		c.Add(a, world.Correction{}, world.CorrectedDays{From: day - rapid.IntRange(0, 9).Draw(t, "back"), To: day,
			Percent: percent})
	}
	return c
}

func TestFunds_BalanceIsDepositsMinusCost(t *testing.T) {
	t.Parallel()
	w := testWorld()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t, w)
		now := moments().Draw(t, "now")
		day := world.DayOf(now)
		v := &world.View{Now: now, Corrections: drawCorrections(t, &a, day)}
		costs := totals(v.Rows(&a, world.Scope{From: day - 12, To: day}))
		days := v.FundDays(&a, day-12, day)
		for i, d := range days {
			require.Equal(t, costs[d.Day][world.Cost], d.Paid.Total(), "day %s: the amount paid is the cost in the report",
				world.FormatDay(d.Day))
			for _, f := range []world.Funds{d.Deposit, d.Paid, d.TransferIn, d.TransferOut, d.Balance} {
				require.GreaterOrEqual(t, f.Cash, int64(0))
				require.GreaterOrEqual(t, f.Bank, int64(0))
				if !a.UsesBank() {
					require.Zero(t, f.Bank)
				}
				require.GreaterOrEqual(t, f.Grant, int64(0))
			}
			if i > 0 {
				require.Equal(t, days[i-1].Day+1, d.Day)
				require.Equal(t, days[i-1].Balance.Plus(d.Deposit).Plus(d.TransferIn).Minus(d.TransferOut).Minus(d.Paid), d.Balance,
					"day %s", world.FormatDay(d.Day))
			}
		}
		n := v.FundNow(&a)
		require.GreaterOrEqual(t, n.Balance.Cash, n.Locked)
		require.GreaterOrEqual(t, n.Balance.Grant, int64(0))
		require.GreaterOrEqual(t, n.Balance.Bank, int64(0))
		require.Equal(t, costs[day][world.Cost], n.PaidToday.Total(), "the amount paid today is the cost in the report")
		if a.RunsAds() {
			require.Positive(t, n.Balance.Cash+n.Balance.Bank)
		}
	})
}

func TestFunds_NowAgreesWithTheEndOfTheDay(t *testing.T) {
	t.Parallel()
	w := testWorld()
	a := w.Account(w.Specs[0], 0)
	moved, granted, swept := 0, 0, 0
	for day := world.DayOf(noon.Unix()) - 30; day < world.DayOf(noon.Unix()); day++ {
		midnight := &world.View{Now: world.DayStart(day + 1), Corrections: world.NewCorrections()}
		told := (&world.View{Now: midnight.Now + world.FundsPublishedAfter, Corrections: world.NewCorrections()}).FundDays(&a,
			day,
			day)
		require.Len(t, told, 1)
		end := midnight.FundNow(&a)
		if world.WeekOf(day+1) != day+1 { // the rest is swept on Mondays
			// Spend for invalid clicks is refunded at 02:00.
			spent := totals(midnight.Rows(&a, world.Scope{From: day, To: day}))[day][world.Cost]
			require.Equal(t, told[0].Balance.Total()+told[0].Paid.Total(), end.Balance.Total()+spent, world.FormatDay(day))
		}
		if told[0].Paid.Total() > 0 {
			moved++
		}
		if told[0].Paid.Grant > 0 {
			granted++
			require.Zero(t, end.Balance.Grant*told[0].Paid.Cash, "cash is used only when the grant is used up")
		}
		if told[0].TransferOut.Total() > 0 {
			swept++
		}
	}
	require.Greater(t, moved, 25)
	require.Positive(t, granted)
	require.GreaterOrEqual(t, swept, 4, "each Monday")
}

func TestFunds_CorrectionsOfLaterNightsDoNotChangeDeposits(t *testing.T) {
	t.Parallel()
	w := testWorld()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t, w)
		day := world.DayOf(moments().Draw(t, "now"))
		at := func(days int) []world.FundDay {
			return (&world.View{Now: world.DayStart(day+1+days) + world.FundsPublishedAfter,
				Corrections: world.NewCorrections()}).FundDays(&a, day-8, day)
		}
		require.Equal(t, at(0), at(rapid.IntRange(1, 300).Draw(t, "days")), "published amounts do not change")
	})
}

func TestFunds_ADayIsPublishedAtEightOnTheNext(t *testing.T) {
	t.Parallel()
	w := testWorld()
	a := w.Account(w.Specs[len(w.Specs)-1], 0)
	day := world.DayOf(noon.Unix())
	at := func(moment int64) int {
		return len((&world.View{Now: moment, Corrections: world.NewCorrections()}).FundDays(&a, day, day+1))
	}
	require.Zero(t, at(world.DayStart(day+1)+8*world.HourLength-1))
	require.Equal(t, 1, at(world.DayStart(day+1)+8*world.HourLength))
}

func TestFunds_OfAccountsWithoutAds(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	day := world.DayOf(noon.Unix()) - 1
	for _, media := range s.sim.World.Names() {
		empty, quiet := s.find(media, world.ClassEmpty), s.find(media, world.ClassQuiet)
		require.Zero(t, s.truth().FundNow(empty))
		require.Empty(t, s.truth().FundDays(empty, day-6, day))
		n := s.truth().FundNow(quiet)
		require.Positive(t, n.Balance.Cash)
		days := s.truth().FundDays(quiet, day-6, day)
		require.Len(t, days, 7)
		require.Equal(t, world.FundDay{Day: day, Balance: n.Balance}, days[6])
		require.Zero(t, s.truth().FundDays(quiet, 0, world.DayOf(world.FirstMoment.Unix())-1),
			"before the world there was no money")
	}
}

func TestFunds_AnswersAgreeWithTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	s.spec("tencent")
	// The served figures differ from the truth, but the money does not.
	s.order("faults", fields{"kind": "alter", "what": "value", "seed": 1, "media": "tencent", "level": "account",
		"granularity": "daily", "field": "cost"})
	for i := range s.sim.World.Count(s.spec("tencent")) {
		a := s.account("tencent", i)
		want := map[string]string{"FUND_TYPE_SHARED": "0"}
		for _, line := range s.truthLines("media", "tencent", "kind", "balance", "account", idText(a.ID)) {
			var row struct {
				Fund    string
				Balance int64
			}
			require.NoError(t, json.Unmarshal([]byte(line), &row))
			want[map[string]string{"cash": "FUND_TYPE_CASH", "grant": "FUND_TYPE_GIFT",
				"bank": "FUND_TYPE_BANK"}[row.Fund]] = strconv.FormatInt(row.Balance/10_000, 10)
		}
		got := map[string]string{}
		for _, item := range data(t, s.tencentCall(a, "funds/get"))["list"].([]any) {
			row := item.(map[string]any)
			got[row["fund_type"].(string)] = row["balance"].(json.Number).String()
		}
		require.Equal(t, want, got)
	}
	for i := range s.sim.World.Count(s.spec("oceanengine")) {
		a := s.account("oceanengine", i)
		paid := int64(0)
		for _, line := range s.truthLines("media", "oceanengine", "kind", "fund_daily", "account", idText(a.ID), "from",
			"2026-10-20", "to", "2026-11-15") {
			var row struct{ Paid int64 }
			require.NoError(t, json.Unmarshal([]byte(line), &row))
			paid += row.Paid / 10_000
		}
		got := int64(0)
		for page := 1; page <= 3; page++ {
			d := data(t, s.oceanCall(a, "2/advertiser/fund/daily_stat/", "start_date", "2026-10-20", "end_date", "2026-11-15",
				"page", strconv.Itoa(page)))
			if a.Class == world.ClassEmpty {
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

func TestFunds_RefuseInvalidQueriesAsThePlatformsDo(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.account("tencent", 0)
	for query, want := range map[string]int{
		``: 18001, `x`: 12003, `{"start_date":"2026-11-01"}`: 18001,
		`{"start_date":"2026-11-1","end_date":"2026-11-02"}`:  18002,
		`{"start_date":"2026-11-01","end_date":"2026-11-10"}`: 0,
		`{"start_date":"2026-11-01","end_date":"2026-11-11"}`: 18003,
		`{"start_date":"2026-11-02","end_date":"2026-11-01"}`: 18004,
		`{"start_date":"2024-11-01","end_date":"2024-11-01"}`: 18004,
	} {
		require.Equal(t, want, code(t, s.tencentCall(a, "daily_balance_report/get", "date_range", query)), query)
	}
	require.Equal(t, 18003, code(t, s.tencentCall(a, "daily_balance_report/get", "date_range",
		`{"start_date":"2026-11-01","end_date":"2026-11-10"}`, "page_size", "101")))
	o := s.account("oceanengine", 0)
	for _, query := range [][]string{
		{"start_date", "x"}, {"start_date", "2026-11-02", "end_date", "2026-11-01"},
		{"start_date", "2024-11-02", "end_date", "2026-11-01"},
		{"start_date", "2026-11-01", "end_date", "2026-11-01", "page_size", "101"},
	} {
		require.Equal(t, 40000, code(t, s.oceanCall(o, "2/advertiser/fund/daily_stat/", query...)), "%v", query)
	}
	first := data(t, s.oceanCall(o, "2/advertiser/fund/daily_stat/"))
	require.Equal(t, "2026-01-01", first["list"].([]any)[0].(fields)["date"], "the default is this year")
	require.Equal(t, json.Number("10"), first["page_info"].(fields)["page_size"])
	require.Contains(t, data(t, s.oceanCall(o, "2/advertiser/fund/get/", "grant_type_split", "ON")), "common_grant")
	require.Equal(t, 40000, code(t, s.oceanCall(o, "2/advertiser/fund/get/", "grant_type_split", "YES")))
	other := *s.account("oceanengine", 0)
	other.ID++
	require.Equal(t, 40002,
		code(t, s.do(s.oceanRequest(s.token(o), "2/advertiser/fund/get/", query("advertiser_id", idText(other.ID))))))
	require.Equal(t, 12201, code(t, s.do(s.tencentRequest(s.token(a), "funds/get", query("account_id", "1")))))
}
