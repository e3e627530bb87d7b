// Package judge decides whether a deployment kept its promises, from snapshots of its tables during a scenario and at
// its end. It reads neither the program nor its counters: it compares rows with rows.
package judge

import (
	"cmp"
	"time"

	"adsync/base/task"
)

// Snapshot is the content of the tables at one moment, read in one transaction.
type Snapshot struct {
	At    time.Time // by the reader's clock
	Epoch int64     // of the leader's row
	Ticks []Tick
	Runs  []Run
	Rows  []Row
	Due   []Due
	// Daily and Hourly are the versions of report rows; a row may go when the platform no longer has it. Nil when they
	// were not read.
	Daily, Hourly map[Report]int64
	// Claims are the claimed versions of coverage; nil when they were not read.
	Claims map[Scope]int64
}

// Tick is a row of tick.
type Tick struct {
	TaskID  int64     `json:"task"`
	Planned time.Time `json:"planned"`
	RunID   int64     `json:"run"`
}

// Run is a row of run.
type Run struct {
	ID        int64                `json:"id"`
	TaskID    int64                `json:"task"`
	TaskName  string               `json:"name"`
	Media     string               `json:"media"`
	Kind      string               `json:"kind"`
	Planned   time.Time            `json:"planned"`
	State     task.RunState        `json:"state"`
	Epoch     int64                `json:"epoch"`
	Cursor    int64                `json:"cursor"`
	Total     *int64               `json:"total"`
	Counts    map[task.State]int64 `json:"counts,omitempty"` // of the end states
	Created   time.Time            `json:"created"`
	FannedOut time.Time            `json:"fanned_out,omitzero"`
	Ended     time.Time            `json:"ended,omitzero"`
	Error     string               `json:"error,omitempty"`
}

// Row is a row of a day's log: a subtask.
type Row struct {
	task.Key
	State    task.State
	Delivery int
	Attempt  int
	Created  time.Time
	Ended    time.Time // zero while it is open
	Error    string
}

// Due is a row of subtask_due. Its state is that of its subtask, or "sent".
type Due struct {
	task.Key
	State    string
	Delivery int
}

// DueSent is the state of a due row whose subtask was sent again.
const DueSent = "sent"

// Report names a row of a report.
type Report struct {
	Day       string
	AccountID int64
	Level     string
	Object    string
	Hour      int
}

// Scope names a row of coverage.
type Scope struct {
	AccountID          int64
	Report, Level, Day string
}

func compareKeys(a, b task.Key) int {
	return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Part, b.Part))
}

// endStates are the final states of a subtask, which a run counts.
var endStates = []task.State{task.Succeeded, task.Failed, task.Expired, task.Cancelled, task.Superseded}
