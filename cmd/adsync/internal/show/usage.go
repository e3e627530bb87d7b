package show

import (
	"fmt"
	"io"
	"strings"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

var limitsLeft = columns[client.LimitLeft]{
	{"LIMIT", func(l *client.LimitLeft) any { return l.Media + " " + l.Endpoint }},
	{"OF", func(l *client.LimitLeft) any { return strings.TrimSpace(l.Scope + " " + l.Subject) }},
	{"ALLOWED", func(l *client.LimitLeft) any { return fmt.Sprintf("%d %s per %s", l.Allowed, l.Unit, l.Period) }},
	{"WINDOW", func(l *client.LimitLeft) any {
		if l.WindowBegan != "" {
			return "since " + l.WindowBegan
		}
		return "sliding"
	}},
	{"USED", func(l *client.LimitLeft) any { return l.Used }},
	{"LEFT", func(l *client.LimitLeft) any { return l.Left }},
}

var taskCalls = columns[client.TaskCalls]{
	{"TASK", func(k *client.TaskCalls) any { return k.Task }},
	{"LANE", func(k *client.TaskCalls) any { return k.Lane }},
	{"RUNS", func(k *client.TaskCalls) any { return k.Runs }},
	{"CALLS", func(k *client.TaskCalls) any { return k.Calls }},
}

var laneCalls = columns[client.LaneCalls]{
	{"MEDIA", func(k *client.LaneCalls) any { return k.Media }},
	{"LANE", func(k *client.LaneCalls) any { return k.Lane }},
	{"CALLS", func(k *client.LaneCalls) any { return k.Calls }},
}

var accountCalls = columns[client.AccountCalls]{
	{"ACCOUNT", func(k *client.AccountCalls) any { return k.Media + "/" + k.Account }},
	{"CALLS", func(k *client.AccountCalls) any { return k.Calls }},
}

// Usage prints what is left of the call limits, and who used them.
func Usage(w io.Writer, u *client.LimitUsage) error {
	if len(u.Limits) > 0 {
		if err := limitsLeft.print(w, u.Limits); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	calls := plural.Count(u.Calls, "call", "calls")
	if _, err := fmt.Fprintf(w, "%s by runs made since %s.\n", calls, table.Moment(u.Since)); err != nil || u.Calls == 0 {
		return err
	}
	fmt.Fprintln(w)
	if err := taskCalls.print(w, u.Tasks); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := laneCalls.print(w, u.Lanes); err != nil || len(u.Accounts) == 0 {
		return err
	}
	fmt.Fprintf(w, "\nThe accounts with the most calls, of %d of these calls:\n", u.AccountsCalls)
	return accountCalls.print(w, u.Accounts)
}
