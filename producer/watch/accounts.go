package watch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/schedule"
	"adsync/base/store/overview"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
)

const (
	// page is how many accounts are read together. Only their rows are in memory.
	page = 500
	// daysBack is how many days before today to search for an account's last good pull and for untrusted figures.
	daysBack = 7
	ageMax   = (daysBack + 1) * 24 * time.Hour // of figures that were never pulled
	// silentHours is the number of hours in which an account had spend yesterday and none today. Platforms complete an
	// hour late.
	silentHours = 3
	hoursReport = "report_hourly"
	// balanceLasts is for how long a balance should last.
	balanceLasts = 24 * time.Hour
)

// readAccounts goes through all accounts, a page at a time.
func (w *Watch) readAccounts(ctx context.Context, tasks []task.Task) (metrics, error) {
	var m metrics
	for _, p := range w.Platforms {
		walk := newWalk(w, p, tasks)
		for after := int64(0); ; {
			accounts, err := w.Store.WatchAccounts(ctx, p.Name(), after, page)
			if err != nil {
				return m, err
			}
			if err := walk.add(ctx, accounts); err != nil {
				return m, err
			}
			if len(accounts) < page {
				break
			}
			after = accounts[len(accounts)-1].ID
		}
		walk.tell(&m)
	}
	return m, nil
}

type (
	standing struct{ tier, parked string }
	scopeKey struct{ task, tier string }
	owed     struct{ currency, cause string }
)

// walk sums up the accounts of a platform.
type walk struct {
	*Watch
	platform media.Platform
	scopes   []scope

	standings map[standing]int
	ages      map[scopeKey]*ages
	unpulled  map[owed]float64
	distrust  map[results.CoverageState]int
	spending  int
	silent    int
	balances  map[string]int64
	low       int
}

func newWalk(w *Watch, p media.Platform, tasks []task.Task) *walk {
	return &walk{
		Watch: w, platform: p, scopes: scopesOf(p, tasks, w.Clock.Now()),
		standings: map[standing]int{}, ages: map[scopeKey]*ages{}, unpulled: map[owed]float64{},
		distrust: map[results.CoverageState]int{results.Partial: 0, results.Suspect: 0}, balances: map[string]int64{},
	}
}

func (w *walk) tell(m *metrics) {
	name := w.platform.Name()
	for s, n := range w.standings {
		m.gauge(accounts, float64(n), name, s.tier, s.parked)
	}
	for k, a := range w.ages {
		m.all = append(m.all, prometheus.MustNewConstHistogram(freshness, a.count, a.sum, a.buckets, name, k.task, k.tier))
		m.gauge(freshnessOldest, a.oldest.Seconds(), name, k.task, k.tier)
		m.gauge(freshnessLate, float64(a.late), name, k.task, k.tier)
	}
	for k, micros := range w.unpulled {
		m.gauge(unpulled, micros, name, k.currency, k.cause)
	}
	for state, n := range w.distrust {
		m.gauge(coverageDays, float64(n), name, string(state))
	}
	m.gauge(spendingBefore, float64(w.spending), name)
	m.gauge(silent, float64(w.silent), name)
	for currency, micros := range w.balances {
		m.gauge(balanceSum, float64(micros), name, currency)
	}
	m.gauge(balanceLow, float64(w.low), name)
}

// group holds accounts of one time zone, which have the same present day. Its times are business times: shift converts
// the database's times to them, and is zero except in a simulated world.
type group struct {
	zone     *time.Location
	now      time.Time
	shift    time.Duration
	today    day.Day
	accounts []overview.WatchAccount
	ids      []int64 // of all of them
	pulled   []int64 // of those that are not parked
	good     map[int64]pull
	rates    map[int64]rate
}

// pull is the time up to which an account's figures are known, and the newest day of them.
type pull struct {
	day   day.Day
	until time.Time
}

// rate is an account's spend per second, in millionths of the currency.
type rate struct {
	currency string
	micros   float64
}

