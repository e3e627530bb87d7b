package show

import (
	"fmt"
	"io"
	"slices"
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

// Usage prints what is left of the call limits that are in use, and who used them.
func Usage(w io.Writer, u *client.LimitUsage) error {
	used := slices.DeleteFunc(slices.Clone(u.Limits), func(l client.LimitLeft) bool { return l.Used == 0 })
	if len(used) > 0 {
		if err := limitsLeft.print(w, used); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if n := len(u.Limits) - len(used); n > 0 {
		fmt.Fprintf(w, "%s unused in the present window.\n\n", plural.Count(n, "limit is", "limits are"))
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
