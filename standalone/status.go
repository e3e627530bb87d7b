package standalone

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer/overview"
	"adsync/simulator/control"
	"adsync/simulator/ledger"
	"adsync/simulator/limit"
	simworld "adsync/simulator/world"
	"adsync/standalone/verify"
	"adsync/upkeep"
)

// status is the content of the screen at one moment.
type status struct {
	World time.Time
	Media []mediaStatus
	Runs  []runStatus
	Query string     // a query over the summaries that a user may copy
	Spend [][]string // its answer
}

// mediaStatus is the state of one platform's accounts.
type mediaStatus struct {
	Name           string
	Ours, Platform int64  // spend of the world's today in micros of CNY: our summary, the platform's truth
	First          string // the progress of the first pull, while it is under way
	Accounts       int
	Fresh, Late    int // of the active ones
	Parked         int
	OldestAge      time.Duration // since the oldest of the accounts' last pulls; -1 if one was never pulled
	Calls, Refused int64         // in the last minute of real time
	AllowedAMinute int64         // calls that the limits allow in a minute, over the endpoints in use
}

// runStatus is one of the newest runs.
type runStatus struct {
	Task  string
	State task.RunState
	Total int64 // -1 while it is being fanned out
	Ended int64
	Rate  float64 // subtasks ended a second, from the run's beginning
}

// watcher reads the status: the content of the first page, and figures from the simulator.
type watcher struct {
	store     *store.Store
	overview  func(context.Context) overview.Overview
	truth     *truth
	simulator control.Client
}

func (w *watcher) read(ctx context.Context) (status, error) {
	o := w.overview(ctx)
	s := status{World: o.Business}
	for _, t := range o.Troubles {
		return s, fmt.Errorf("%s: %s", t.What, t.Why)
	}
	today := day.Of(s.World, simworld.Zone)
	for i := range o.Media {
		m := mediaOf(&o.Media[i])
		if !w.truth.has(m.Name) {
			continue
		}
		var err error
		if m.Platform, err = w.truth.spend(ctx, m.Name, worldCurrency, today); err != nil {
			return s, err
		}
		if err := w.readCalls(ctx, &m); err != nil {
			return s, err
		}
		s.Media = append(s.Media, m)
	}
	s.Runs = runsOf(o)
	s.Query = fmt.Sprintf(spendQuery, today)
	var err error
	s.Spend, err = w.readSpend(ctx, s.Query)
	return s, err
}

// mediaOf returns the status of one platform, with its spend in the world's currency.
func mediaOf(of *client.MediaOverview) mediaStatus {
	m := mediaStatus{
		Name: of.Name, Accounts: int(of.Accounts), Fresh: int(of.Fresh), Late: int(of.Late), Parked: int(of.Parked),
		OldestAge: time.Duration(of.OldestSeconds * float64(time.Second)),
	}
	if of.FirstPull {
		m.First = overview.FirstPullOf(of)
	}
	for _, s := range of.Spend {
		if s.Currency == worldCurrency {
			m.Ours += s.Ours
		}
	}
	return m
}

// runsOf returns the platforms' runs, those under way first.
func runsOf(o overview.Overview) []runStatus {
	var all []runStatus
	for _, runs := range [][]client.RunOverview{o.Open, o.Ended} {
		for i := range runs {
			if r := &runs[i]; r.Media != upkeep.Name {
				all = append(all, runStatus{Task: r.Task, State: task.RunState(r.State), Total: r.Total, Ended: r.Ended,
					Rate: r.PerSecond})
			}
		}
	}
	return all[:min(runsShown, len(all))]
}

// truth reads the spend from the simulated platforms. With many accounts an answer takes long, so it is cached for some
// seconds.
type truth struct {
	client    *http.Client
	simulator string
	has       func(media string) bool // reports whether the world has a platform

	mu    sync.Mutex
	known map[spentOn]toldSpend
}

type spentOn struct {
	media, currency string
	day             day.Day
}

