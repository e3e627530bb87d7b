package simulator

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/simulator/fault"
	"adsync/simulator/world"
)

func totals(rows []world.Row) map[int]world.Figures {
	sums := map[int]world.Figures{}
	for _, r := range rows {
		f := sums[r.Day]
		f.Add(&r.Figures)
		sums[r.Day] = f
	}
	return sums
}

func TestFigures_LevelsAndHoursAddUpExactly(t *testing.T) {
	t.Parallel()
	w := testWorld()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t, w)
		now := moments().Draw(t, "now")
		day := world.DayOf(now)
		c := world.NewCorrections()
		if percent := rapid.Int64Range(-100, 200).Draw(t, "percent"); percent != 0 {
			c.Add(&a, world.Correction{}, world.CorrectedDays{From: day - 1, To: day, Percent: percent})
		}
		v := &world.View{Now: now, Corrections: c}
		daily := v.Rows(&a, world.Scope{Level: world.LevelAd, From: day - 2, To: day})
		want := totals(daily)
		require.Equal(t, want, totals(v.Rows(&a, world.Scope{Level: world.LevelAd, Hourly: true, From: day - 2, To: day})))
		require.Equal(t, want, totals(v.Rows(&a, world.Scope{Level: world.LevelAccount, From: day - 2, To: day})))
		require.Equal(t, want,
			totals(v.Rows(&a, world.Scope{Level: world.LevelAccount, Hourly: true, From: day - 2, To: day})))
		for _, r := range daily {
			require.Positive(t, r.Figures[world.Impressions])
			for _, pair := range [][2]world.Metric{
				{world.Impressions, world.Clicks}, {world.Clicks, world.Downloads}, {world.Downloads, world.Installs},
				{world.Installs, world.Activations}, {world.Activations, world.Registrations},
				{world.Activations, world.FirstPays}, {world.PayAmountD7, world.PayAmountD3},
				{world.PayAmountD3, world.PayAmountD1}, {world.PayAmount, world.PayAmountD7},
			} {
				require.GreaterOrEqual(t, r.Figures[pair[0]], r.Figures[pair[1]], "%s, %s", pair[0], pair[1])
			}
			for m, n := range r.Figures {
				require.GreaterOrEqual(t, n, int64(0), world.Metric(m))
			}
		}
	})
}

func TestFigures_RowsComeInOrderAndOnce(t *testing.T) {
	t.Parallel()
	w := testWorld()
	a := w.Account(w.Specs[len(w.Specs)-1], 0)
	v := &world.View{Now: noon.Unix(), Corrections: world.NewCorrections()}
	day := world.DayOf(v.Now)
	for _, s := range []world.Scope{
		{Level: world.LevelAd, From: day - 6, To: day}, {Level: world.LevelAd, Hourly: true, From: day - 1, To: day},
		{Level: world.LevelAccount, From: day - 6, To: day},
		{Level: world.LevelAccount, Hourly: true, From: day - 1, To: day},
	} {
		rows := v.Rows(&a, s)
		require.NotEmpty(t, rows)
		for i := 1; i < len(rows); i++ {
			require.Negative(t, fault.CompareRows(rows[i-1], rows[i]))
		}
	}
}

func TestFigures_GrowThroughTheDay(t *testing.T) {
	t.Parallel()
	w := testWorld()
	a := w.Account(w.Specs[0], 0)
	day := world.DayOf(noon.Unix())
	last := world.Figures{}
	grew := 0
	for second := int64(0); second <= world.DayLength; second += 600 {
		v := &world.View{Now: world.DayStart(day) + second, Corrections: world.NewCorrections()}
		f := totals(v.Rows(&a, world.Scope{From: day, To: day}))[day]
		for m := range f {
			require.GreaterOrEqual(t, f[m], last[m], "%s at second %d", world.Metric(m), second)
		}
		if f[world.Cost] > last[world.Cost] {
			grew++
		}
		last = f
	}
	require.Greater(t, grew, 100, "spend changes in almost every ten minutes")
}

func TestFigures_ChangeEveryThreeMinutes(t *testing.T) {
	t.Parallel()
	var china *world.Calendar
	require.EqualValues(t, 0, china.PublishedSecond(10, world.DayStart(10)+179))
	require.EqualValues(t, 180, china.PublishedSecond(10, world.DayStart(10)+180))
	require.EqualValues(t, world.DayLength, china.PublishedSecond(10, world.DayStart(12)))
	require.EqualValues(t, 0, china.PublishedSecond(10, world.DayStart(9)))
}

func TestFigures_PastDaysAreCorrectedForThreeNightsAndCohortsGrowForThirty(t *testing.T) {
	t.Parallel()
	w := testWorld()
	day := world.DayOf(noon.Unix())
	at := func(days int, second int64) world.Figures {
		v := &world.View{Now: world.DayStart(day+days) + second, Corrections: world.NewCorrections()}
		a := w.Account(w.Specs[0], 0)
		return totals(v.Rows(&a, world.Scope{From: day, To: day}))[day]
	}
	previous := at(1, 0)
	for night := 1; night <= 3; night++ {
		require.Equal(t, previous, at(night, 2*world.HourLength-1), "nothing changes before 02:00 of night %d", night)
		next := at(night, 2*world.HourLength)
		require.NotEqual(t, previous, next, "night %d", night)
		require.GreaterOrEqual(t, next[world.Conversions], previous[world.Conversions], "conversions arrive late")
		previous = next
	}
	for night := 4; night <= 30; night++ {
		require.Equal(t, previous, at(night, 2*world.HourLength-1), "nothing changes before 02:00 of night %d", night)
		next := at(night, 2*world.HourLength)
		require.Greater(t, next[world.PayAmountD7], previous[world.PayAmountD7], "night %d", night)
		if night <= 7 {
			require.Equal(t, previous[world.PayAmountD3], next[world.PayAmountD3],
				"payments within three days are complete, except for late users")
		} else {
			require.GreaterOrEqual(t, next[world.PayAmountD3], previous[world.PayAmountD3])
		}
		previous[world.PayAmountD3], previous[world.PayAmountD7] = next[world.PayAmountD3], next[world.PayAmountD7]
		require.Equal(t, previous, next, "all other figures are settled")
	}
	require.Greater(t, previous[world.PayAmountD3], at(7, 2*world.HourLength)[world.PayAmountD3])
	require.Equal(t, previous, at(300, 0), "then all figures are settled")
	require.Equal(t, at(1, 0)[world.Impressions], previous[world.Impressions])
	require.Zero(t, at(1, 0)[world.NextDayRetained])
	require.Positive(t, previous[world.NextDayRetained])
}

func TestFigures_SilentAccountsHaveNone(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	for _, media := range s.sim.World.Names() {
		quiet := s.find(media, world.ClassQuiet)
		require.Empty(t, s.truth().Rows(quiet, world.Scope{From: 20_000, To: world.DayOf(noon.Unix())}))
		objects := s.truth().Objects(quiet)
		require.NotEmpty(t, objects)
		for _, o := range objects {
			require.NotEqual(t, world.StatusActive, o.Status)
		}
		require.Empty(t, s.truth().Objects(s.find(media, world.ClassEmpty)))
	}
}

func TestFigures_AreMissingBeforeTheWorldAndInTheFuture(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	today := world.DayOf(noon.Unix())
	for _, media := range clients {
		a := s.account(media, 0)
		require.Empty(t, s.truth().Rows(a, world.Scope{From: 0, To: world.DayOf(world.FirstMoment.Unix()) - 1}))
		require.Empty(t, s.truth().Rows(a, world.Scope{From: today + 1, To: today + 30}))
	}
}
