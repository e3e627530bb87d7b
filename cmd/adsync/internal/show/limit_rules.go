package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// LimitRules prints the limits that are configured.
var LimitRules = List[client.LimitRule]{
	Rows: "rules",
	none: "There are no limits.",
	columns: columns[client.LimitRule]{
		{"ID", func(r *client.LimitRule) any { return r.ID }},
		{"MEDIA", func(r *client.LimitRule) any { return r.Media }},
		{"ENDPOINT", func(r *client.LimitRule) any { return r.Endpoint }},
		{"SCOPE", func(r *client.LimitRule) any { return ruleScope(r) }},
		{"ALLOWS", func(r *client.LimitRule) any { return ruleAllows(r) }},
		{"SHARE", func(r *client.LimitRule) any { return r.Share }},
		{"ALSO", func(r *client.LimitRule) any { return ruleAlso(r) }},
		{"STATE", func(r *client.LimitRule) any { return ruleState(r) }},
	},
}

// LimitRule prints a limit that is configured.
func LimitRule(w io.Writer, r *client.LimitRule) error {
	t := table.New(w)
	t.Pairs("id", r.ID, "media", r.Media, "endpoint", r.Endpoint, "scope", ruleScope(r), "allows", ruleAllows(r), "share",
		r.Share, "also", ruleAlso(r), "state", ruleState(r))
	return t.Flush()
}

// DeletedLimitRule prints a limit that was deleted, and what holds in its place.
func DeletedLimitRule(w io.Writer, d *client.DeletedLimitRule) error {
	r := &d.Deleted
	text := "No limit of the platform's own takes its place."
	if len(d.InForce) > 0 {
		text = "The platform's own limit holds again: " + ruleAllows(&d.InForce[0]) + "."
	}
	gone := fmt.Sprintf("Deleted the limit %s: %s %s, %s.", r.ID, r.Media, r.Endpoint, ruleAllows(r))
	_, err := fmt.Fprintf(w, "%s\n%s\n", table.Clean(gone), table.Clean(text))
	return err
}

func ruleScope(r *client.LimitRule) string {
	if r.EachEndpoint {
		return r.Scope + ", each endpoint"
	}
	return r.Scope
}

func ruleAllows(r *client.LimitRule) string {
	allows := fmt.Sprintf("%d %s per %s", r.Calls, r.Unit, milliseconds(r.PeriodMs))
	if r.CallsMax > 0 {
		allows += fmt.Sprintf(", tried up to %d", r.CallsMax)
	}
	return allows
}

// ruleAlso is what few limits have.
func ruleAlso(r *client.LimitRule) string {
	var also []string
	if r.Cost > 1 {
		also = append(also, fmt.Sprintf("a call costs %d", r.Cost))
	}
	if r.Costs != "" {
		also = append(also, "costs "+r.Costs)
	}
	if r.CalendarZone != "" {
		also = append(also, "windows of "+r.CalendarZone)
	}
	if r.PenaltyMs > 0 {
		also = append(also, "penalty "+milliseconds(r.PenaltyMs).String())
	}
	return strings.Join(also, "; ")
}

func ruleState(r *client.LimitRule) string {
	switch {
	case r.Error != "":
		return "cannot be used: " + r.Error
	case !r.Enabled:
		return "switched off"
	case r.Source == "platform":
		return "the platform's own"
	}
	return "in force"
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
