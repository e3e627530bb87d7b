// Package task holds the words of the domain: tasks, runs, subtasks and their states.
package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"adsync/base/day"
)

// Overlap says what becomes of a new subtask while an older one of the same task, account and part is open.
type Overlap string

// The overlap policies.
const (
	OverlapSkip    Overlap = "skip"
	OverlapQueue   Overlap = "queue"
	OverlapReplace Overlap = "replace"
)

// CatchUp says which of the moments that were missed are still run.
type CatchUp string

// The catch-up policies.
const (
	CatchUpNone   CatchUp = "none"
	CatchUpLatest CatchUp = "latest"
	CatchUpAll    CatchUp = "all"
)

// CatchUpOrder says in which order the moments of CatchUpAll are run.
type CatchUpOrder string

// The orders of catching up.
const (
	OldestFirst CatchUpOrder = "oldest_first"
	NewestFirst CatchUpOrder = "newest_first"
)

// Concurrency says what may run beside a subtask.
type Concurrency string

// The concurrency policies.
const (
	Parallel  Concurrency = "parallel"
	Serial    Concurrency = "serial"
	Exclusive Concurrency = "exclusive"
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

// Settings are what a run takes over from its task, frozen when the run is made.
type Settings struct {
	Lane          string          `json:"lane"`
	Scope         string          `json:"scope"` // tiers, comma separated: "active", "active,inactive", or "all"
	Params        json.RawMessage `json:"params,omitempty"`
	Timeout       time.Duration   `json:"timeout"` // of one try of a subtask
	TTL           time.Duration   `json:"ttl"`     // from the planned time; 0 = none
	RetryMax      int             `json:"retry_max"`
	RetryBase     time.Duration   `json:"retry_base"`
	Overlap       Overlap         `json:"overlap"`
	CatchUp       CatchUp         `json:"catch_up"`
	CatchUpWindow time.Duration   `json:"catch_up_window"`
	CatchUpOrder  CatchUpOrder    `json:"catch_up_order,omitempty"`
	CatchUpSpread time.Duration   `json:"catch_up_spread,omitempty"` // between two moments that are caught up; 0 = all at once
	Concurrency   Concurrency     `json:"concurrency"`
	ExclusiveMax  time.Duration   `json:"exclusive_max,omitempty"` // how long one exclusive subtask may hold up others
	FanOutRate    int             `json:"fan_out_rate"`            // subtasks a second; 0 = as fast as the stores take them
	After         []string        `json:"after,omitempty"`
	Order         *Order          `json:"order,omitempty"` // set for a run ordered by hand
}

// Tiers returns the tiers of a valid scope; none means all.
func (s Settings) Tiers() []string {
	if s.Scope == "all" {
		return nil
	}
	return strings.Split(s.Scope, ",")
}

// Order is what an operator asked for when ordering a run by hand.
type Order struct {
	Accounts []int64 `json:"accounts,omitempty"` // our account ids; none with Scope and Redrive alone
	// Scope is ScopeAll for the whole scope of the task, and "" otherwise: an order that has lost its accounts must not become
	// one of all of them.
	Scope string  `json:"scope,omitempty"`
	From  day.Day `json:"from,omitempty"` // first day, in each account's zone; empty = as the task plans it
	To    day.Day `json:"to,omitempty"`   // last day, included
	By    string  `json:"by"`
	// Confirm says that what platforms answer is believed, also where it takes away much of what was spent: a person has
	// looked there.
	Confirm bool `json:"confirm,omitempty"`
	// Spare says that the run's calls have only what nothing else wants of the platforms' limits.
	Spare bool `json:"spare,omitempty"`
	// Redrive says that the run takes up dead subtasks, and not what the task plans.
	Redrive *Redrive `json:"redrive,omitempty"`
}

// ScopeAll is the word for everything that an order could have narrowed down.
const ScopeAll = "all"

// Validate returns an error unless the order says what it is of: accounts, the whole scope, or dead subtasks.
func (o *Order) Validate() error {
	switch {
	case o.Scope != "" && o.Scope != ScopeAll:
		return fmt.Errorf("scope: %q is refused: want %q, or accounts", o.Scope, ScopeAll)
	case o.Redrive != nil && (o.Scope != "" || len(o.Accounts) > 0):
		return errors.New("redrive: does not go with accounts or scope: want one of the three")
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

// The states of a subtask. Waiting, retrying and deferred are open; the others are final and never left again.
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

// Key names one subtask.
type Key struct {
	RunID     int64
	AccountID int64  // 0 for work that belongs to no account
	Part      string // what of the account, fixed at fan-out
}

// runs counts the ids that this process has made, from some number on.
var runs = func() *atomic.Int64 {
	var n atomic.Int64
	n.Store(rand.Int64())
	return &n
}()

// NewRunID returns a new run's id: it sorts by time, and its UTC day names the log table of its subtasks. One process makes no id twice, however many
// it makes at a moment, unless they are over four million; two processes do so for one pair of four million of the same millisecond.
func NewRunID(now time.Time) int64 {
	const bits = 22
	n := runs.Add(1) & (1<<bits - 1)
	// Each number becomes another one, so that tasks which come in the same order minute by minute are not always of the same remainder, and shard.
	n ^= n >> (bits / 2)
	n = n * 0x2c1b3d & (1<<bits - 1)
	n ^= n >> (bits / 2)
	return now.UnixMilli()<<bits | n
}

// RunTime returns the moment that a run id was made at, in UTC.
func RunTime(runID int64) time.Time { return time.UnixMilli(runID >> 22).UTC() }

// LogDay returns the UTC day whose log table holds the run's subtasks.
func LogDay(runID int64) day.Day { return day.Of(RunTime(runID), time.UTC) }

// FirstRunID returns the smallest id that a run made on the UTC day d can have.
func FirstRunID(d day.Day) int64 { return FirstRunIDAt(d.Start(time.UTC)) }

// FirstRunIDAt returns the smallest id that a run made at t or later can have, the largest that there is when t is beyond all ids.
func FirstRunIDAt(t time.Time) int64 {
	const bits = 22
	if t.UnixMilli() > math.MaxInt64>>bits {
		return math.MaxInt64
	}
	return max(t.UnixMilli(), 0) << bits
}
