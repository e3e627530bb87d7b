package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"adsync/base/store/results"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Accounts prints accounts. The name comes last: what is wide on a terminal, as 厦 is, would move the columns after it.
var Accounts = List[client.ListedAccount]{
	Rows: "accounts",
	none: "There are no such accounts.",
	more: moreBy("--media, --state …"),
	columns: columns[client.ListedAccount]{
		{"ACCOUNT", func(a *client.ListedAccount) any { return a.Media + "/" + a.ExternalID }},
		{"TIER", func(a *client.ListedAccount) any { return a.Tier }},
		{"STATE", func(a *client.ListedAccount) any {
			if a.Parked != "" {
				return string(a.State) + ": " + a.Parked
			}
			return a.State
		}},
		{"LOGIN", func(a *client.ListedAccount) any { return loginOf(a).Login }},
		{"LOGIN STATE", func(a *client.ListedAccount) any { return cmp.Or(loginOf(a).State, "none") }},
		{"DAYS COMPLETE", func(a *client.ListedAccount) any {
			c := a.Coverage
			return fmt.Sprintf("%d of %d", c.Complete, c.Complete+c.Partial+c.Suspect+c.Never)
		}},
		{"PULLED", func(a *client.ListedAccount) any { return a.Coverage.PulledAt }},
		{"GAME", func(a *client.ListedAccount) any { return cmp.Or(presentBinding(a).Game, "unassigned") }},
		{"OS", func(a *client.ListedAccount) any { return presentBinding(a).OS }},
		{"NAME", func(a *client.ListedAccount) any { return a.Name }},
	},
}

// loginOf returns the login that an account is pulled with; the zero value if it has none.
func loginOf(a *client.ListedAccount) client.LoginInUse {
	if a.Login == nil {
		return client.LoginInUse{}
	}
	return *a.Login
}

// presentBinding returns the binding of an account that has no end; the zero value if it has none.
func presentBinding(a *client.ListedAccount) client.Binding {
	if n := len(a.Bindings); n > 0 && a.Bindings[n-1].To == "" {
		return a.Bindings[n-1]
	}
	return client.Binding{}
}

// Account prints an account with its logins and its games.
func Account(w io.Writer, a *client.AccountDetail) error {
	state := string(a.Account.Tier)
	switch {
	case !a.Account.Bound:
		state = "not bound: nothing of it is pulled"
	case a.Account.Parked != "":
		state = "parked: " + a.Account.Parked
	}
	fmt.Fprintf(w, "%s/%s  %s\n%s, days of %s, money in %s\n\n", a.Account.Media, table.Plain(a.Account.ExternalID),
		table.Plain(a.Account.Name), table.Plain(state), table.Plain(a.Account.Timezone), a.Account.Currency)
	if err := accountLogins.print(w, a.Logins); err != nil {
		return err
	}
	if len(a.Bindings) == 0 {
		_, err := fmt.Fprintln(w, "\nIt has no game: its figures belong to unassigned.")
		return err
	}
	fmt.Fprintln(w)
	return bindings.print(w, a.Bindings)
}

var accountLogins = columns[client.AccountLogin]{
	{"LOGIN", func(l *client.AccountLogin) any { return l.Login }},
	{"NAME", func(l *client.AccountLogin) any { return l.Name }},
	{"APP", func(l *client.AccountLogin) any { return l.AppID }},
	{"STATE", func(l *client.AccountLogin) any { return l.State }},
	{"SEEN", func(l *client.AccountLogin) any { return l.SeenAt }},
	{"NOTE", func(l *client.AccountLogin) any {
		var notes []string
		for _, n := range []struct {
			holds bool
			text  string
		}{{l.InUse, "in use"}, {l.Chosen, "chosen"}, {l.Gone, "no longer lists the account"}, {l.Reason != "", l.Reason}} {
			if n.holds {
				notes = append(notes, n.text)
			}
		}
		return strings.Join(notes, "; ")
	}},
}

var bindings = columns[client.Binding]{
	{"FROM", func(b *client.Binding) any { return b.From }},
	{"TO", func(b *client.Binding) any { return b.To }},
	{"GAME", func(b *client.Binding) any { return b.Game }},
	{"OS", func(b *client.Binding) any { return b.OS }},
}

// Changes prints what changed in an account's configuration.
func Changes(w io.Writer, a *client.AccountChanges) error {
	if len(a.Changes) == 0 {
		_, err := fmt.Fprintf(w, "No changes are known from %s to %s.\n", a.From, a.To)
		return err
	}
	if err := changes.print(w, a.Changes); err != nil || a.Next == "" {
		return err
	}
	_, err := fmt.Fprintln(w, thereAreMore)
	return err
}

var changes = columns[client.Change]{
	{"SEEN", func(c *client.Change) any { return c.SeenAt }},
	{"LEVEL", func(c *client.Change) any { return c.Level }},
	{"OBJECT", func(c *client.Change) any { return c.Object }},
	{"FIELD", func(c *client.Change) any { return c.Field }},
	{"BEFORE", func(c *client.Change) any { return c.Before }},
	{"AFTER", func(c *client.Change) any { return c.After }},
	{"CHANGED", func(c *client.Change) any { return c.ChangedAt }},
	{"BY", func(c *client.Change) any { return c.ChangedBy }},
}

// Coverage prints which days of an account were pulled whole; with missing, only those that were not.
func Coverage(w io.Writer, a *client.AccountCoverage, missing bool) error {
	shown := a.Coverage
	if missing {
		shown = slices.DeleteFunc(slices.Clone(shown), func(c client.Coverage) bool {
			return c.State == string(results.Complete)
		})
	}
	if len(shown) == 0 {
		_, err := fmt.Fprintf(w, "Everything from %s to %s is complete.\n", a.From, a.To)
		return err
	}
	return coverage.print(w, shown)
}

var coverage = columns[client.Coverage]{
	{"REPORT", func(c *client.Coverage) any { return c.Report }},
	{"LEVEL", func(c *client.Coverage) any { return c.Level }},
	{"DAY", func(c *client.Coverage) any { return c.Day }},
	{"STATE", func(c *client.Coverage) any { return c.State }},
	{"ROWS", func(c *client.Coverage) any { return c.Rows }},
	{"PULLED", func(c *client.Coverage) any { return c.PulledAt }},
	{"NOTE", func(c *client.Coverage) any {
		note := c.Note
		if c.Unusable > 0 && !strings.Contains(note, "unusable") { // The note of an incomplete day names them.
			parts := make([]string, len(c.UnusableValues))
			for i, u := range c.UnusableValues {
				parts[i] = fmt.Sprintf("%d × %s of %s", u.Number, u.Kind, u.Field)
			}
			note = strings.TrimPrefix(note+"; unusable values: "+strings.Join(parts, ", "), "; ")
		}
		if c.SummaryPending {
			note = strings.TrimPrefix(note+"; the summaries follow", "; ")
		}
		return note
	}},
}

// Why prints whether an account is late, and why, in one line, and below it a command.
func Why(w io.Writer, a *client.AccountWhy) error {
	state := "in time"
	if a.Late {
		state = "late"
	}
	_, err := fmt.Fprintf(w, "%s/%s (%s): %s\n",
		table.Plain(a.Account.Media), table.Plain(a.Account.ExternalID), state, table.Clean(a.Why))
	if a.Command != "" && err == nil {
		_, err = fmt.Fprintf(w, "  %s\n", table.Clean(a.Command))
	}
	return err
}
