package show

import (
	"cmp"
	"fmt"
	"io"

	"adsync/base/plural"
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
	t.Pairs("reason", table.Whole(waitsFor(a)))
	if !a.ExpectedAt.IsZero() {
		t.Pairs("until", a.ExpectedAt)
	}
	if err := t.Flush(); err != nil || len(a.Limits)+len(a.Pauses) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return limitsAndPauses(w, a.Limits, a.Pauses)
}

// waitsFor returns what a subtask waits for, in words.
func waitsFor(a *client.Wait) string {
	if a.Reason == "" && a.State == client.SubtaskStateWaiting {
		return "it waits in Kafka, or in a consumer"
	}
	return cmp.Or(a.Reason, "it waits for nothing")
}

var accountWaits = columns[client.Wait]{
	{"RUN", func(a *client.Wait) any { return a.RunID }},
	{"ACCOUNT ID", func(a *client.Wait) any { return a.AccountID }},
	{"PART", func(a *client.Wait) any { return a.Part }},
	{"TASK", func(a *client.Wait) any { return a.Task }},
	{"LANE", func(a *client.Wait) any { return a.Lane }},
	{"STATE", func(a *client.Wait) any { return a.State }},
	{"FAILURES", func(a *client.Wait) any { return a.Attempt }},
	{"UNTIL", func(a *client.Wait) any { return a.ExpectedAt }},
	{"WAITS FOR", func(a *client.Wait) any { return table.Whole(waitsFor(a)) }},
}

// AccountWaits prints what the open subtasks of an account wait for.
func AccountWaits(w io.Writer, a *client.AccountWaits) error {
	if len(a.Subtasks) == 0 {
		_, err := fmt.Fprintf(w,
			"No subtask of the account is open: \"adsync accounts why %s/%s\" shows whether it is late.\n",
			table.Plain(a.Account.Media), table.Plain(a.Account.ExternalID))
		return err
	}
	if err := accountWaits.print(w, a.Subtasks); err != nil || !a.More {
		return err
	}
	_, err := fmt.Fprintln(w, "There are more: choose by --task")
	return err
}

var failures = columns[client.SubtaskFailure]{
	{"DELIVERY", func(f *client.SubtaskFailure) any { return f.Delivery }},
	{"FAILURES", func(f *client.SubtaskFailure) any { return f.Attempts }},
	{"ENDED", func(f *client.SubtaskFailure) any { return f.EndedAt }},
	{"BECAME", func(f *client.SubtaskFailure) any { return f.State }},
	{"CLASS", func(f *client.SubtaskFailure) any { return f.ErrorClass }},
	{"CALLS", func(f *client.SubtaskFailure) any { return f.Calls }},
	{"CONSUMER", func(f *client.SubtaskFailure) any { return f.Node }},
	{"ERROR", func(f *client.SubtaskFailure) any { return table.Whole(f.Error) }},
}

// Subtask prints a subtask, and its deliveries that failed.
func Subtask(w io.Writer, d *client.SubtaskDetail) error {
	s := &d.Subtask
	t := table.New(w)
	t.Pairs(
		"task", s.Task, "run", s.RunID+", planned for "+table.Moment(s.PlannedAt),
		"account", cmp.Or(s.Account, "none")+" (our id "+s.AccountID+")", "part", s.Part,
		"state", s.State,
		"sent", plural.Count(s.Delivery, "time", "times")+", "+plural.Count(s.Attempts, "failure", "failures"),
	)
	if !s.StartedAt.IsZero() {
		tried := table.Moment(s.StartedAt)
		if !s.EndedAt.IsZero() {
			tried += " to " + table.Moment(s.EndedAt)
		}
		t.Pairs("last try", tried+" on "+cmp.Or(s.Node, "no consumer"))
	}
	if !s.DueAt.IsZero() {
		t.Pairs("due", s.DueAt)
	}
	t.Pairs("rows", s.Rows, "calls", s.Calls)
	if len(d.Failures) == 0 {
		t.Pairs("failures", "none of its deliveries failed, or its day has no log of failures")
	}
	if err := t.Flush(); err != nil || len(d.Failures) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return failures.print(w, d.Failures)
}
