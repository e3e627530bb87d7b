package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"adsync/base/schedule"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/standalone"
	"adsync/test/rig"

	"adsync/simulator/limit"
)

// Limit is how many calls one app may make to an endpoint in limitPeriod, how many the tasks make for the busiest app,
// and the outcome.
type Limit struct {
	Media    string  `json:"media"`
	Endpoint string  `json:"endpoint"`
	Demand   float64 `json:"demand"`
	Calls    int64   `json:"calls"`
	Made     int64   `json:"made"`    // by all apps, in the measured time
	Refused  int64   `json:"refused"` // of these, for a limit
}

// limitPeriod is long enough that a whole number of calls is close to the wanted share of the demand of a small world.
const limitPeriod = 10 * time.Second

// worldLimits are the platforms' limits, and the platforms where calls of all endpoints count against "*" together.
type worldLimits struct {
	Rules  []limit.Rule `json:"rules"`
	Shared []string     `json:"shared"`
}

func (d *deployment) worldLimits(ctx context.Context) (l worldLimits, err error) {
	err = rig.Send(ctx, http.MethodGet, d.world+"/_sim/limits", nil, &l)
	return l, err
}

func (d *deployment) setWorldLimits(ctx context.Context, rules []limit.Rule) error {
	return rig.Send(ctx, http.MethodPost, d.world+"/_sim/limits", map[string]any{"rules": rules}, nil)
}

// endpoint is what a limit of an app is for.
type endpoint struct{ media, app, name string }

// called is the number of calls that a platform counted.
type called struct {
	Calls   int64 `json:"calls"`
	Refused int64 `json:"refused_limit"`
}

func (c called) add(o called) called { return called{c.Calls + o.Calls, c.Refused + o.Refused} }

func (c called) since(o called) called { return called{c.Calls - o.Calls, c.Refused - o.Refused} }

// ledger returns the calls to the endpoints up to now.
func (d *deployment) ledger(ctx context.Context) (map[endpoint]called, error) {
	groups, err := d.ledgerGroups(ctx, url.Values{"group": {"media,app,endpoint"}})
	calls := map[endpoint]called{}
	for _, g := range groups {
		e := endpoint{g.Media, g.App, g.Endpoint}
		calls[e] = calls[e].add(g.called)
	}
	return calls, err
}

// ledgerGroup is a line of a platform's ledger; fields by which it is not grouped are empty.
type ledgerGroup struct {
	Second   int64  `json:"second"`
	Media    string `json:"media"`
	App      string `json:"app"`
	Endpoint string `json:"endpoint"`
	called
}

// ledgerGroups asks for groups of calls, in the order of these fields.
func (d *deployment) ledgerGroups(ctx context.Context, query url.Values) ([]ledgerGroup, error) {
	var answer struct {
		Groups []ledgerGroup `json:"groups"`
	}
	err := rig.Send(ctx, http.MethodGet, d.world+"/_sim/ledger?"+query.Encode(), nil, &answer)
	return answer.Groups, err
}

// cadenceHours is the time in which a task must run once an hour to be part of the demand.
const cadenceHours = 3

// hourly returns the tasks that run once an hour or more often, by how often: those of the platforms, without the
// system's, which call nobody.
func (d *deployment) hourly(ctx context.Context) (map[float64][]settings.TaskRow, error) {
	rows, err := d.tasks(ctx)
	if err != nil {
		return nil, err
	}
	found := map[float64][]settings.TaskRow{}
	now := time.Now()
	for _, t := range rows {
		n, err := ticks(t, now, cadenceHours*time.Hour)
		if err != nil {
			return nil, err
		}
		if len(n) >= cadenceHours && t.Media != "system" {
			often := float64(len(n)) / cadenceHours
			found[often] = append(found[often], t)
		}
	}
	return found, nil
}

// tasks returns the enabled tasks that have a cron.
func (d *deployment) tasks(ctx context.Context) ([]settings.TaskRow, error) {
	rows, err := d.store.TaskRows(ctx)
	return slices.DeleteFunc(rows, func(t settings.TaskRow) bool { return t.Enabled != "1" || t.Cron == "" }), err
}

// ticks returns the moments of a task after now and up to some time later.
func ticks(t settings.TaskRow, now time.Time, within time.Duration) ([]time.Time, error) {
	s, err := schedule.Parse(t.Cron, t.Timezone, t.Name)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.Name, err)
	}
	var all []time.Time
	for at := s.Next(now); !at.IsZero() && !at.After(now.Add(within)); at = s.Next(at) {
		all = append(all, at)
	}
	return all, nil
}

// rareTicks returns what runs in some time although it is no part of the demand.
func (d *deployment) rareTicks(ctx context.Context, now time.Time, within time.Duration) ([]string, error) {
	rows, err := d.tasks(ctx)
	if err != nil {
		return nil, err
	}
	var rare []string
	for _, t := range rows {
		often, err := ticks(t, now, cadenceHours*time.Hour)
		if err != nil {
			return nil, err
		}
		soon, err := ticks(t, now, within)
		if err != nil {
			return nil, err
		}
		if len(often) < cadenceHours && len(soon) > 0 && t.Media != "system" {
			rare = append(rare, fmt.Sprintf("%s runs at %s", t.Name, soon[0].Format(time.TimeOnly)))
		}
	}
	return rare, nil
}

