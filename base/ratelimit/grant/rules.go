package grant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Rules holds the limits in force. Its methods may be called concurrently.
type Rules struct {
	setting sync.Mutex
	// byMedia is replaced as a whole. A media's rules are in the order in which Cover tries them: names before patterns,
	// longer patterns before shorter ones.
	byMedia atomic.Pointer[map[string][]rule]
	// learned are the learned numbers of unknown limits, by Key.AnyWindow. They are replaced as a whole.
	learned atomic.Pointer[map[Key]int]
}

// rule is a Rule in force.
type rule struct {
	Rule
	costs costs
}

// NewRules returns rules without any limit.
func NewRules() *Rules {
	r := &Rules{}
	r.byMedia.Store(&map[string][]rule{})
	r.learned.Store(&map[Key]int{})
	return r
}

// Set replaces all rules at once. A rule that cannot be used is left out, or keeps the last good value of the row
// with its ID. The others take effect. The error joins a *RuleError for each rule that cannot be used.
func (r *Rules) Set(rules []Rule) error {
	r.setting.Lock()
	defer r.setting.Unlock()

	lastGood := map[int64]Rule{}
	for _, of := range *r.byMedia.Load() {
		for _, rule := range of {
			lastGood[rule.ID] = rule.Rule
		}
	}
	// identity must be unique among rules: with two numbers it would be open which one applies.
	type identity struct {
		media, endpoint string
		each            bool
		scope           Scope
		period          time.Duration
		unit            Unit
	}
	seen := map[identity]int64{}
	next := map[string][]rule{}
	add := func(x Rule) error {
		if err := x.Validate(); err != nil {
			return err
		}
		x.Endpoint = PlainEndpoint(x.Endpoint)
		if x.Unit == UnitCalls {
			x.Unit = ""
		}
		id := identity{x.Media, x.Endpoint, x.each(), x.Scope, x.Period, x.Unit}
		if x.Unit == UnitRows {
			id.endpoint, id.each = "", false // Rows are counted by their kind, whatever the endpoint.
		}
		if first, twice := seen[id]; twice {
			return &RuleError{Rule: x, Reason: fmt.Sprintf("row %d already has a limit for these calls", first)}
		}
		seen[id] = x.ID
		if x.Share == 0 {
			x.Share = ShareDefault
		}
		costs, err := parseCosts(x.Costs)
		next[x.Media] = append(next[x.Media], rule{x, costs})
		return err
	}
	var errs []error
	var refused []int64
	for _, rule := range rules {
		if err := add(rule); err != nil {
			errs = append(errs, err)
			refused = append(refused, rule.ID)
		}
	}
	// Last good values come after all good rows: a row that was changed to another row's identity must not win.
	for _, id := range refused {
		if rule, ok := lastGood[id]; ok && id != 0 {
			_ = add(rule) // It was good. At most another row has its identity now.
		}
	}
	for _, of := range next {
		slices.SortStableFunc(of, func(a, b rule) int { return specificity(b.Rule) - specificity(a.Rule) })
	}
	r.byMedia.Store(&next)
	return errors.Join(errs...)
}

// PlainEndpoint returns an endpoint's name without slashes around it. The URLs of some platforms end with one, and a
// row may be written without it.
func PlainEndpoint(endpoint string) string { return strings.Trim(endpoint, "/") }

// specificity is higher for a rule that names an endpoint more exactly.
func specificity(r Rule) int {
	if strings.HasSuffix(r.Endpoint, "*") {
		return len(r.Endpoint)
	}
	return 1<<30 + len(r.Endpoint)
}

// Charge is a limit that covers a call, and how much of it the call takes; 0 if that is unknown before the answer.
type Charge struct {
	Key
	Cost int
}

// Cover returns the limits that cover a call: those that it shares with other accounts' calls, and those of its
// account. A limit per app does not cover a call without an app, one per account none without an account, one of rows
// none that matches no such rows. The keys are unique. The time determines the windows of a calendar.
func (r *Rules) Cover(c Call, at time.Time) (common, own []Charge) {
	return r.Of(c.Media).Cover(c, at)
}

