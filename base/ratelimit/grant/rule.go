package grant

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Scope defines whose calls a limit adds up.
type Scope string

// The scopes, as rows name them.
const (
	ScopeApp      Scope = "app"      // the calls of one developer app, for all its accounts
	ScopeAccount  Scope = "account"  // the calls for one advertiser's account, by whichever app
	ScopePlatform Scope = "platform" // all calls to the platform
)

// Unit is what a limit counts.
type Unit string

// The units, as rows name them.
const (
	UnitCalls Unit = "calls"
	UnitRows  Unit = "rows" // matched by calls, which is known when they are answered: see Call.Rows and Waiter.Settle
)

// ShareDefault is the part of a limit that we use if a rule has none.
const ShareDefault = 0.95

// calendarShareMax leaves room for calls of the window before, if its burst comes at its end.
const calendarShareMax = 0.95

// Bounds of a rule's period.
const (
	PeriodMin = time.Second
	PeriodMax = 24 * time.Hour
)

// Rule is one limit, as a row of rate_limit defines it.
type Rule struct {
	// ID is the row's id. A bad row is reported by it and keeps its last good value. 0 means that it comes from no row.
	ID int64
	// Media is the platform's name.
	Media string
	// Endpoint is one endpoint, or a prefix of endpoints with a trailing *. Slashes around a name do not matter.
	Endpoint string
	// Each gives every endpoint that the pattern matches this limit for itself. Otherwise all of them share it. Of
	// several such rules of one scope and period, only the one that names an endpoint most exactly applies to it. So "*"
	// gives a default and a longer pattern or a name an exception, higher or lower.
	Each bool
	// Scope defines whose calls are added up.
	Scope Scope
	// Period is the length of the platform's sliding window, PeriodMin to PeriodMax.
	Period time.Duration
	// Unit is what is counted; empty means UnitCalls.
	Unit Unit
	// Limit is how many of the Unit the platform takes in any such window.
	Limit int
	// LimitMax is how far an unknown Limit may be raised while the platform does not refuse; see Learn. 0 means that
	// Limit is known.
	LimitMax int
	// Share is the part of Limit that we use, above 0 to 1; 0 means ShareDefault.
	Share float64
	// Cost is how much of Limit one call takes; 0 means 1.
	Cost int
	// Costs are the costs of calls that take more or less, by endpoint or prefix with a trailing *. The first match
	// applies: "report/get=5, list/*=2".
	Costs string
	// Calendar is the time zone in which the platform's windows begin, at each full Period; empty for a sliding window.
	// Windows shorter than an hour are taken as sliding, which keeps within both.
	Calendar string
	// Penalty is how long the platform refuses all calls after the limit was exceeded; 0 if it is unknown, or if each
	// refusal names it.
	Penalty time.Duration
}

// Fault is what is wrong with one column of a rule's row.
type Fault struct {
	Column string
	Detail string // names what it is about, as in "share 2 is not within 0 to 1"
}

// RuleError reports why a rule cannot be used.
type RuleError struct {
	Rule   Rule
	Reason string
}

func (e *RuleError) Error() string {
	r := e.Rule
	return fmt.Sprintf("rate limit %d (%s %s per %s, every %s): %s", r.ID, r.Media, r.Endpoint, r.Scope, r.Period,
		e.Reason)
}

// Validate returns a *RuleError with everything that is wrong with r, or nil.
func (r Rule) Validate() error {
	faults := r.Faults()
	if len(faults) == 0 {
		return nil
	}
	reasons := make([]string, len(faults))
	for i, f := range faults {
		reasons[i] = f.Detail
	}
	return &RuleError{Rule: r, Reason: strings.Join(reasons, "; ")}
}