type toldSpend struct {
	at    time.Time
	spend int64
}

// truthEvery is how often the platforms' own totals are read.
const truthEvery = 5 * time.Second

func newTruth(client *http.Client, simulator string, has func(media string) bool) *truth {
	return &truth{client: client, simulator: simulator, has: has, known: map[spentOn]toldSpend{}}
}

// spend is an overview.TheirsFunc. Nothing is spent on a platform that the world has not.
func (t *truth) spend(ctx context.Context, media, currency string, d day.Day) (int64, error) {
	if !t.has(media) {
		return 0, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := spentOn{media, currency, d}
	if had, ok := t.known[k]; ok && clock.Since(had.at) < truthEvery {
		return had.spend, nil
	}
	spend, err := verify.Spend(ctx, t.client, t.simulator, media, currency, d)
	if err != nil {
		return 0, err
	}
	t.known[k] = toldSpend{clock.Mark(), spend}
	return spend, nil
}

// worldCurrency is the currency of most simulated accounts. Sums leave out other currencies.
const worldCurrency = "CNY"

// spendQuery is a query for a first look: the highest spend of today.
const spendQuery = "SELECT game, media, os, currency, SUM(cost) / 1000000 AS spend FROM summary_hourly WHERE day = " +
	"'%s' GROUP BY game, media, os, currency ORDER BY spend DESC LIMIT 4"

func (w *watcher) readSpend(ctx context.Context, query string) ([][]string, error) {
	rows, err := w.store.Data.Reader(ctx).Raw(query).Rows()
	if err != nil {
		return nil, fmt.Errorf("read summary_hourly: %w", err)
	}
	defer rows.Close()
	var all [][]string
	for rows.Next() {
		row := make([]string, 5)
		if err := rows.Scan(&row[0], &row[1], &row[2], &row[3], &row[4]); err != nil {
			return nil, fmt.Errorf("read summary_hourly: %w", err)
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// todayIn returns the present day in an account's time zone.
func todayIn(world time.Time, timezone string) day.Day {
	zone, err := schedule.Zone(timezone)
	if err != nil {
		zone = simworld.Zone // The account cannot be pulled and is late.
	}
	return day.Of(world, zone)
}

func (w *watcher) readCalls(ctx context.Context, m *mediaStatus) error {
	var calls struct {
		Totals ledger.Counts `json:"totals"`
		Groups []struct {
			App      string `json:"app"`
			Endpoint string `json:"endpoint"`
		} `json:"groups"`
	}
	from := clock.Mark().Add(-time.Minute).Unix() // the ledger counts by the simulator's real time
	query := url.Values{"media": {m.Name}, "from": {fmt.Sprint(from)}, "group": {"app,endpoint"}}
	if err := w.simulator.Get(ctx, "ledger?"+query.Encode(), &calls); err != nil {
		return err
	}
	var limits struct {
		Rules []limit.Rule `json:"rules"`
	}
	if err := w.simulator.Get(ctx, "limits", &limits); err != nil {
		return err
	}
	m.Calls, m.Refused = calls.Totals.Calls, calls.Totals.Refused
	for _, g := range calls.Groups {
		m.AllowedAMinute += allowedAMinute(limits.Rules, m.Name, g.Endpoint)
	}
	return nil
}

// allowedAMinute returns the calls per minute that the tightest rule of an app allows on an endpoint.
func allowedAMinute(rules []limit.Rule, media, endpoint string) int64 {
	allowed := int64(-1)
	for _, r := range rules {
		if r.Media != media || r.Scope != limit.ScopeApp || r.Limit == 0 || (r.Endpoint != "*" && r.Endpoint != endpoint) {
			continue
		}
		if a := int64(r.Limit) * 60 / int64(max(r.Seconds, 1)); allowed < 0 || a < allowed {
			allowed = a
		}
	}
	return max(allowed, 0)
}

// runsShown is how many runs the screen shows.
const runsShown = 8
