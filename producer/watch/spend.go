package watch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store/overview"
	"adsync/base/task"
)

// gamesMax is how many games of a platform, currency and time zone are exported by name: those with the most spend. The
// others are summed up.
const (
	gamesMax   = 200
	otherGames = "(other)"
)

// readSpend reads the spend of the present day and the day before, in each time zone that has some.
func (w *Watch) readSpend(ctx context.Context, _ []task.Task) (metrics, error) {
	var m metrics
	now := w.Clock.Now()
	utc := day.Of(now, time.UTC)
	// In some zone it is already tomorrow, and in another it is still yesterday, which is compared with the day before.
	zones, err := w.Store.SpendZones(ctx, day.Between(utc.Add(-2), utc.Add(1)))
	if err != nil {
		return m, err
	}
	for _, name := range zones {
		zone, err := schedule.Zone(name)
		if err != nil {
			continue // No account can be pulled in this zone.
		}
		today := day.Of(now, zone)
		rows, err := w.Store.Spend(ctx, today, now.In(zone).Hour(), name)
		if err != nil {
			return m, err
		}
		m.gauge(dayStart, float64(today.Start(zone).Unix()), name)
		for _, r := range fewGames(rows) {
			m.gauge(spendToday, float64(r.Today), r.Game, r.Media, r.Currency, name)
			m.gauge(spendTodayHours, float64(r.TodayHours), r.Game, r.Media, r.Currency, name)
			m.gauge(spendYesterday, float64(r.Yesterday), r.Game, r.Media, r.Currency, name)
			m.gauge(spendYesterdayHours, float64(r.YesterdayHours), r.Game, r.Media, r.Currency, name)
		}
	}
	return m, nil
}

// fewGames sums up the games beyond gamesMax of each platform and currency.
func fewGames(rows []overview.SpendRow) []overview.SpendRow {
	slices.SortFunc(rows, func(a, b overview.SpendRow) int {
		return cmp.Or(cmp.Compare(a.Media, b.Media), cmp.Compare(a.Currency, b.Currency),
			cmp.Compare(b.Today+b.Yesterday, a.Today+a.Yesterday), cmp.Compare(a.Game, b.Game))
	})
	var few []overview.SpendRow
	named := 0
	for _, r := range rows {
		last := len(few) - 1
		if last < 0 || few[last].Media != r.Media || few[last].Currency != r.Currency {
			named = 0
		}
		named++
		switch {
		case named <= gamesMax:
			few = append(few, r)
		case named == gamesMax+1:
			r.Game = otherGames
			few = append(few, r)
		default:
			other := &few[last]
			other.Today += r.Today
			other.TodayHours += r.TodayHours
			other.Yesterday += r.Yesterday
			other.YesterdayHours += r.YesterdayHours
		}
	}
	return few
}