// RuleSet holds the rules of a media in force at a time.
type RuleSet struct {
	rules   []rule
	learned map[Key]int
}

// Of returns the rules of a media as they are now.
func (r *Rules) Of(media string) RuleSet {
	return RuleSet{(*r.byMedia.Load())[media], *r.learned.Load()}
}

// Cover is Rules.Cover with these rules.
func (r RuleSet) Cover(c Call, at time.Time) (common, own []Charge) {
	endpoint := PlainEndpoint(c.Endpoint)
	for _, rule := range r.rules {
		if !rule.matches(endpoint) {
			continue
		}
		key, of := Key{
			Media: c.Media, Endpoint: rule.Endpoint, Scope: rule.Scope, Period: rule.Period, Unit: rule.Unit, Limit: rule.Limit,
			Share: rule.Share, Window: rule.window(at),
			Cost: rule.most(),
		}, &common
		cost := rule.cost(endpoint)
		switch rule.Scope {
		case ScopeApp:
			key.Subject = c.App
		case ScopeAccount:
			key.Subject, of = c.Account, &own
		case ScopePlatform:
		}
		if key.Subject == "" && rule.Scope != ScopePlatform {
			continue
		}
		switch {
		case rule.Unit == UnitRows && c.Rows == "":
			continue
		case rule.Unit == UnitRows:
			key.Endpoint, cost = c.Rows, 0
		case rule.each():
			key.Endpoint = endpoint
		}
		if (rule.each() || rule.Unit == UnitRows) && slices.ContainsFunc(*of,
			func(x Charge) bool { return x.ID() == key.ID() }) {
			continue // A more exact rule applies.
		}
		key.Limit = r.knownLimit(rule.Rule, key)
		*of = append(*of, Charge{key, cost})
	}
	return common, own
}

// number sets a key's limit and share by the rules in force at a time. It returns the rule's LimitMax, and whether a
// rule exists.
func (r *Rules) number(k *Key, at time.Time) (most int, known bool) {
	set := r.Of(k.Media)
	for _, rule := range set.rules {
		if rule.Scope != k.Scope || rule.Period != k.Period || rule.Unit != k.Unit || rule.window(at) != k.Window {
			continue
		}
		if rule.Endpoint == k.Endpoint || rule.each() && rule.matches(k.Endpoint) || rule.Unit == UnitRows {
			k.Limit, k.Share, k.Cost = set.knownLimit(rule.Rule, *k), rule.Share, rule.most()
			return rule.LimitMax, true
		}
	}
	return 0, false
}

// most returns the highest cost of one call.
func (r rule) most() int { return max(1, r.Cost, r.costs.most()) }

// cost returns the cost of a call of an endpoint.
func (r rule) cost(endpoint string) int {
	for _, x := range r.costs {
		if matches(x.pattern, endpoint) {
			return x.cost
		}
	}
	return max(1, r.Cost)
}

// window returns when the calendar's window of a time began; empty for a sliding window.
func (r Rule) window(at time.Time) string {
	if r.Calendar == "" || r.Period < countedFrom {
		return ""
	}
	zone, err := time.LoadLocation(r.Calendar)
	if err != nil {
		return "" // Validate refuses such a zone.
	}
	if r.Period == 24*time.Hour {
		return at.In(zone).Format(time.DateOnly)
	}
	return at.In(zone).Format("2006-01-02T15Z0700")
}

// Penalty returns the longest penalty of the rules of a scope that cover a call.
func (r *Rules) Penalty(c Call, scope Scope) (most time.Duration) {
	for _, rule := range (*r.byMedia.Load())[c.Media] {
		if rule.Scope == scope && rule.matches(PlainEndpoint(c.Endpoint)) {
			most = max(most, rule.Penalty)
		}
	}
	return most
}
