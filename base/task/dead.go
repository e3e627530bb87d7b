package task

import "time"

// DeadFilter selects dead subtasks. Zero fields select all.
type DeadFilter struct {
	TaskID    int64     `json:"task_id,omitempty"`
	Media     string    `json:"media,omitempty"`
	AccountID int64     `json:"account_id,omitempty"` // ours
	RunID     int64     `json:"run_id,omitempty"`
	Print     string    `json:"print,omitempty"` // the whole print
	Class     string    `json:"class,omitempty"` // the class of the error
	Text      string    `json:"text,omitempty"`  // a part of the error's text, verbatim
	Since     time.Time `json:"since,omitzero"`  // died at or after
	Until     time.Time `json:"until,omitzero"`  // died at or before
	// OwnParams chooses the subtasks of runs whose Order.OwnParams is this; nil chooses all.
	OwnParams *string `json:"own_params,omitempty"`
}

// Redrive is an order to run dead subtasks of the order's task again, with the accounts and parts that they had.
type Redrive struct {
	Filter DeadFilter `json:"filter"`
	Rate   int        `json:"rate,omitempty"`   // subtasks a second; 0 means the task's rate
	Origin int64      `json:"origin,omitempty"` // the run that all of them come from, if it is one run
}
