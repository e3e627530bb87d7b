package show

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Subscriptions prints the report files that are subscribed to.
var Subscriptions = List[client.Subscription]{
	Rows: "subscriptions",
	none: "There are no subscriptions.",
	columns: columns[client.Subscription]{
		{"SUBSCRIPTION", func(s *client.Subscription) any { return s.Name }},
		{"STATE", func(s *client.Subscription) any { return subscriptionState(s) }},
		{"CRON", func(s *client.Subscription) any { return s.Cron + " " + s.Timezone }},
		{"PERIOD", func(s *client.Subscription) any { return s.Period }},
		{"DESTINATION", func(s *client.Subscription) any { return s.Destination }},
		{"PATH", func(s *client.Subscription) any { return s.Path }},
		{"CUSTOMER", func(s *client.Subscription) any { return s.Customer }},
	},
}

func subscriptionState(s *client.Subscription) string {
	if s.Error != "" {
		return "cannot be used"
	}
	return onOrOff(s.Enabled)
}

// Subscription prints one subscription, and its source: the query as it is stored, or the files.
func Subscription(w io.Writer, s *client.Subscription) error {
	format, err := json.Marshal(s.Format)
	if err != nil {
		return err
	}
	lane := s.Lane
	if lane == "" {
		lane = "by the size of the file"
	}
	rows := "100000000 (default)"
	if s.RowsMax != 0 {
		rows = fmt.Sprint(s.RowsMax)
	}
	t := table.New(w)
	t.Pairs("subscription", s.Name, "state", onOrOff(s.Enabled))
	if s.Error != "" {
		t.Pairs("error", table.Whole(s.Error))
	}
	t.Pairs("format", table.Whole(format), "path", table.Whole(s.Path), "destination", s.Destination,
		"cron", s.Cron+" "+s.Timezone, "since", s.Since, "period", s.Period, "waits", completeness(&s.Completeness),
		"corrections", corrections(&s.Corrections), "games", table.Whole(orAll(s.Scope.Games)),
		"platforms", table.Whole(orAll(s.Scope.Media)), "accounts", table.Whole(orAll(s.Scope.Accounts)),
		"on empty", s.OnEmpty, "on exists", s.OnExists, "verify", s.Verify, "manifest", yesOrNo(s.Manifest),
		"rows max", rows, "lane", lane, "owner", s.Owner, "customer", s.Customer,
		"application", s.Application, "webhook", table.Whole(s.Webhook))
	if err := t.Flush(); err != nil {
		return err
	}
	if s.Files != nil {
		return sourceFiles(w, s.Files)
	}
	fmt.Fprintln(w, "\nquery:")
	for line := range strings.Lines(s.Query) {
		if _, err := fmt.Fprintln(w, "  "+table.Clean(strings.TrimRight(line, "\r\n"))); err != nil {
			return err
		}
	}
	return nil
}

// sourceFiles prints the files that the rows of a subscription come from.
func sourceFiles(w io.Writer, f *client.SubscriptionFiles) error {
	fmt.Fprintln(w, "\nfiles:")
	t := table.New(w)
	t.Pairs("  destination", f.Destination, "  path", table.Whole(f.Path))
	if f.Done != "" {
		t.Pairs("  done", table.Whole(f.Done))
	}
	if len(f.Columns) == 0 {
		t.Pairs("  columns", "all")
	}
	for _, c := range f.Columns {
		text := c.Name
		if c.As != "" {
			text += " as " + c.As
		}
		t.Pairs("  column", table.Whole(text))
	}
	return t.Flush()
}

// DeletedSubscription prints a subscription that was deleted.
func DeletedSubscription(w io.Writer, s *client.Subscription) error {
	_, err := fmt.Fprintf(w, "Deleted the subscription %s. Its open files are cancelled within a minute or two.\n",
		table.Plain(s.Name))
	return err
}

// orAll is the values of a filter, in which none is all.
func orAll[T any](values []T) string {
	if len(values) == 0 {
		return "all"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ", "), "[]")
}

func completeness(c *client.Completeness) string {
	if c.When != "complete" {
		return "no: the file is made at the moment of the cron"
	}
	text := "until the figures are whole"
	if c.LatestMinutes > 0 {
		then := "the file is sent incomplete"
		if c.AtLatest == "hold" {
			then = "it waits on, and its note names what is missing"
		}
		text += fmt.Sprintf(", after %s %s", minutes(c.LatestMinutes), then)
	}
	switch c.Parked {
	case "name":
		text += "; parked accounts are named, and not waited for"
	case "ignore":
		text += "; parked accounts are ignored"
	}
	return text
}

func corrections(c *client.Corrections) string {
	if c.EveryMinutes == 0 {
		return "none"
	}
	return fmt.Sprintf("at most every %s, for %d days", minutes(c.EveryMinutes), c.Days)
}

func minutes(n int64) time.Duration { return time.Duration(n) * time.Minute }
