package simulator

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func totals(rows []row) map[int]figures {
	sums := map[int]figures{}
	for _, r := range rows {
		f := sums[r.day]
		f.add(&r.figures)
		sums[r.day] = f
	}
	return sums
}

func TestFigures_LevelsAndHoursAddUpExactly(t *testing.T) {
	t.Parallel()
	w := testWorld()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t, w)
		now := moments().Draw(t, "now")
		day := dayOf(now)
		c := newCorrections()
		if percent := rapid.Int64Range(-100, 200).Draw(t, "percent"); percent != 0 {
			c.add(&a, correction{}, correctedDays{from: day - 1, to: day, percent: percent})
		}
		v := &view{now: now, corrections: c}
		daily := v.rows(&a, scope{level: levelAd, from: day - 2, to: day})
		want := totals(daily)
		require.Equal(t, want, totals(v.rows(&a, scope{level: levelAd, hourly: true, from: day - 2, to: day})))
		require.Equal(t, want, totals(v.rows(&a, scope{level: levelAccount, from: day - 2, to: day})))
		require.Equal(t, want, totals(v.rows(&a, scope{level: levelAccount, hourly: true, from: day - 2, to: day})))
		for _, r := range daily {
			require.Positive(t, r.figures[impressions])
			for _, pair := range [][2]metric{
				{impressions, clicks}, {clicks, downloads}, {downloads, installs}, {installs, activations}, {activations, registrations},
				{activations, firstPays}, {payAmountD7, payAmountD3}, {payAmountD3, payAmountD1}, {payAmount, payAmountD7},
			} {
				require.GreaterOrEqual(t, r.figures[pair[0]], r.figures[pair[1]], "%s, %s", pair[0], pair[1])
			}
			for m, n := range r.figures {
				require.GreaterOrEqual(t, n, int64(0), metric(m))
			}
		}
	})
}

func TestFigures_RowsComeInOrderAndOnce(t *testing.T) {
	t.Parallel()
	w := testWorld()
	a := w.account(w.specs[1], 0)
	v := &view{now: noon.Unix(), corrections: newCorrections()}
	day := dayOf(v.now)
	for _, s := range []scope{
		{level: levelAd, from: day - 6, to: day}, {level: levelAd, hourly: true, from: day - 1, to: day},
		{level: levelAccount, from: day - 6, to: day}, {level: levelAccount, hourly: true, from: day - 1, to: day},
	} {
		rows := v.rows(&a, s)
		require.NotEmpty(t, rows)
		for i := 1; i < len(rows); i++ {
			require.Negative(t, compareRows(rows[i-1], rows[i]))
		}
	}
}

func TestFigures_GrowThroughTheDay(t *testing.T) {
	t.Parallel()
	w := testWorld()
	a := w.account(w.specs[0], 0)
	day := dayOf(noon.Unix())
	last := figures{}
	grew := 0
	for second := int64(0); second <= dayLength; second += 600 {
		v := &view{now: dayStart(day) + second, corrections: newCorrections()}
		f := totals(v.rows(&a, scope{from: day, to: day}))[day]
		for m := range f {
			require.GreaterOrEqual(t, f[m], last[m], "%s at second %d", metric(m), second)
		}
		if f[cost] > last[cost] {
			grew++
		}
		last = f
	}
	require.Greater(t, grew, 100, "spend moves nearly every ten minutes")
}

func TestFigures_MoveEveryThreeMinutes(t *testing.T) {
	t.Parallel()
	var china *calendar
	require.EqualValues(t, 0, china.publishedSecond(10, dayStart(10)+179))
	require.EqualValues(t, 180, china.publishedSecond(10, dayStart(10)+180))
	require.EqualValues(t, dayLength, china.publishedSecond(10, dayStart(12)))
	require.EqualValues(t, 0, china.publishedSecond(10, dayStart(9)))
}

func TestFigures_PastDaysAreCorrectedForThreeNightsAndCohortsGrowForThirty(t *testing.T) {
	t.Parallel()
	w := testWorld()
	day := dayOf(noon.Unix())
	at := func(days int, second int64) figures {
		v := &view{now: dayStart(day+days) + second, corrections: newCorrections()}
		a := w.account(w.specs[0], 0)
		return totals(v.rows(&a, scope{from: day, to: day}))[day]
	}
	previous := at(1, 0)
	for night := 1; night <= 3; night++ {
		require.Equal(t, previous, at(night, 2*hourLength-1), "before 02:00 of night %d nothing moves", night)
		next := at(night, 2*hourLength)
		require.NotEqual(t, previous, next, "night %d", night)
		require.GreaterOrEqual(t, next[conversions], previous[conversions], "conversions arrive late")
		previous = next
	}
	for night := 4; night <= 30; night++ {
		require.Equal(t, previous, at(night, 2*hourLength-1), "before 02:00 of night %d nothing moves", night)
		next := at(night, 2*hourLength)
		require.Greater(t, next[payAmountD7], previous[payAmountD7], "night %d", night)
		if night <= 7 {
			require.Equal(t, previous[payAmountD3], next[payAmountD3], "what is paid in three days is known, but for late users")
		} else {
			require.GreaterOrEqual(t, next[payAmountD3], previous[payAmountD3])
		}
		previous[payAmountD3], previous[payAmountD7] = next[payAmountD3], next[payAmountD7]
		require.Equal(t, previous, next, "all other figures are settled")
	}
	require.Greater(t, previous[payAmountD3], at(7, 2*hourLength)[payAmountD3])
	require.Equal(t, previous, at(300, 0), "then all of it is settled")
	require.Equal(t, at(1, 0)[impressions], previous[impressions])
	require.Zero(t, at(1, 0)[nextDayRetained])
	require.Positive(t, previous[nextDayRetained])
}

func TestFigures_SilentAccountsHaveNone(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	for _, media := range s.sim.world.names() {
		quiet := s.find(media, classQuiet)
		require.Empty(t, s.truth().rows(quiet, scope{from: 20_000, to: dayOf(noon.Unix())}))
		objects := s.truth().objects(quiet)
		require.NotEmpty(t, objects)
		for _, o := range objects {
			require.NotEqual(t, statusActive, o.status)
		}
		require.Empty(t, s.truth().objects(s.find(media, classEmpty)))
	}
}

func TestFigures_OfDaysBeforeTheWorldAndToComeAreNone(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	a := s.account("tencent", 0)
	today := dayOf(noon.Unix())
	require.Empty(t, s.truth().rows(a, scope{from: 0, to: dayOf(firstMoment.Unix()) - 1}))
	require.Empty(t, s.truth().rows(a, scope{from: today + 1, to: today + 30}))
}
