package ratelimit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Rules holds the limits in force. Its methods may be called at the same time.
type Rules struct {
	setting sync.Mutex
	// byMedia is replaced as a whole. A media's rules stand in the order in which Keys looks at them: names before
	// patterns, longer patterns before shorter ones.
	byMedia atomic.Pointer[map[string][]Rule]
}

// NewRules returns rules without any limit.
func NewRules() *Rules {
	r := &Rules{}
	r.byMedia.Store(&map[string][]Rule{})
	return r
}

// Set replaces all rules at once. A rule that cannot be used is left out, or keeps the last good value of the row with
// its ID, while the others take effect: the error joins a *RuleError for each of these.
func (r *Rules) Set(rules []Rule) error {
	r.setting.Lock()
	defer r.setting.Unlock()

	lastGood := map[int64]Rule{}
	for _, of := range *r.byMedia.Load() {
		for _, rule := range of {
			lastGood[rule.ID] = rule
		}
	}
	// identity is what may be there only once; two numbers for it would leave open which one holds.
	type identity struct {
		media, endpoint string
		each            bool
		scope           Scope
		period          time.Duration
	}
	seen := map[identity]int64{}
	next := map[string][]Rule{}
	add := func(rule Rule) error {
		if err := rule.Validate(); err != nil {
			return err
		}
		rule.Endpoint = plain(rule.Endpoint)
		id := identity{rule.Media, rule.Endpoint, rule.each(), rule.Scope, rule.Period}
		if first, twice := seen[id]; twice {
			return &RuleError{Rule: rule, Reason: fmt.Sprintf("row %d already limits the same", first)}
		}
		seen[id] = rule.ID
		if rule.Share == 0 {
			rule.Share = ShareDefault
		}
		next[rule.Media] = append(next[rule.Media], rule)
		return nil
	}
	var errs []error
	var refused []int64
	for _, rule := range rules {
		if err := add(rule); err != nil {
			errs = append(errs, err)
			refused = append(refused, rule.ID)
		}
	}
	// Last good values come after all good rows: a row that was changed into what another row says must not win.
	for _, id := range refused {
		if rule, ok := lastGood[id]; ok && id != 0 {
			_ = add(rule) // It was good; at most another row says the same by now.
		}
	}
	for _, of := range next {
		slices.SortStableFunc(of, func(a, b Rule) int { return specificity(b) - specificity(a) })
	}
	r.byMedia.Store(&next)
	return errors.Join(errs...)
}

// plain is an endpoint's name without slashes around it: the URLs of some platforms end with one, and whoever writes a row may leave
// it out.
func plain(endpoint string) string { return strings.Trim(endpoint, "/") }

// specificity is higher for what names an endpoint more exactly.
func specificity(r Rule) int {
	if strings.HasSuffix(r.Endpoint, "*") {
		return len(r.Endpoint)
	}
	return 1<<30 + len(r.Endpoint)
}

// cover returns the limits that cover a call: those that it shares with other accounts' calls, and those of its account. A limit per app
// does not cover a call without an app, one per account none without an account. No two keys are the same. The moment tells windows of a calendar.
func (r *Rules) cover(c Call, at time.Time) (common, own []Key) {
	endpoint := plain(c.Endpoint)
	for _, rule := range (*r.byMedia.Load())[c.Media] {
		if !rule.matches(endpoint) {
			continue
		}
		key, of := Key{Media: c.Media, Endpoint: rule.Endpoint, Scope: rule.Scope, Period: rule.Period, Limit: rule.calls(), Share: rule.Share, Window: rule.window(at)}, &common
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
		if rule.each() {
			key.Endpoint = endpoint
			if slices.ContainsFunc(*of, func(k Key) bool { return k.id() == key.id() }) {
				continue // A more exact rule holds.
			}
		}
		*of = append(*of, key)
	}
	return common, own
}

// number gives a key its limit and share by the rules in force at a moment. It tells whether there is one.
func (r *Rules) number(k *Key, at time.Time) bool {
	for _, rule := range (*r.byMedia.Load())[k.Media] {
		if rule.Scope == k.Scope && rule.Period == k.Period && rule.window(at) == k.Window && (rule.Endpoint == k.Endpoint || rule.each() && rule.matches(k.Endpoint)) {
			k.Limit, k.Share = rule.calls(), rule.Share
			return true
		}
	}
	return false
}

// calls is how many calls the limit takes.
func (r Rule) calls() int { return r.Limit / max(1, r.Cost) }

// window is when the calendar's window of a moment began, and empty for one that slides.
func (r Rule) window(at time.Time) string {
	if r.Calendar == "" || r.Period < countedFrom {
		return ""
	}
	zone, err := time.LoadLocation(r.Calendar)
	if err != nil {
		return "" // Validate has refused it.
	}
	if r.Period == 24*time.Hour {
		return at.In(zone).Format(time.DateOnly)
	}
	return at.In(zone).Format("2006-01-02T15Z0700")
}

// penalty is the longest that platforms are known for, of the rules of a scope that cover a call.
func (r *Rules) penalty(c Call, scope Scope) (most time.Duration) {
	for _, rule := range (*r.byMedia.Load())[c.Media] {
		if rule.Scope == scope && rule.matches(plain(c.Endpoint)) {
			most = max(most, rule.Penalty)
		}
	}
	return most
}
