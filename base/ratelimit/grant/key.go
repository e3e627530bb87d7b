package grant

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Call describes a call to a platform for its limits.
type Call struct {
	Media    string
	Endpoint string
	App      string // the developer app's id; empty when the call belongs to none
	Account  string // the advertiser account's id at the platform; empty when the call is for none
	// Rows names the kind of rows that the call matches, if the platform limits these; empty if not. Waiter.Settle
	// reports their number.
	Rows string
}

// Key is one limit applied to one app, one account or a whole platform. Calls are counted under it.
//
// A Key without a Limit limits nothing. It is a point at which calls can be paused.
type Key struct {
	Media string
	// The endpoint, or the pattern of all that share the limit; empty means every endpoint; for rows their kind.
	Endpoint string
	Scope    Scope
	Subject  string // the app's or the account's id; empty for a platform
	Period   time.Duration
	Unit     Unit // UnitRows; empty is calls
	Limit    int  // counted in Unit
	Share    float64
	Cost     int    // the highest cost of one call; 0 means 1
	Window   string // the start of a calendar's window, such as "2026-11-23"; empty for a sliding window
}

// String returns the limit for people: "m reports/get of app 17: 600 per 1m0s".
func (k Key) String() string {
	var b strings.Builder
	b.WriteString(k.Media)
	if k.Endpoint != "" {
		b.WriteByte(' ')
		b.WriteString(k.Endpoint)
	}
	if k.Subject != "" {
		fmt.Fprintf(&b, " of %s %s", k.Scope, k.Subject)
	}
	if k.Limit > 0 {
		unit := ""
		if k.Unit == UnitRows {
			unit = " rows"
		}
		fmt.Fprintf(&b, ": %d%s per %s", k.Limit, unit, k.Period)
	}
	return b.String()
}

// ID returns the limit without its numbers: an edited limit keeps its state.
func (k Key) ID() Key {
	k.Limit, k.Share, k.Cost = 0, 0, 0
	return k
}

// AnyWindow returns the limit without its window and numbers.
func (k Key) AnyWindow() Key {
	k.Window = ""
	return k.ID()
}

// HasBurst reports whether the limit is kept as one number, without moments of single calls.
func (k Key) HasBurst() bool { return k.Period >= countedFrom || k.Unit == UnitRows }

// period returns the period as it is written in names in Redis.
func (k Key) period() string {
	return strconv.FormatInt(k.Period.Milliseconds(), 10) + rowsMark[k.Unit]
}

// rowsMark distinguishes limits of rows from those of calls.
var rowsMark = map[Unit]string{UnitRows: "r"}

// readPeriod parses what period returned.
func (k *Key) readPeriod(text string) bool {
	text, isRows := strings.CutSuffix(text, rowsMark[UnitRows])
	ms, err := strconv.ParseInt(text, 10, 64)
	k.Period, k.Unit = time.Duration(ms)*time.Millisecond, ""
	if isRows {
		k.Unit = UnitRows
	}
	return err == nil && ms > 0
}

// parts returns the parts of the key's name in Redis, below its media's tag.
func (k Key) parts(kind string) []string {
	period := k.period()
	if k.Window != "" {
		period += "@" + k.Window
	}
	return []string{kind, string(k.Scope), k.Subject, period, k.Endpoint}
}

// limitMark is the first character of a limit's name. No scope starts with it.
const limitMark = "="

// name returns the name of a pause point, or of a tightened limit, among those of its media.
func (k Key) name() string {
	name := string(k.Scope) + "\n" + k.Subject + "\n" + k.Endpoint
	if k.Period > 0 {
		name = limitMark + k.period() + "\n" + name
	}
	return name
}

// pointOf returns the pause point, or the limit without its number, of a name.
func pointOf(media, name string) (Key, bool) {
	k := Key{Media: media}
	if rest, isLimit := strings.CutPrefix(name, limitMark); isLimit {
		period, point, _ := strings.Cut(rest, "\n")
		if !k.readPeriod(period) {
			return Key{}, false
		}
		name = point
	}
	parts := strings.SplitN(name, "\n", 3)
	if len(parts) != 3 {
		return Key{}, false
	}
	k.Scope, k.Subject, k.Endpoint = Scope(parts[0]), parts[1], parts[2]
	return k, true
}

// Points returns the points at which a call can be paused.
func Points(c Call) []Key {
	all := []Key{PausePoint(c, ScopePlatform)}
	if c.App != "" {
		all = append(all, PausePoint(c, ScopeApp))
	}
	if c.Account != "" {
		all = append(all, PausePoint(c, ScopeAccount))
	}
	return all
}

// PausePoint returns the point at which calls like c are paused for a scope. An app or an account is paused at one
// endpoint, because platforms limit them so; a platform is paused as a whole.
func PausePoint(c Call, scope Scope) Key {
	switch scope {
	case ScopeApp:
		return Key{Media: c.Media, Endpoint: c.Endpoint, Scope: scope, Subject: c.App}
	case ScopeAccount:
		return Key{Media: c.Media, Endpoint: c.Endpoint, Scope: scope, Subject: c.Account}
	default:
		return Key{Media: c.Media, Scope: ScopePlatform}
	}
}
