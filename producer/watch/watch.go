// Package watch exports figures of the business from the tables as metrics: spend, freshness, and days that were not
// pulled.
//
// Only the leading producer exports them. It reads on an interval and never for a scrape, and no metric has a label per
// account.
package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
	"adsync/producer/overview"
	"adsync/upkeep"
)

// Options holds what a Watch depends on.
type Options struct {
	Store     *store.Store
	Platforms []media.Platform
	// Clock is the clock of business days. Ages use the database's clock.
	Clock clock.Clock
	// Overview returns the content of the first page; nil = no metrics of what needs attention.
	Overview func(context.Context) overview.Overview
	// Consumers are those of all processes; nil = no metrics of work that nobody does.
	Consumers  Consumers
	Registerer prometheus.Registerer
}

// Watch reads the tables and keeps the last figures for scrapes.
type Watch struct {
	Options
	parts []part

	mu   sync.Mutex
	last map[string][]prometheus.Metric // by part
}

// part is a group of figures that are read together. If a read fails, the last figures stay; readAt shows their age.
type part struct {
	name string
	read func(context.Context, []task.Task) (metrics, error)
}

// New makes a Watch without figures and registers its metrics.
func New(o Options) (*Watch, error) {
	w := &Watch{Options: o, last: map[string][]prometheus.Metric{}}
	w.parts = []part{{"spend", w.readSpend}, {"logins", w.readLogins}, {"fields", w.readFields},
		{"summaries", w.readSummaries}, {"accounts", w.readAccounts}, {"attention", w.readAttention},
		{"kinds", w.readUnserved}, {"files", w.readFiles}, {"outcomes", w.readOutcomes}}
	if err := o.Registerer.Register(w); err != nil {
		return nil, fmt.Errorf("register metrics of the tables: %w", err)
	}
	return w, nil
}

// Pass reads all figures but the holes again. tasks are the enabled ones.
func (w *Watch) Pass(ctx context.Context, tasks []task.Task) error {
	var errs []error
	for _, p := range w.parts {
		errs = append(errs, w.tell(ctx, p, tasks))
	}
	return errors.Join(errs...)
}

// LookForHoles counts the holes of coverage again. It reads far more than Pass.
func (w *Watch) LookForHoles(ctx context.Context) error {
	return w.tell(ctx, part{"holes", w.readHoles}, nil)
}

func (w *Watch) tell(ctx context.Context, p part, tasks []task.Task) error {
	read, err := p.read(ctx, tasks)
	if err != nil {
		return fmt.Errorf("read the metrics of %s: %w", p.name, err)
	}
	read.gauge(readAt, float64(clock.Mark().Unix()), p.name)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[p.name] = read.all
	return nil
}

// Forget removes the figures until the next pass. It is called when another process leads.
func (w *Watch) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.last)
}

// Describe implements prometheus.Collector.
func (w *Watch) Describe(out chan<- *prometheus.Desc) {
	for _, d := range descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (w *Watch) Collect(out chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.last {
		for _, m := range all {
			out <- m
		}
	}
}

// metrics holds the metrics of one part.
type metrics struct{ all []prometheus.Metric }

func (m *metrics) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	m.all = append(m.all, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...))
}

var descs []*prometheus.Desc

func describe(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("adsync_"+name, help+"; exported by the leader.", labels, nil)
	descs = append(descs, d)
	return d
}

var (
	readAt = describe("figures_read_timestamp_seconds",
		"When the figures of a part were read from the tables, by the clock of the producer's machine", "part")

	spendToday = describe("spend_today_micros",
		"Spend of the present day in its time zone, in millionths of the currency, from summary_hourly", "game", "media",
		"currency", "day_zone")
	spendTodayHours = describe("spend_today_hours_micros", "Spend of the present day in the hours that have ended",
		"game", "media", "currency", "day_zone")
	spendYesterday = describe("spend_yesterday_micros", "Spend of the whole day before", "game", "media", "currency",
		"day_zone")
	spendYesterdayHours = describe("spend_yesterday_hours_micros",
		"Spend of the day before in those hours that have ended today", "game", "media", "currency", "day_zone")
	dayStart = describe("spend_day_start_timestamp_seconds", "When the present day of a time zone began",
		"day_zone")

	logins = describe("token_logins",
		"Logins through which a bound account is reached, by state: ok, reauthorise if it waits for a person, or "+
			"unneeded if it is dead and others pull its accounts", "media", "state")
	refreshLeft = describe("token_refresh_left_seconds", "Time until the first refresh token of a usable login dies",
		"media")

	fieldsRetired = describe("report_fields_retired",
		"Rows of report_field that a platform has retired and no operator has decided about", "media")

	oldestDirty = describe("summary_oldest_change_seconds",
		"Age of the oldest change of figures that the summaries do not show, 0 = they show all", "media")

	accounts = describe("accounts",
		"Bound accounts by tier and by why they are parked, without those of the tier invalid; none = they are pulled",
		"media", "tier", "parked")
	freshness = describe("freshness_age_seconds",
		"Ages of the figures of accounts' newest good pull by a task; the present state, not a counter", "media", "task",
		"tier")
	freshnessOldest = describe("freshness_oldest_seconds", "The greatest of these ages", "media", "task", "tier")
	freshnessLate   = describe("freshness_late_accounts",
		"Accounts whose age is above twice the time between the task's ticks", "media", "task", "tier")
	unpulled = describe("unpulled_spend_micros",
		"What accounts must have spent since their last good pull at the rate of the two days before it, in millionths of "+
			"the currency, by why: late, or parked as login, frozen, revoked, operator", "media", "currency", "cause")
	coverageDays = describe("coverage_days",
		"Days of accounts' daily figures, of the last eight, that cannot be trusted, by state: suspect or partial",
		"media", "state")
	spendingBefore = describe("accounts_spending_before",
		"Accounts that had spend yesterday in the three hours of the day that ended last, and were pulled well in the "+
			"last hour", "media")
	silent = describe("accounts_silent",
		"Those of them that have delivering ads and no spend in these hours today", "media")
	balanceSum = describe("balance_micros", "Balances of accounts, in millionths of the currency", "media",
		"currency")
	balanceLow = describe("accounts_balance_low",
		"Active accounts whose balance lasts less than a day at their rate of the last two days", "media")

	attentionItems = describe("attention_items",
		"Items of the first page that need attention, by kind and severity: bad, warn or note", "kind", "severity", "media")
	attentionAccounts = describe("attention_accounts", "Accounts of these items, as far as they were counted", "kind",
		"media")
	attentionMicros = describe("attention_micros",
		"Money of these items, in millionths of the currency: spend of these accounts on the last known day, unless the "+
			"first page names another sum", "kind", "media", "currency")

	unservedTasks = describe("tasks_unserved",
		"Enabled tasks whose kind of work no live consumer does on their lane, by kind", "kind", "media", "lane")

	files = describe("files",
		"Report files that are not delivered yet, and those planned in the last day that were published or have failed",
		"state", "destination")
	fileBytes  = describe("files_bytes", "Bytes of these files, as far as they are made", "state", "destination")
	oldestFile = describe("files_oldest_seconds",
		"How long the file has waited for its delivery that waits longest, without the time for which files wait for figures",
		"destination")
	filesHeld = describe("files_held", "Files that wait for figures although their latest moment has come",
		"destination")
	destinationDown    = describe("destination_down", "1 while a destination cannot be used", "destination")
	destinationSuccess = describe("destination_success_age_seconds",
		"How long ago a file was published at a destination last", "destination")

	oldestOutcome = describe("outcomes_oldest_seconds",
		"Age of the oldest message to an application about an ended subtask that is not in Kafka yet, 0 = none waits")

	holes = describe("holes",
		"Days of accounts that tasks should have pulled and that are not complete, as `adsync coverage holes` lists them",
		"media", "report", "level")
)

