// Package task defines the terms of the domain: tasks, runs, subtasks and their states.
package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"adsync/base/day"
)

// Overlap defines what happens to a new subtask while an older one of the same task, account and part is open.
type Overlap string

// The overlap policies.
const (
	OverlapSkip    Overlap = "skip"
	OverlapQueue   Overlap = "queue"
	OverlapReplace Overlap = "replace"
)

// CatchUp defines which missed moments are still run.
type CatchUp string

// The catch-up policies.
const (
	CatchUpNone   CatchUp = "none"
	CatchUpLatest CatchUp = "latest"
	CatchUpAll    CatchUp = "all"
)

// CatchUpOrder defines in which order the moments of CatchUpAll are run.
type CatchUpOrder string

// The orders of catching up.
const (
	OldestFirst CatchUpOrder = "oldest_first"
	NewestFirst CatchUpOrder = "newest_first"
)

// Concurrency defines what may run at the same time as a subtask.
type Concurrency string

// The concurrency policies.
const (
	Parallel  Concurrency = "parallel"
	Serial    Concurrency = "serial"
	Exclusive Concurrency = "exclusive"
)

// Over is next to what an Exclusive subtask lets nothing run.
type Over string

// The scopes of exclusive subtasks.
const (
	OverLane       Over = "lane"       // its lane of its platform
	OverPlatform   Over = "platform"   // all lanes of its platform
	OverEverything Over = "everything" // all platforms
)

// Task is a valid row of cron_task: what to do, when, for which accounts, how important.
type Task struct {
	ID       int64
	Name     string
	Media    string
	Handler  string // "<media>.<report>" or "system.<job>"
	Cron     string
	Timezone string
	Enabled  bool
	Revision int64
	Settings
}

// Settings are what a run copies from its task when it is made. They do not change afterwards.
type Settings struct {
	Lane          string          `json:"lane"`
	Scope         string          `json:"scope"` // tiers, comma separated: "active", "active,inactive", or "all"
	Params        json.RawMessage `json:"params,omitempty"`
	Timeout       time.Duration   `json:"timeout"` // of one try of a subtask
	TTL           time.Duration   `json:"ttl"`     // from the planned time; 0 means none
	RetryMax      int             `json:"retry_max"`
	RetryBase     time.Duration   `json:"retry_base"`
	Overlap       Overlap         `json:"overlap"`
	CatchUp       CatchUp         `json:"catch_up"`
	CatchUpWindow time.Duration   `json:"catch_up_window"`
	CatchUpOrder  CatchUpOrder    `json:"catch_up_order,omitempty"`
	// Between two moments that are caught up; 0 means all at once.
	CatchUpSpread time.Duration `json:"catch_up_spread,omitempty"`
	Concurrency   Concurrency   `json:"concurrency"`
	// SerialKey is the template of the key whose subtasks run one at a time, over all tasks; only with Serial. "" means
	// the account, or the part of work without an account.
	SerialKey    string        `json:"serial_key,omitempty"`
	ExclusiveMax time.Duration `json:"exclusive_max,omitempty"` // how long one exclusive subtask may hold up others
	// ExclusiveOver is the scope of exclusive subtasks; "" means OverLane. ExclusiveDrain is how long one may hold up
	// others before it begins, until those that run have ended.
	ExclusiveOver  Over          `json:"exclusive_over,omitempty"`
	ExclusiveDrain time.Duration `json:"exclusive_drain,omitempty"`
	// Subtasks a second; 0 means as fast as the stores accept them.
	FanOutRate int      `json:"fan_out_rate"`
	After      []string `json:"after,omitempty"`
	// Application is who follows the ends of the task's subtasks in the topic of outcomes; "" means nobody.
	Application string `json:"application,omitempty"`
	Order       *Order `json:"order,omitempty"` // set for a run ordered by hand
}

// Tiers returns the tiers of a valid scope; none means all.
func (s Settings) Tiers() []string {
	if s.Scope == "all" {
		return nil
	}
	return strings.Split(s.Scope, ",")
}

// Order is what an operator requested when ordering a run by hand.
type Order struct {
	Accounts []int64 `json:"accounts,omitempty"` // our account ids; none with Scope or Redrive
	// Scope is ScopeAll for the whole scope of the task, and "" otherwise. So an order that has lost its accounts does
	// not become an order for all of them.
	Scope string `json:"scope,omitempty"`
	// Parts are the subtasks of a run of a kind whose orders name them, such as system.files; only with Scope.
	Parts []string `json:"parts,omitempty"`
	// Lane is the lane of the run's work; "" means the task's.
	Lane string `json:"lane,omitempty"`
	// Application is who follows the ends of the run's subtasks; "" means the task's.
	Application string  `json:"application,omitempty"`
	From        day.Day `json:"from,omitempty"` // first day, in each account's zone; empty means as the task plans it
	To          day.Day `json:"to,omitempty"`   // last day, included
	By          string  `json:"by"`
	// Confirm means that the platforms' answers are accepted even if they reduce the spend considerably: a person has
	// checked them.
	Confirm bool `json:"confirm,omitempty"`
	// Compare means that stored rows are compared with the platforms' answers even if these have not changed: somebody
	// may have altered the rows.
	Compare bool `json:"compare,omitempty"`
	// Spare means that the run's calls use only what nothing else wants of the platforms' limits.
	Spare bool `json:"spare,omitempty"`
	// Redrive means that the run repeats dead subtasks, and not what the task plans.
	Redrive *Redrive `json:"redrive,omitempty"`
	// Params changes the task's params for the run, as a JSON merge patch (RFC 7396); nil changes nothing.
	Params json.RawMessage `json:"params,omitempty"`
	// Under is the subtask that ordered the run; nil if none did.
	Under *Under `json:"under,omitempty"`
	// Ancestors are the ids of the runs above the run, outermost first: the last one is Under's. Package ledger sets them.
	Ancestors []int64 `json:"ancestors,omitempty"`
}

