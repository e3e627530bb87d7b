package show

import (
	"cmp"
	"fmt"
	"io"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Subtasks prints subtasks.
var Subtasks = List[client.Subtask]{
	Rows: "subtasks",
	none: "There are no such subtasks.",
	more: moreBy("--state, --text …"),
	columns: columns[client.Subtask]{
		{"RUN", func(s *client.Subtask) any { return s.RunID }},
		{"ACCOUNT ID", func(s *client.Subtask) any { return s.AccountID }},
		{"PART", func(s *client.Subtask) any { return s.Part }},
		{"TASK", func(s *client.Subtask) any { return s.Task }},
		{"ACCOUNT", func(s *client.Subtask) any { return s.Account }},
		{"STATE", func(s *client.Subtask) any { return s.State }},
		{"FAILURES", func(s *client.Subtask) any { return s.Attempts }},
		{"ROWS", func(s *client.Subtask) any { return s.Rows }},
		{"CALLS", func(s *client.Subtask) any { return s.Calls }},
		{"STARTED", func(s *client.Subtask) any { return s.StartedAt }},
		{"ENDED", func(s *client.Subtask) any { return s.EndedAt }},
		{"DUE", func(s *client.Subtask) any { return s.DueAt }},
		{"ERROR", func(s *client.Subtask) any { return s.Error }},
	},
}

// Due prints the subtasks that wait to be sent again.
var Due = List[client.WaitingSubtask]{
	Rows: "due",
	none: "No subtask waits to be sent again.",
	more: moreBy("--media, --lane, --text …"),
	columns: columns[client.WaitingSubtask]{
		{"RUN", func(s *client.WaitingSubtask) any { return s.RunID }},
		{"ACCOUNT ID", func(s *client.WaitingSubtask) any { return s.AccountID }},
		{"PART", func(s *client.WaitingSubtask) any { return s.Part }},
		{"DUE", func(s *client.WaitingSubtask) any { return s.DueAt }},
		{"TASK", func(s *client.WaitingSubtask) any { return s.Task }},
		{"ACCOUNT", func(s *client.WaitingSubtask) any { return s.Media + "/" + s.Account }},
		{"LANE", func(s *client.WaitingSubtask) any { return s.Lane }},
		{"STATE", func(s *client.WaitingSubtask) any { return s.State }},
		{"FAILURES", func(s *client.WaitingSubtask) any { return s.Attempts }},
		{"REASON", func(s *client.WaitingSubtask) any {
			switch {
			case s.Reason != "":
				return s.Reason
			case s.WaitsForPause != "":
				return "it waits for the end of the pause " + s.WaitsForPause
			case s.WaitsForRun != "":
				return "it waits for the end of the run " + s.WaitsForRun
			}
			return ""
		}},
	},
}

// Wait prints what a subtask waits for, with the call limits and pauses that concern it.
func Wait(w io.Writer, a *client.Wait) error {
	t := table.New(w)
	t.Pairs("task", a.Task+" of "+a.Media, "lane", a.Lane)
	if a.Importance > 0 {
		t.Pairs("importance", a.Importance)
	}
	t.Pairs("state", a.State, "failures", a.Attempt)
	if a.Node != "" {
		t.Pairs("consumer", a.Node)
	}
	nothing := "it waits for nothing"
	if a.State == client.SubtaskStateWaiting {
		nothing = "it waits for its turn in Kafka, or in a consumer"
	}
	t.Pairs("reason", table.Whole(cmp.Or(a.Reason, nothing)))
	if !a.ExpectedAt.IsZero() {
		t.Pairs("until", a.ExpectedAt)
	}
	if err := t.Flush(); err != nil || len(a.Limits)+len(a.Pauses) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return limitsAndPauses(w, a.Limits, a.Pauses)
}