// unneeded is the state of a dead login whose accounts are pulled through other logins: no figure waits for it.
const unneeded = "unneeded"

// readLogins reads the states of logins.
func (w *Watch) readLogins(ctx context.Context, _ []task.Task) (metrics, error) {
	var m metrics
	all, err := w.Store.WatchLogins(ctx)
	if err != nil {
		return m, err
	}
	now := w.Clock.Now()
	for _, p := range w.Platforms {
		counts, first := map[string]int{settings.TokenOK: 0, settings.TokenReauthorise: 0, unneeded: 0}, time.Time{}
		for _, l := range all {
			if l.Media != p.Name() {
				continue
			}
			if l.State != settings.TokenOK && !l.Used {
				counts[unneeded]++
				continue
			}
			counts[l.State]++
			// A login without a refresh token has the year 9999.
			if l.State == settings.TokenOK && l.RefreshExpires.Year() < 9999 &&
				(first.IsZero() || l.RefreshExpires.Before(first)) {
				first = l.RefreshExpires.Time
			}
		}
		for state, n := range counts {
			m.gauge(logins, float64(n), p.Name(), state)
		}
		if !first.IsZero() {
			m.gauge(refreshLeft, first.Sub(now).Seconds(), p.Name())
		}
	}
	return m, nil
}

// readFields counts the report fields that their platforms refuse and that no operator has decided about.
func (w *Watch) readFields(ctx context.Context, _ []task.Task) (metrics, error) {
	var m metrics
	rows, err := w.Store.ReportFields(ctx, "")
	if err != nil {
		return m, err
	}
	retired := map[string]int{}
	for _, r := range rows {
		if r.State == settings.FieldRetired {
			retired[r.Media]++
		}
	}
	for _, p := range w.Platforms {
		m.gauge(fieldsRetired, float64(retired[p.Name()]), p.Name())
	}
	return m, nil
}

// readSummaries reads how far the summaries are behind the figures.
func (w *Watch) readSummaries(ctx context.Context, _ []task.Task) (metrics, error) {
	var m metrics
	for _, p := range w.Platforms {
		// The change is read before the clock, so that a later change does not appear to be in the future.
		oldest, err := w.Store.OldestDirty(ctx, p.Name())
		if err != nil {
			return m, err
		}
		now, err := w.Store.Data.Now(ctx)
		if err != nil {
			return m, err
		}
		age := 0.0
		if !oldest.IsZero() {
			age = max(now.Sub(oldest).Seconds(), 0)
		}
		m.gauge(oldestDirty, age, p.Name())
	}
	return m, nil
}

// readHoles counts the holes of coverage, as system.fill finds them.
func (w *Watch) readHoles(ctx context.Context, _ []task.Task) (metrics, error) {
	var m metrics
	type scope struct{ report, level string }
	for _, p := range w.Platforms {
		found, err := upkeep.Fill(ctx, w.Store, p, w.Clock.Now(), upkeep.FillOptions{})
		if err != nil {
			return m, err
		}
		counts := map[scope]int{}
		for _, r := range p.Reports() {
			counts[scope{r.Name, r.Level}] = 0
		}
		for _, f := range found {
			counts[scope{f.Report, f.Level}] += f.Holes + f.Waiting
		}
		for s, n := range counts {
			m.gauge(holes, float64(n), p.Name(), s.report, s.level)
		}
	}
	return m, nil
}
