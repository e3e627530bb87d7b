package upkeep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/schedule"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
)

// ReconcileName is the handler that compares the levels of a report, and the name under which its runs are ordered.
const ReconcileName = Name + ".reconcile"

const (
	reconcileDaysDefault = 8 // yesterday and the 7 days before
	reconcileDaysMax     = 35
	// repullsMax is the most levels of accounts' days of one platform that a pass orders again. The others are recorded,
	// and the next pass orders them.
	repullsMax = 2000
	// differencesKept is how long a difference is remembered after it was last seen.
	differencesKept = 90 * 24 * time.Hour
)

// reconcile is the kind system.reconcile.
type reconcile struct{ Deps }

// reconcileParams are the params of system.reconcile.
type reconcileParams struct {
	// Days is how many days are compared, yesterday first; 0 means 8.
	Days int `json:"days"`
	// OnlyOpen compares only days that differed before.
	OnlyOpen bool `json:"only_open"`
}

func (reconcile) Name() string { return ReconcileName }

func (reconcile) Check(params *reconcileParams) error {
	if params.Days < 0 || params.Days > reconcileDaysMax {
		return fmt.Errorf("params.days: %d is refused: want 0 to %d", params.Days, reconcileDaysMax)
	}
	params.Days = cmp.Or(params.Days, reconcileDaysDefault)
	return nil
}

func (k reconcile) Parts(plan media.Plan, _ reconcileParams) ([]string, error) {
	return names(k.Platforms), refuseDays(plan)
}

func (k reconcile) Run(ctx context.Context, work media.Work, params reconcileParams) (media.Result, error) {
	platform, err := platformOf(k.Deps, work.Part)
	if err != nil {
		return media.Result{}, err
	}
	r := reconciler{Deps: k.Deps, platform: platform, now: k.Clock.Now(), budget: repullsMax,
		under: &task.Under{Key: work.Key}}
	if err := r.prepare(ctx); err != nil || len(r.levels) == 0 {
		return media.Result{}, err
	}
	if params.OnlyOpen {
		err = r.open(ctx)
	} else {
		err = r.all(ctx, params.Days)
	}
	if r.found > 0 {
		k.Logger.Warn("figures of accounts differ from the sums of their levels", "media", platform.Name(), "figures",
			r.found, "pulled_again", repullsMax-r.budget)
	}
	return media.Result{Rows: r.found}, err
}

// reconcileStore is what a reconciler needs of the store.
type reconcileStore interface {
	ReachStore
	FillAccounts(ctx context.Context, media string, after int64, limit int) ([]results.FillAccount, error)
	OpenDifferenceDays(ctx context.Context, media string) ([]day.Day, error)
	OpenDifferenceAccounts(ctx context.Context, media string, d day.Day, after int64, limit int) ([]int64, error)
	AccountsByID(ctx context.Context, ids []int64) (map[int64]settings.Account, error)
	LevelSums(ctx context.Context, d day.Day, accountIDs []int64) (map[results.LevelOf]results.LevelSum, error)
	RecordComparison(ctx context.Context, c results.Comparison) ([]results.LevelOf, error)
	OrderAgain(ctx context.Context, d day.Day, level string, accountIDs []int64, orders []ledger.RunOrder) ([]int64, error)
}

// reconciler is one pass over a platform. For each settled day it compares the figures of the account level with the
// sums of the levels below, if both were pulled completely after the day had settled: platforms publish levels at
// different delays, and deleted objects still gather figures.
type reconciler struct {
	Deps
	platform media.Platform
	now      time.Time
	under    *task.Under
	scopes   map[string]fillScope // of report_daily, by level
	levels   []lowerLevel
	budget   int
	found    int
}

// lowerLevel is a level below the account with the metrics that both have.
type lowerLevel struct {
	name    string
	metrics []comparedMetric
}

type comparedMetric struct {
	index int
	name  string
	// grows is for how many days after the row's day the figure still grows.
	grows int
}

func (r *reconciler) prepare(ctx context.Context) error {
	scopes, err := fillScopes(ctx, r.Store, r.platform)
	if err != nil {
		return err
	}
	r.scopes = map[string]fillScope{}
	for _, s := range scopes {
		if s.Name == "report_daily" {
			r.scopes[s.Level] = s
		}
	}
	account, ok := r.scopes[settings.AccountLevel]
	if !ok {
		return nil // No task pulls a level to compare with.
	}
	grows := map[string]int{}
	for _, f := range account.Figures {
		grows[f.Metric] = f.Grows
	}
	for _, s := range scopes {
		if s.Name != "report_daily" || s.Level == settings.AccountLevel {
			continue
		}
		level := lowerLevel{name: s.Level}
		for _, f := range s.Figures {
			if n, both := grows[f.Metric]; both {
				level.metrics = append(level.metrics, comparedMetric{index: metric.Index(f.Metric), name: f.Metric,
					grows: max(n, f.Grows)})
			}
		}
		r.levels = append(r.levels, level)
	}
	return nil
}

