package summaries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

// costs returns summary_daily's cost by game and day.
func costs(t *testing.T, s *store.Store) map[string]int64 {
	t.Helper()
	var rows []struct {
		Game string
		Day  day.Day
		Cost int64
	}
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT game, day, cost FROM summary_daily").Scan(&rows).Error)
	all := map[string]int64{}
	for _, r := range rows {
		all[r.Game+" "+r.Day.String()] = r.Cost
	}
	return all
}

// What a plan says moves is what the summaries then have moved.
func TestPlanRebind_HasTheSumsThatTheSummariesMove(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.NewResults(t)
	storetest.AddAccount(t, s, 7, "active", "")
	days := day.Between("2026-11-18", "2026-11-21")
	w := storetest.ReportOf(storetest.Claim(t, s, "pull", days...))
	for i, d := range days {
		w.Rows = append(w.Rows, storetest.CostRow(d, "", int64(i+1)*1_000_000, "{}"))
	}
	_, err := s.WriteReport(ctx, w)
	require.NoError(t, err)
	_, _, err = s.Rebind(ctx, "otto", 7, func([]summaries.Binding) (summaries.Binding, error) {
		return summaries.Binding{From: "2026-01-01", To: summaries.LastDay, Game: "a", OS: "ios"}, nil
	})
	require.NoError(t, err)
	storetest.BindTo(t, s, "a", 7)
	storetest.RebuildSummaries(t, s)
	require.Equal(t, map[string]int64{"a 2026-11-18": 1_000_000, "a 2026-11-19": 2_000_000, "a 2026-11-20": 3_000_000,
		"a 2026-11-21": 4_000_000}, costs(t, s))

	move := func([]summaries.Binding) (summaries.Binding, error) {
		return summaries.Binding{From: "2026-11-19", To: "2026-11-20", Game: "b", OS: "ios"}, nil
	}
	before, after, err := s.PlanRebind(ctx, 7, move)
	require.NoError(t, err)
	kept, err := s.AccountBindings(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, before, kept, "a plan writes nothing")
	touched := summaries.BindingDifferences(before, after)
	require.Equal(t, []summaries.Binding{{From: "2026-11-19", To: "2026-11-20"}}, touched)
	sums, err := s.SumDays(ctx, 7, touched[0].From, touched[0].To)
	require.NoError(t, err)
	require.Len(t, sums, 1)
	cost, _ := sums[0].Sums.Get(metric.Cost)
	require.Equal(t, summaries.DaySum{Currency: "CNY", Days: 2, First: "2026-11-19", Last: "2026-11-20",
		Sums: sums[0].Sums}, sums[0])
	require.EqualValues(t, 5_000_000, cost)
	_, has := sums[0].Sums.Get(metric.Index("clicks"))
	require.False(t, has, "what no row has is not 0")

	_, done, err := s.Rebind(ctx, "otto", 7, move)
	require.NoError(t, err)
	require.Equal(t, after, done)
	change := summaries.BindingChange{AccountID: 7, Bindings: done, Touched: touched}
	require.NoError(t, s.ApplyBindings(ctx, storetest.Lead(t, s, "leader"), []summaries.BindingChange{change}))
	storetest.RebuildSummaries(t, s)
	require.Equal(t, map[string]int64{"a 2026-11-18": 1_000_000, "b 2026-11-19": 2_000_000, "b 2026-11-20": 3_000_000,
		"a 2026-11-21": 4_000_000}, costs(t, s))

	none, err := s.SumDays(ctx, 7, "2026-01-01", "2026-11-17")
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestGamesOn_CountTheAccountsOfADay(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	for id := range int64(5) {
		storetest.AddAccount(t, s, id+1, "active", "")
	}
	require.NoError(t, s.BindAccounts(ctx, "otto", []int64{5}, false))
	require.NoError(t, s.PutGame(ctx, "otto", "a", "Alpha"))
	require.NoError(t, s.PutGame(ctx, "otto", "b", "Beta"))
	bind := func(account int64, from, to day.Day, game string) summaries.Binding {
		return summaries.Binding{AccountID: account, From: from, To: to, Game: game, OS: "ios"}
	}
	require.NoError(t, s.AddBindings(ctx, "otto", []summaries.Binding{
		bind(1, "2026-01-01", summaries.LastDay, "a"),
		bind(2, "2026-01-01", summaries.LastDay, "a"), bind(2, "2026-06-01", summaries.LastDay, "b"),
		bind(3, "2026-01-01", "2026-11-20", "a"),
	}))
	games, err := s.GamesOn(ctx, today)
	require.NoError(t, err)
	require.Equal(t, []summaries.Game{{"a", "Alpha", 1}, {"b", "Beta", 1},
		{summaries.Unassigned, "accounts without a binding", 2}}, games,
		"3 has none today, 4 never had one, 5 is not pulled")

	spans := func(all []summaries.GameAccount) (texts []string) {
		for _, g := range all {
			texts = append(texts, g.ExternalID+" "+g.From.String()+" "+g.To.String())
		}
		return texts
	}
	name := func(id int64) string {
		accounts, err := s.AccountsByID(ctx, []int64{id})
		require.NoError(t, err)
		return accounts[id].ExternalID
	}
	page, next, err := s.GameAccounts(ctx, "a", 0, 2)
	require.NoError(t, err)
	require.Equal(t, []string{name(1) + " 2026-01-01 9999-12-31", name(2) + " 2026-01-01 2026-05-31"}, spans(page))
	require.EqualValues(t, 2, next)
	page, next, err = s.GameAccounts(ctx, "a", next, 2)
	require.NoError(t, err)
	require.Equal(t, []string{name(3) + " 2026-01-01 2026-11-20"}, spans(page))
	require.Zero(t, next)
	page, next, err = s.GameAccounts(ctx, "none", 0, 2)
	require.NoError(t, err)
	require.Empty(t, page)
	require.Zero(t, next)
}
