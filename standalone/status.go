package standalone

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/media/simulator"
	"adsync/standalone/verify"
)

// status is what the screen shows at one moment.
type status struct {
	World time.Time
	Media []mediaStatus
	Runs  []runStatus
	Query string     // a query over the summaries that a user may copy
	Spend [][]string // its answer
}

// mediaStatus is how one platform's accounts stand.
type mediaStatus struct {
	Name           string
	Ours, Platform int64 // spend of the world's today in micros of CNY: our summary, the platform's truth
	Accounts       int
	Fresh, Late    int // of the active ones
	Parked         int
	OldestAge      time.Duration // since the oldest of the accounts' last pulls; -1 when one was never pulled
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

// watcher reads the status from the tables and from the simulator.
type watcher struct {
	store     *store.Store
	clock     clock.Clock // the world's
	simulator string
	client    *http.Client
	media     []string
	period    time.Duration // real time between two pulls of an account's figures

	truthAt time.Time
	truth   map[string]int64
}

// truthEvery is how often the platforms' own totals are asked for: over many accounts that takes a while.
const truthEvery = 5 * time.Second

func (w *watcher) read(ctx context.Context) (status, error) {
	s := status{World: w.clock.Now()}
	today := day.Of(s.World, worldZone)
	if err := w.readTruth(ctx, today); err != nil {
		return s, err
	}
	now, err := w.store.Data.Now(ctx)
	if err != nil {
		return s, err
	}
	for _, name := range w.media {
		m := mediaStatus{Name: name, Platform: w.truth[name]}
		if err := w.readMedia(ctx, &m, today, s.World, now); err != nil {
			return s, err
		}
		s.Media = append(s.Media, m)
	}
	if s.Runs, err = w.readRuns(ctx, now); err != nil {
		return s, err
	}
	s.Query = fmt.Sprintf(spendQuery, today)
	s.Spend, err = w.readSpend(ctx, s.Query)
	return s, err
}

// worldCurrency is what most simulated accounts pay with. Others are not added to it.
const worldCurrency = "CNY"

// spendQuery is what a first look asks for: who spent most today.
const spendQuery = "SELECT game, media, os, currency, SUM(cost) / 1000000 AS spend FROM summary_hourly WHERE day = '%s' GROUP BY game, media, os, currency ORDER BY spend DESC LIMIT 4"

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

func (w *watcher) readTruth(ctx context.Context, today day.Day) error {
	if w.truth != nil && clock.Since(w.truthAt) < truthEvery {
		return nil
	}
	truth := map[string]int64{}
	for _, name := range w.media {
		spend, err := verify.Spend(ctx, w.client, w.simulator, name, worldCurrency, today)
		if err != nil {
			return err
		}
		truth[name] = spend
	}
	w.truth, w.truthAt = truth, clock.Mark()
	return nil
}

func (w *watcher) readMedia(ctx context.Context, m *mediaStatus, today day.Day, world, now time.Time) error {
	err := w.store.Data.Reader(ctx).Raw("SELECT COALESCE(SUM(cost), 0) FROM summary_hourly WHERE day = ? AND media = ? AND currency = ?", today, m.Name, worldCurrency).Row().Scan(&m.Ours)
	if err != nil {
		return fmt.Errorf("read summary_hourly: %w", err)
	}
	err = w.store.Config.Reader(ctx).Raw("SELECT COUNT(*), COALESCE(SUM(CASE WHEN a.parked <> '' OR t.state <> 'ok' THEN 1 ELSE 0 END), 0)"+
		" FROM media_account a JOIN media_token t ON t.id = a.token_id WHERE a.media = ?", m.Name).Row().Scan(&m.Accounts, &m.Parked)
	if err != nil {
		return fmt.Errorf("read media_account: %w", err)
	}
	active, err := w.activeAccounts(ctx, m.Name, world)
	if err != nil {
		return err
	}
	var pulled []struct {
		AccountID int64
		Day       day.Day
		PulledAt  store.Time
	}
	// Somewhere in the world it may be the day before or after.
	err = w.store.Data.Reader(ctx).Raw("SELECT account_id, day, pulled_at FROM coverage WHERE media = ? AND report = 'report_hourly' AND level = 'account' AND day IN ? AND pulled_at IS NOT NULL",
		m.Name, day.Between(today.Add(-1), today.Add(1))).Scan(&pulled).Error
	if err != nil {
		return fmt.Errorf("read coverage: %w", err)
	}
	for _, p := range pulled {
		if active[p.AccountID] != p.Day {
			continue // It is looked at by night, and by the probe; or this is not its present day.
		}
		delete(active, p.AccountID)
		age := now.Sub(p.PulledAt.Time)
		m.OldestAge = max(m.OldestAge, age)
		if age <= 2*w.period {
			m.Fresh++
		} else {
			m.Late++
		}
	}
	if m.Late += len(active); len(active) > 0 {
		m.OldestAge = -1
	}
	return w.readCalls(ctx, m)
}

// activeAccounts are the present days of the accounts that are pulled all the time.
func (w *watcher) activeAccounts(ctx context.Context, platform string, world time.Time) (map[int64]day.Day, error) {
	var accounts []struct {
		ID       int64
		Timezone string
	}
	err := w.store.Config.Reader(ctx).Raw("SELECT a.id, a.timezone FROM media_account a JOIN media_token t ON t.id = a.token_id"+
		" WHERE a.media = ? AND a.tier = ? AND a.parked = '' AND t.state = ?", platform, store.TierActive, store.TokenOK).Scan(&accounts).Error
	if err != nil {
		return nil, fmt.Errorf("read media_account: %w", err)
	}
	active := make(map[int64]day.Day, len(accounts))
	for _, a := range accounts {
		active[a.ID] = todayIn(world, a.Timezone)
	}
	return active, nil
}

// todayIn is the present day in an account's time zone.
func todayIn(world time.Time, timezone string) day.Day {
	zone, err := schedule.Zone(timezone)
	if err != nil {
		zone = worldZone // The account cannot be pulled, and is late.
	}
	return day.Of(world, zone)
}

func (w *watcher) readCalls(ctx context.Context, m *mediaStatus) error {
	var ledger struct {
		Totals verify.Counts `json:"totals"`
		Groups []struct {
			App      string `json:"app"`
			Endpoint string `json:"endpoint"`
		} `json:"groups"`
	}
	from := clock.Mark().Add(-time.Minute).Unix() // the ledger counts by the simulator's real time
	query := url.Values{"media": {m.Name}, "from": {fmt.Sprint(from)}, "group": {"app,endpoint"}}
	if err := getJSON(ctx, w.client, w.simulator+"/_sim/ledger?"+query.Encode(), &ledger); err != nil {
		return err
	}
	var limits struct {
		Rules []simulator.LimitRule `json:"rules"`
	}
	if err := getJSON(ctx, w.client, w.simulator+"/_sim/limits", &limits); err != nil {
		return err
	}
	m.Calls, m.Refused = ledger.Totals.Calls, ledger.Totals.RefusedLimit
	for _, g := range ledger.Groups {
		m.AllowedAMinute += allowedAMinute(limits.Rules, m.Name, g.Endpoint)
	}
	return nil
}

// allowedAMinute is what the tightest rule of an app allows on an endpoint in a minute.
func allowedAMinute(rules []simulator.LimitRule, media, endpoint string) int64 {
	allowed := int64(-1)
	for _, r := range rules {
		if r.Media != media || r.Scope != simulator.ScopeApp || r.Limit == 0 || (r.Endpoint != "*" && r.Endpoint != endpoint) {
			continue
		}
		if a := int64(r.Limit) * 60 / int64(max(r.Seconds, 1)); allowed < 0 || a < allowed {
			allowed = a
		}
	}
	return max(allowed, 0)
}

const runsShown = 8

func (w *watcher) readRuns(ctx context.Context, now time.Time) ([]runStatus, error) {
	rows, err := w.store.Data.Reader(ctx).Raw("SELECT task_name, state, COALESCE(total, -1), succeeded + failed + expired + cancelled + superseded, created_at, ended_at" +
		" FROM run WHERE media <> 'system' ORDER BY id DESC LIMIT 40").Rows()
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	defer rows.Close()
	var all []runStatus
	for rows.Next() {
		var r runStatus
		var created, ended store.Time
		if err := rows.Scan(&r.Task, &r.State, &r.Total, &r.Ended, &created, &ended); err != nil {
			return nil, fmt.Errorf("read run: %w", err)
		}
		end := now
		if !ended.IsZero() {
			end = ended.Time
		}
		if seconds := end.Sub(created.Time).Seconds(); seconds > 0 {
			r.Rate = float64(r.Ended) / seconds
		}
		all = append(all, r)
	}
	// Runs under way come first: they are what moves.
	sort.SliceStable(all, func(i, j int) bool { return all[i].State.Open() && !all[j].State.Open() })
	return all[:min(runsShown, len(all))], rows.Err()
}