func (w *walk) add(ctx context.Context, accounts []overview.WatchAccount) error {
	if len(accounts) == 0 {
		return nil
	}
	now := w.Clock.Now()
	database, err := w.Store.Data.Now(ctx)
	if err != nil {
		return err
	}
	groups := map[string]*group{}
	for _, a := range accounts {
		w.standings[standing{a.Tier, whyParked(a)}]++
		g := groups[a.Timezone]
		if g == nil {
			zone, err := schedule.Zone(a.Timezone)
			if err != nil {
				continue // Fan-outs report it.
			}
			g = &group{zone: zone, now: now, shift: now.Sub(database), today: day.Of(now, zone), good: map[int64]pull{},
				rates: map[int64]rate{}}
			groups[a.Timezone] = g
		}
		g.accounts, g.ids = append(g.accounts, a), append(g.ids, a.ID)
		if a.Parked == "" {
			g.pulled = append(g.pulled, a.ID)
		}
	}
	for _, g := range groups {
		for _, read := range []func(context.Context, *group) error{w.readPulls, w.readRates, w.readBalances, w.readSilent,
			w.readAges} {
			if err := read(ctx, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// whyParked returns why an account is not pulled, as one word.
func whyParked(a overview.WatchAccount) string {
	if a.Parked == "" && a.LoginState != settings.TokenOK {
		return "login" // It is parked with the next probe.
	}
	return parkedAs(a.Parked)
}

// parkedAs returns the word for a reason why an account is parked.
func parkedAs(reason string) string {
	if reason == "" {
		return "none"
	}
	word, _, _ := strings.Cut(reason, ":")
	if slices.Contains([]string{"login", string(media.Frozen), string(media.Revoked)}, word) {
		return word
	}
	return "operator" // It is in a person's words.
}

// readPulls finds the time up to which each account's figures are known, and counts the days that cannot be trusted.
func (w *walk) readPulls(ctx context.Context, g *group) error {
	days, err := w.Store.PulledDays(ctx, g.ids, settings.AccountFigures, settings.AccountLevel,
		day.Between(g.today.Add(-daysBack), g.today))
	if err != nil {
		return err
	}
	for _, d := range days {
		if d.State == results.Partial || d.State == results.Suspect {
			w.distrust[d.State]++
		}
		at := d.GoodAt()
		if at.IsZero() || d.Day < g.good[d.AccountID].day {
			continue
		}
		until := at.Add(g.shift)
		if end := d.Day.Add(1).Start(g.zone); until.After(end) {
			until = end // The pull covers nothing of the next day.
		}
		g.good[d.AccountID] = pull{d.Day, until}
	}
	return nil
}

// readRates reads the spend of accounts on the newest known day and the day before, and estimates the spend since then.
func (w *walk) readRates(ctx context.Context, g *group) error {
	first := g.today.Add(-1)
	for _, p := range g.good {
		first = min(first, p.day.Add(-1))
	}
	rows, err := w.Store.DailySpend(ctx, g.ids, day.Between(first, g.today))
	if err != nil {
		return err
	}
	newest := map[int64]overview.AccountSpend{}
	sums := map[int64]int64{}
	slices.SortFunc(rows, func(a, b overview.AccountSpend) int { return strings.Compare(b.Day.String(), a.Day.String()) })
	for _, r := range rows {
		known, ok := g.good[r.AccountID]
		if !ok || r.Day > known.day || r.Day < known.day.Add(-1) {
			continue
		}
		if had, ok := newest[r.AccountID]; !ok {
			newest[r.AccountID] = r
		} else if had.Currency != r.Currency {
			continue
		}
		sums[r.AccountID] += r.Cost
	}
	for _, a := range g.accounts {
		known, of := g.good[a.ID], newest[a.ID]
		if of.Cost == 0 {
			continue
		}
		lasted := max(known.until.Sub(known.day.Add(-1).Start(g.zone)), 24*time.Hour)
		r := rate{currency: of.Currency, micros: float64(sums[a.ID]) / lasted.Seconds()}
		g.rates[a.ID] = r
		cause := whyParked(a)
		if cause == "none" {
			cause = "late"
		}
		w.unpulled[owed{r.currency, cause}] += r.micros * max(g.now.Sub(known.until).Seconds(), 0)
	}
	return nil
}

// readBalances sums up the balances of accounts, and counts the accounts whose balance will not last.
func (w *walk) readBalances(ctx context.Context, g *group) error {
	money, err := w.Store.Balances(ctx, g.ids)
	if err != nil {
		return err
	}
	for _, m := range money {
		w.balances[m.Currency] += m.Balance
		r := g.rates[m.AccountID]
		if r.currency == m.Currency && float64(m.Balance) < r.micros*balanceLasts.Seconds() &&
			slices.Contains(g.pulled, m.AccountID) {
			w.low++
		}
	}
	return nil
}

// readSilent counts the accounts with spend in the last hours of yesterday, and those of them without spend today
// although their ads deliver.
func (w *walk) readSilent(ctx context.Context, g *group) error {
	hour := g.now.In(g.zone).Hour()
	if len(g.pulled) == 0 || hour < silentHours {
		return nil
	}
	pulled, err := w.Store.PulledDays(ctx, g.pulled, hoursReport, settings.AccountLevel, []day.Day{g.today})
	if err != nil {
		return err
	}
	var fresh []int64
	for _, p := range pulled {
		if at := p.GoodAt(); !at.IsZero() && g.now.Sub(at.Add(g.shift)) < time.Hour {
			fresh = append(fresh, p.AccountID)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	rows, err := w.Store.HoursSpend(ctx, fresh, []day.Day{g.today.Add(-1), g.today}, hour-silentHours, hour)
	if err != nil {
		return err
	}
	before, now := map[int64]bool{}, map[int64]bool{}
	for _, r := range rows {
		if r.Day == g.today {
			now[r.AccountID] = true
		} else {
			before[r.AccountID] = true
		}
	}
	w.spending += len(before)
	var suspects []int64
	for _, id := range fresh {
		if before[id] && !now[id] {
			suspects = append(suspects, id)
		}
	}
	for _, list := range w.platform.Lists() {
		if list.Shown == (rawtable.Shown{}) {
			continue
		}
		ids, err := w.Store.Showing(ctx, list.Table, list.Shown, suspects)
		if err != nil {
			return err
		}
		w.silent += len(ids)
	}
	return nil
}