// Under is the origin of a run that a subtask ordered.
type Under struct {
	Key

	// Name distinguishes the orders of one subtask: a second order of the same name is the first one repeated. With ""
	// each order is a new one.
	Name string `json:"name,omitempty"`
}

// WantApplication is what IsApplication accepts.
const WantApplication = "nothing, or up to 64 lower-case letters, digits, dots, dashes and underscores, a letter first"

// The name of an application may be a part of another system's names, such as a user's.
var application = regexp.MustCompile(`^([a-z][a-z0-9._-]{0,63})?$`)

// IsApplication reports whether a text names an application, or none ("").
func IsApplication(name string) bool { return application.MatchString(name) }

// UnderNameMax is the most bytes of Under.Name.
const UnderNameMax = 96

// ScopeAll is the word for everything that an order could have narrowed down.
const ScopeAll = "all"

// Validate returns an error unless the order names its subject: accounts, the whole scope, or dead subtasks.
func (o *Order) Validate() error {
	switch {
	case !IsApplication(o.Application):
		return fmt.Errorf("application: %q is refused: want %s", o.Application, WantApplication)
	case o.Under != nil && len(o.Under.Name) > UnderNameMax:
		return fmt.Errorf("under.name: has %d bytes: want up to %d", len(o.Under.Name), UnderNameMax)
	case o.Scope != "" && o.Scope != ScopeAll:
		return fmt.Errorf("scope: %q is refused: want %q, or accounts", o.Scope, ScopeAll)
	case o.Redrive != nil && (o.Scope != "" || len(o.Accounts) > 0):
		return errors.New("redrive: does not go with accounts or scope: want one of the three")
	case len(o.Parts) > 0 && o.Scope == "":
		return fmt.Errorf("parts: want \"scope\": %q with them", ScopeAll)
	case o.Scope != "" && len(o.Accounts) > 0:
		return errors.New("scope: does not go with accounts: want one of the two")
	case o.Scope == "" && len(o.Accounts) == 0 && o.Redrive == nil:
		return fmt.Errorf("accounts: none is named: want accounts, or \"scope\": %q for the task's whole scope", ScopeAll)
	}
	return nil
}

// RunState is the state of a run.
type RunState string

// The states of a run; the last six are final.
const (
	RunFanningOut RunState = "fanning_out"
	RunRunning    RunState = "running"
	RunSucceeded  RunState = "succeeded"
	RunPartial    RunState = "partial"
	RunFailed     RunState = "failed"
	RunCancelled  RunState = "cancelled"
	RunSkipped    RunState = "skipped"
	RunExpired    RunState = "expired"
)

// Open reports whether the run can still change.
func (s RunState) Open() bool { return s == RunFanningOut || s == RunRunning }

// State is the state of a subtask.
type State string

// The states of a subtask. Waiting, retrying and deferred are open. The others are final.
const (
	Waiting    State = "waiting"
	Retrying   State = "retrying"
	Deferred   State = "deferred"
	Succeeded  State = "succeeded"
	Failed     State = "failed"
	Expired    State = "expired"
	Cancelled  State = "cancelled"
	Superseded State = "superseded"
)

// Open reports whether the subtask can still change.
func (s State) Open() bool { return s == Waiting || s == Retrying || s == Deferred }

// Key identifies one subtask.
type Key struct {
	RunID     int64
	AccountID int64  // 0 for work that belongs to no account
	Part      string // the part of the account's work, fixed at fan-out
}

// runs counts the ids that this process has made, from a start value on.
var runs = func() *atomic.Int64 {
	var n atomic.Int64
	n.Store(rand.Int64())
	return &n
}()

// NewRunID returns a new run's id. It sorts by time, and its UTC day names the log table of its subtasks. One process
// makes no id twice, unless it makes more than four million in a millisecond. Two processes make the same id for one
// pair of four million of the same millisecond.
func NewRunID(now time.Time) int64 {
	const bits = 22
	n := runs.Add(1) & (1<<bits - 1)
	// Each number is mapped to another one, so that tasks in the same order every minute do not always have the same
	// remainder, and shard.
	n ^= n >> (bits / 2)
	n = n * 0x2c1b3d & (1<<bits - 1)
	n ^= n >> (bits / 2)
	return now.UnixMilli()<<bits | n
}

// RunTime returns the time at which a run id was made, in UTC.
func RunTime(runID int64) time.Time { return time.UnixMilli(runID >> 22).UTC() }

// LogDay returns the UTC day whose log table holds the run's subtasks.
func LogDay(runID int64) day.Day { return day.Of(RunTime(runID), time.UTC) }

// FirstRunID returns the smallest id that a run made on the UTC day d can have.
func FirstRunID(d day.Day) int64 { return FirstRunIDAt(d.Start(time.UTC)) }

// FirstRunIDAt returns the smallest id that a run made at t or later can have; the largest possible one if t is
// beyond all ids.
func FirstRunIDAt(t time.Time) int64 {
	const bits = 22
	if t.UnixMilli() > math.MaxInt64>>bits {
		return math.MaxInt64
	}
	return max(t.UnixMilli(), 0) << bits
}
