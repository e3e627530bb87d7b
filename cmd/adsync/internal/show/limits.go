package show

import (
	"fmt"
	"io"
	"strings"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Limits prints how far the call limits are used, and below them the points at which calls are paused.
func Limits(w io.Writer, a *client.LimitList) error {
	if len(a.Limits)+len(a.Pauses) == 0 {
		_, err := fmt.Fprintln(w, "No calls were requested within the last day.")
		return err
	}
	return limitsAndPauses(w, a.Limits, a.Pauses)
}

// limitsAndPauses prints two tables, without one that has no rows.
func limitsAndPauses(w io.Writer, limits []client.Limit, pauses []client.PausedPoint) error {
	if len(limits) > 0 {
		if err := callLimits.print(w, limits); err != nil {
			return err
		}
	}
	if len(pauses) == 0 {
		return nil
	}
	if len(limits) > 0 {
		fmt.Fprintln(w)
	}
	return pausedPoints.print(w, pauses)
}

var callLimits = columns[client.Limit]{
	{"LIMIT", func(l *client.Limit) any { return l.Media + " " + l.Endpoint }},
	{"OF", func(l *client.Limit) any { return strings.TrimSpace(l.Scope + " " + l.Subject) }},
	{"ALLOWS", func(l *client.Limit) any {
		allows := fmt.Sprintf("%d %s per %s", l.Calls, l.Unit, l.Period)
		if l.CallsMax > 0 {
			allows += fmt.Sprintf(", tried up to %d", l.CallsMax)
		}
		return allows
	}},
	{"IN THE WINDOW", func(l *client.Limit) any { return l.Window }},
	{"FULL", func(l *client.Limit) any { return fmt.Sprintf("%.0f %%", 100*l.Full) }},
	{"AHEAD", func(l *client.Limit) any { return l.Ahead }},
	{"LAST MINUTE", func(l *client.Limit) any { return l.LastMinute }},
	{"LAST HOUR", func(l *client.Limit) any { return l.LastHour }},
	{"IMPORTANCE: WANTED, SHARE A SECOND", func(l *client.Limit) any {
		var lanes []string
		for _, lane := range l.Lanes {
			lanes = append(lanes, fmt.Sprintf("%d: %d, %.1f", lane.Importance, lane.Wanted, lane.SharePerSecond))
		}
		return table.Whole(strings.Join(lanes, "; "))
	}},
}

var pausedPoints = columns[client.PausedPoint]{
	{"PAUSED AT", func(p *client.PausedPoint) any { return strings.TrimSpace(p.Media + " " + p.Endpoint) }},
	{"OF", func(p *client.PausedPoint) any { return strings.TrimSpace(p.Scope + " " + p.Subject) }},
	{"UNTIL", func(p *client.PausedPoint) any { return p.PausedUntil }},
	{"TIMES", func(p *client.PausedPoint) any { return p.Times }},
}

// EndedPauses prints which pauses were ended, or would be.
func EndedPauses(w io.Writer, a *client.EndedPauses) error {
	if len(a.Pauses) == 0 && a.Subtasks == 0 {
		_, err := fmt.Fprintln(w, "Nothing that was selected is paused.")
		return err
	}
	if len(a.Pauses) > 0 {
		if err := pausedPoints.print(w, a.Pauses); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if a.DryRun {
		_, err := fmt.Fprintf(w, "%s that would be due at once. Nothing was changed: add --yes to do it.\n",
			plural.Count(a.Subtasks, "subtask waits", "subtasks wait"))
		return err
	}
	_, err := fmt.Fprintf(w, "Ended %s; %s due at once.\n", plural.Count(len(a.Pauses), "pause", "pauses"),
		plural.Count(a.Subtasks, "subtask that waited is", "subtasks that waited are"))
	return err
}