// all compares the last days of all accounts, a page at a time.
func (r *reconciler) all(ctx context.Context, days int) error {
	for after := int64(0); ; {
		page, err := r.Store.FillAccounts(ctx, r.platform.Name(), after, fillPage)
		if err != nil {
			return err
		}
		for _, g := range alike(page) {
			today := day.Of(r.now, g.zone)
			for _, d := range day.Between(today.Add(-days), today.Add(-1)) {
				if err := r.compare(ctx, g, d); err != nil {
					return err
				}
			}
		}
		if len(page) < fillPage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

// open compares the days that differed before.
func (r *reconciler) open(ctx context.Context) error {
	days, err := r.Store.OpenDifferenceDays(ctx, r.platform.Name())
	if err != nil {
		return err
	}
	for _, d := range days {
		for after := int64(0); ; {
			ids, err := r.Store.OpenDifferenceAccounts(ctx, r.platform.Name(), d, after, fillPage)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				break
			}
			after = ids[len(ids)-1]
			accounts, err := r.Store.AccountsByID(ctx, ids)
			if err != nil {
				return err
			}
			var page []results.FillAccount
			for _, id := range ids {
				if a, known := accounts[id]; known && a.Parked == "" && a.Tier != settings.TierInvalid {
					page = append(page, results.FillAccount{ID: id, Timezone: a.Timezone, Currency: a.Currency, Tier: a.Tier})
				}
			}
			for _, g := range alike(page) {
				if err := r.compare(ctx, g, d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// alikeAccounts holds accounts of one zone, currency and tier.
type alikeAccounts struct {
	zone           *time.Location
	currency, tier string
	ids            []int64
}

// alike groups the accounts of a page by zone, currency and tier. It leaves out accounts with an invalid zone, which
// fan-outs report.
func alike(page []results.FillAccount) []*alikeAccounts {
	type key struct{ zone, currency, tier string }
	known := map[key]*alikeAccounts{}
	var all []*alikeAccounts
	for _, a := range page {
		k := key{a.Timezone, a.Currency, a.Tier}
		if known[k] == nil {
			zone, err := schedule.Zone(a.Timezone)
			if err != nil {
				continue
			}
			known[k] = &alikeAccounts{zone: zone, currency: a.Currency, tier: a.Tier}
			all = append(all, known[k])
		}
		known[k].ids = append(known[k].ids, a.ID)
	}
	return all
}

// compare compares one day of accounts, records the differences and orders pulls of those days.
func (r *reconciler) compare(ctx context.Context, g *alikeAccounts, d day.Day) error {
	if r.now.Before(SettledAt(d, g.zone)) {
		return nil
	}
	sums, err := r.Store.LevelSums(ctx, d, g.ids)
	if err != nil {
		return err
	}
	c := results.Comparison{Media: r.platform.Name(), Day: d, Now: r.now, Compared: map[results.LevelOf]int64{}}
	settled := task.FirstRunIDAt(SettledAt(d, g.zone))
	for _, id := range g.ids {
		account := sums[results.LevelOf{AccountID: id, Level: settings.AccountLevel}]
		for _, level := range r.levels {
			k := results.LevelOf{AccountID: id, Level: level.name}
			sum := sums[k]
			older := min(account.RunID, sum.RunID)
			if older < settled {
				continue // A day that was not pulled, or too early, is a hole.
			}
			c.Compared[k] = older
			for _, m := range level.metrics {
				if m.grows > 0 && older < task.FirstRunIDAt(SettledAt(d.Add(m.grows), g.zone)) {
					continue
				}
				if a, s, differ := differs(account, sum, m.index, g.currency); differ {
					c.Found = append(c.Found, results.Difference{AccountID: id, Level: level.name, Metric: m.name, AccountValue: a,
						SumValue: s})
				}
			}
		}
	}
	r.found += len(c.Found)
	again, err := r.Store.RecordComparison(ctx, c)
	if err != nil {
		return err
	}
	return r.pullAgain(ctx, g, d, again)
}

// differs compares a figure of an account with the sum of a level. A level without rows has a sum of 0; a level whose
// rows lack the figure has none.
func differs(account, level results.LevelSum, metricIndex int, currency string) (a, sum int64, differ bool) {
	a, hasA := account.Values.Get(metricIndex)
	sum, hasSum := level.Values.Get(metricIndex)
	if (!hasA && account.Rows > 0) || (!hasSum && level.Rows > 0) {
		return a, sum, false
	}
	return a, sum, metric.All[metricIndex].Differ(a, sum, currency)
}

// pullAgain orders both levels of accounts' days, once for each difference.
func (r *reconciler) pullAgain(ctx context.Context, g *alikeAccounts, d day.Day, again []results.LevelOf) error {
	account, pulled := r.scopes[settings.AccountLevel].taskOf(g.tier)
	done := map[int64]bool{} // accounts whose own level has been ordered, for another level below
	for _, level := range r.levels {
		lower, pulledToo := r.scopes[level.name].taskOf(g.tier)
		if !pulled || !pulledToo {
			continue
		}
		var first, others []int64
		for _, k := range again {
			switch {
			case k.Level != level.name || r.budget <= 0:
				continue
			case done[k.AccountID]:
				others = append(others, k.AccountID)
			default:
				first = append(first, k.AccountID)
				done[k.AccountID] = true
			}
			r.budget--
		}
		for _, o := range []struct {
			ids   []int64
			tasks []fillTask
		}{{first, []fillTask{lower, account}}, {others, []fillTask{lower}}} {
			if err := r.order(ctx, d, level.name, o.ids, o.tasks); err != nil {
				return err
			}
		}
	}
	return nil
}

// order orders tasks for the same day and accounts: the level's task, then possibly the account level's.
func (r *reconciler) order(ctx context.Context, d day.Day, level string, ids []int64, tasks []fillTask) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	var orders []ledger.RunOrder
	for i, t := range tasks {
		orders = append(orders, ledger.RunOrder{
			// The account level's run always has the later id. The level's run is the one that is recorded, and pulls after
			// it are compared again.
			RunID: task.NewRunID(r.now.Add(time.Duration(i) * time.Millisecond)), TaskID: t.id, OrderedAt: r.now,
			Request: task.Order{From: d, To: d, Compare: true, By: ReconcileName, Under: r.under},
		})
	}
	ordered, err := r.Store.OrderAgain(ctx, d, level, ids, orders)
	r.budget += len(ids) - len(ordered)
	return err
}
