// Package outcomes follows the ends of subtasks. adsync sends one message for each end of a subtask of a task that has
// an application; these come from the topic adsync.outcomes.
//
// None is missing, whatever process ends at whatever moment, and a message may come twice. Messages of one key come in
// the order of their numbers, without gaps; a double comes later with its old number. Follow drops the doubles that
// come to the same process. A program whose effects must not be repeated after its own restart stores the number with
// its effects (Outcome.Key, Outcome.Seq).
package outcomes

import "time"

// State is how a subtask ended.
type State string

// The states. A subtask that failed is dead: it is kept until it is run again or dropped.
const (
	Succeeded  State = "succeeded"
	Failed     State = "failed"
	Timeout    State = "timeout"    // failed, and its last try took longer than its task allows
	Expired    State = "expired"    // its time to live ended before
	Cancelled  State = "cancelled"  // by an order
	Superseded State = "superseded" // a newer subtask of the same work took its place
)

// Outcome is the end of a subtask.
type Outcome struct {
	// Key is what Seq counts: an account of the task, or a part of a task whose subtasks belong to no account.
	Key string `json:"-"`
	Seq int64  `json:"seq"` // 1, 2, 3, … for each key

	Application string `json:"application"` // the task's
	Task        string `json:"task"`
	Media       string `json:"media"`
	Handler     string `json:"handler"`
	Account     string `json:"account,omitempty"` // the platform's id; "" if the subtask belongs to no account
	Part        string `json:"part"`              // what of the account's work it was
	RunID       string `json:"run_id"`

	State      State  `json:"state"`
	Attempt    int    `json:"attempt"`               // failures that were charged to it
	ErrorClass string `json:"error_class,omitempty"` // transient, quota, auth, invalid or bug
	Text       string `json:"text,omitempty"`        // why it did not succeed
	Rows       int    `json:"rows"`                  // written by its last try
	Calls      int    `json:"calls"`                 // of the platform's API, by its last try
	TraceID    string `json:"trace_id,omitempty"`    // in the tracing system, if the subtask was traced
	// Files are the report files that the subtask has delivered: only with Succeeded, at most ten. A file may be in more
	// than one outcome.
	Files []File `json:"files,omitempty"`

	PlannedAt time.Time `json:"planned_at"`          // of its run
	StartedAt time.Time `json:"started_at,omitzero"` // of its last try; zero if it ended without one
	EndedAt   time.Time `json:"ended_at"`
}

// File is a report file that was delivered.
type File struct {
	ID           string `json:"id"` // of the publication, for GET /api/v1/publications/{id}
	Subscription string `json:"subscription"`
	Revision     int    `json:"revision"` // of the file of its period: 1, 2, …
	Destination  string `json:"destination"`
	Name         string `json:"name"` // at the destination, below its prefix
	Rows         int64  `json:"rows"`
	Bytes        int64  `json:"bytes"`
	SHA256       string `json:"sha256"`     // in hex
	Incomplete   bool   `json:"incomplete"` // figures are missing that it should have waited for
}