// Faults returns everything that is wrong with r, by column of its row.
func (r Rule) Faults() (faults []Fault) {
	add := func(column, format string, args ...any) {
		faults = append(faults, Fault{column, fmt.Sprintf(format, args...)})
	}
	if r.Media == "" {
		add("media", "media is missing")
	}
	if r.Endpoint == "" {
		add("endpoint", "endpoint is missing (all endpoints are \"*\")")
	}
	if i := strings.IndexByte(r.Endpoint, '*'); i >= 0 && i != len(r.Endpoint)-1 {
		add("endpoint", "endpoint %q: a * is allowed only at the end", r.Endpoint)
	}
	switch r.Scope {
	case ScopeApp, ScopeAccount, ScopePlatform:
	default:
		add("scope", "scope %q is none of app, account, platform", r.Scope)
	}
	if r.Period < PeriodMin || r.Period > PeriodMax {
		add("period_ms", "period %s is not within %s to %s", r.Period, PeriodMin, PeriodMax)
	}
	if r.Limit < 1 || r.Limit > math.MaxInt32 {
		add("calls", "limit %d is not within 1 to %d", r.Limit, math.MaxInt32)
	}
	if !(r.Share >= 0 && r.Share <= 1) { // Written so that NaN is refused.
		add("share", "share %v is not within 0 to 1", r.Share)
	}
	if r.LimitMax != 0 && r.LimitMax < r.Limit {
		add("calls_max", "calls_max %d is below calls, %d", r.LimitMax, r.Limit)
	}
	if r.LimitMax != 0 && r.Scope == ScopeAccount {
		add("calls_max", "calls_max does not go with scope account: limits of accounts are not learned")
	}
	if r.Cost < 0 || r.Cost > r.Limit && r.Limit > 0 {
		add("cost", "cost %d is not within 1 to calls", r.Cost)
	}
	if costs, err := parseCosts(r.Costs); err != nil {
		add("costs", "costs %q: %s", r.Costs, err)
	} else if costs.most() > r.Limit && r.Limit > 0 {
		add("costs", "costs %q: %d is above calls", r.Costs, costs.most())
	}
	switch r.Unit {
	case "", UnitCalls:
	case UnitRows:
		if r.Cost > 1 || r.Costs != "" || r.LimitMax != 0 || r.Calendar != "" || r.Period >= countedFrom {
			add("unit", "unit rows goes with a period below an hour, and without cost, costs, calls_max and calendar zone")
		}
	default:
		add("unit", "unit %q is none of calls, rows", r.Unit)
	}
	if r.Penalty < 0 || r.Penalty > PauseMax {
		add("penalty_ms", "penalty %s is not within 0 to %s", r.Penalty, PauseMax)
	}
	if r.Calendar != "" {
		if _, err := time.LoadLocation(r.Calendar); err != nil {
			add("calendar_zone",
				"calendar zone %q is not known: want one such as Asia/Shanghai, or nothing for a sliding window", r.Calendar)
		}
		if r.Period != time.Minute && r.Period != time.Hour && r.Period != 24*time.Hour {
			add("period_ms", "period %s does not go with a calendar zone: want a minute, an hour or a day", r.Period)
		}
		if r.Share > calendarShareMax {
			add("share",
				"share %v does not go with a calendar zone: want %v or less, for calls that arrive after their window has ended",
				r.Share, calendarShareMax)
		}
	}
	return faults
}

// each reports whether the limit belongs to one endpoint.
func (r Rule) each() bool { return r.Each || !strings.HasSuffix(r.Endpoint, "*") }

func (r Rule) matches(endpoint string) bool { return matches(r.Endpoint, endpoint) }

func matches(pattern, endpoint string) bool {
	if prefix, isPattern := strings.CutSuffix(pattern, "*"); isPattern {
		return strings.HasPrefix(endpoint, prefix)
	}
	return pattern == endpoint
}

// costs are what calls of some endpoints take of a limit.
type costs []costOf

type costOf struct {
	pattern string
	cost    int
}

// parseCosts parses Rule.Costs.
func parseCosts(text string) (all costs, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		endpoint, number, ok := strings.Cut(part, "=")
		endpoint = PlainEndpoint(strings.TrimSpace(endpoint))
		cost, err := strconv.Atoi(strings.TrimSpace(number))
		if i := strings.IndexByte(endpoint, '*'); !ok || err != nil || cost < 1 || endpoint == "" || i >= 0 &&
			i != len(endpoint)-1 {
			return nil, fmt.Errorf("%q is not like report/get=5 or list/*=2", strings.TrimSpace(part))
		}
		all = append(all, costOf{endpoint, cost})
	}
	return all, nil
}

func (c costs) most() (n int) {
	for _, x := range c {
		n = max(n, x.cost)
	}
	return n
}
