package grant

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Call is what a call to a platform is, as far as limits are concerned.
type Call struct {
	Media    string
	Endpoint string
	App      string // the developer app's id; empty when the call belongs to none
	Account  string // the advertiser account's id at the platform; empty when the call is for none
	// Rows names what kind of rows the call matches, where the platform limits these; empty where it does not. How many they were is told by Waiter.Settle.
	Rows string
}

// Key is one limit applied to one app, one account or a whole platform: what calls are counted under.
//
// A Key without a Limit limits nothing by itself: it is where calls can be paused.
type Key struct {
	Media    string
	Endpoint string // the endpoint, or the pattern of all that share the limit; empty means every endpoint. Of rows it is their kind
	Scope    Scope
	Subject  string // the app's or the account's id; empty for a platform
	Period   time.Duration
	Unit     Unit // UnitRows; empty is calls
	Limit    int  // of the unit
	Share    float64
	Cost     int    // the most that one call takes; 0 means 1
	Window   string // of a calendar: when it began, such as "2026-11-23"; empty for one that slides
}

// String names the limit for people: "m reports/get of app 17: 600 per 1m0s".
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

// ID is what the limit is known by however its number changes: an edited limit goes on from where it stands.
func (k Key) ID() Key {
	k.Limit, k.Share, k.Cost = 0, 0, 0
	return k
}

// AnyWindow is the limit whatever its window.
func (k Key) AnyWindow() Key {
	k.Window = ""
	return k.ID()
}

// HasBurst tells that calls under the limit are not told apart: it is kept as one number.
func (k Key) HasBurst() bool { return k.Period >= countedFrom || k.Unit == UnitRows }

// period is the period as names in Redis have it.
func (k Key) period() string {
	return strconv.FormatInt(k.Period.Milliseconds(), 10) + rowsMark[k.Unit]
}

// rowsMark tells limits of rows from those of calls.
var rowsMark = map[Unit]string{UnitRows: "r"}

// readPeriod reads what period wrote.
func (k *Key) readPeriod(text string) bool {
	text, isRows := strings.CutSuffix(text, rowsMark[UnitRows])
	ms, err := strconv.ParseInt(text, 10, 64)
	k.Period, k.Unit = time.Duration(ms)*time.Millisecond, ""
	if isRows {
		k.Unit = UnitRows
	}
	return err == nil && ms > 0
}

// parts names the key in Redis, below its media's tag.
func (k Key) parts(kind string) []string {
	period := k.period()
	if k.Window != "" {
		period += "@" + k.Window
	}
	return []string{kind, string(k.Scope), k.Subject, period, k.Endpoint}
}

// limitMark begins the name of a limit. No scope does.
const limitMark = "="

// name is what a point of pausing, or a limit that is tightened, is called among those of its media.
func (k Key) name() string {
	name := string(k.Scope) + "\n" + k.Subject + "\n" + k.Endpoint
	if k.Period > 0 {
		name = limitMark + k.period() + "\n" + name
	}
	return name
}

// pointOf is the point of pausing, or the limit without its number, that a name stands for.
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

// Points are where a call can be paused.
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

// PausePoint is where calls like c are paused for a scope. An app or an account is paused at one endpoint, which is how
// platforms limit them; a platform as a whole.
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