// measureDemand orders every hourly task twice: the first round fills the tables, the second one's calls are counted
// and multiplied by how often the task's row says that it runs. The result is calls in a limitPeriod.
func (d *deployment) measureDemand(ctx context.Context, say func(string, ...any)) (map[endpoint]float64, error) {
	byCadence, err := d.hourly(ctx)
	if err != nil {
		return nil, err
	}
	say("the last 7 days of all accounts are pulled, as they would have been by night")
	if err := d.lookBack(ctx); err != nil {
		return nil, err
	}
	say("a first round of all tasks that run once an hour or more often fills the tables")
	if err := d.order(ctx, slices.Concat(slices.Collect(maps.Values(byCadence))...)); err != nil {
		return nil, err
	}
	say("a second round counts what it asks of the platforms")
	demand := map[endpoint]float64{}
	before, err := d.ledger(ctx)
	if err != nil {
		return nil, err
	}
	for often, tasks := range byCadence {
		if err := d.order(ctx, tasks); err != nil {
			return nil, err
		}
		after, err := d.ledger(ctx)
		if err != nil {
			return nil, err
		}
		for e, n := range after {
			demand[e] += float64(n.since(before[e]).Calls) * often * limitPeriod.Hours()
		}
		before = after
		say("%d tasks that run %g times an hour were counted", len(tasks), often)
	}
	return demand, nil
}

// lookBack pulls the last days of every account, of those that sleep too: an account that was never pulled is new to
// the activity check, which has it be active.
func (d *deployment) lookBack(ctx context.Context) error {
	rows, err := d.tasks(ctx)
	if err != nil {
		return err
	}
	return d.order(ctx, slices.DeleteFunc(rows, func(t settings.TaskRow) bool {
		return t.Name != t.Media+
			".report_daily.account.look_back"
	}))
}

// order has tasks run now and waits until the runs have ended.
func (d *deployment) order(ctx context.Context, tasks []settings.TaskRow) error {
	var ids []int64
	for _, t := range tasks {
		var order struct {
			RunID json.Number `json:"run_id"`
		}
		if err := rig.Send(ctx, http.MethodPost, d.api+"/tasks/"+t.Name+"/run", map[string]any{"scope": "all"},
			&order); err != nil {
			return err
		}
		id, err := order.RunID.Int64()
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	return rig.Await(ctx, roundTime, "the ordered runs have ended", func(ctx context.Context) (bool, error) {
		runs, err := d.store.Runs(ctx, ids)
		open := slices.ContainsFunc(runs, func(r ledger.Run) bool { return r.State.Open() })
		return err == nil && len(runs) == len(ids) && !open, err
	})
}

// busiestApps returns the demand of the busiest app for each platform's endpoints, and for all endpoints of a platform.
func busiestApps(demand map[endpoint]float64) (ofEndpoint map[[2]string]float64, ofPlatform map[string]float64) {
	ofEndpoint, ofPlatform = map[[2]string]float64{}, map[string]float64{}
	ofApp := map[[2]string]float64{}
	for e, calls := range demand {
		if e.app == "" || calls <= 0 {
			continue
		}
		key, app := [2]string{e.media, e.name}, [2]string{e.media, e.app}
		ofEndpoint[key] = max(ofEndpoint[key], calls)
		ofApp[app] += calls
		ofPlatform[e.media] = max(ofPlatform[e.media], ofApp[app])
	}
	return ofEndpoint, ofPlatform
}

// limit sets the platforms' limits, and adsync's to the same, to a multiple of the demand of the busiest app.
// Endpoints that the tasks do not call, and limits of accounts, are as shipped again. So are the limits that all
// endpoints of an app share, unless they are below that multiple of its whole demand.
func (d *deployment) limit(ctx context.Context, demand map[endpoint]float64, margin float64) ([]Limit, error) {
	busiest, whole := busiestApps(demand)
	world, err := d.worldLimits(ctx)
	if err != nil {
		return nil, err
	}
	rules := world.Rules
	for i := range rules {
		r := &rules[i]
		r.Limit /= generous
		if r.Endpoint == "*" && r.Scope == limit.ScopeApp && slices.Contains(world.Shared, r.Media) {
			r.Limit = max(r.Limit, int(math.Ceil(whole[r.Media]*margin*float64(r.Seconds)/limitPeriod.Seconds())))
		}
	}
	var limits []Limit
	for key, calls := range busiest {
		l := Limit{Media: key[0], Endpoint: key[1], Demand: calls, Calls: int64(math.Ceil(calls * margin))}
		limits = append(limits, l)
		rules = append(rules, limit.Rule{Media: l.Media, Endpoint: l.Endpoint, Scope: limit.ScopeApp,
			Seconds: int(limitPeriod.Seconds()), Limit: int(l.Calls)})
	}
	slices.SortFunc(limits, func(a, b Limit) int { return strings.Compare(a.Media+a.Endpoint, b.Media+b.Endpoint) })
	// adsync's limits come first: the processes read them every few seconds, and no task runs meanwhile.
	for _, r := range rules {
		if err := d.store.AddRateLimit(ctx, standalone.LimitOf(r, slices.Contains(world.Shared, r.Media))); err != nil {
			return nil, err
		}
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(limitPeriod):
	}
	return limits, d.setWorldLimits(ctx, rules)
}
