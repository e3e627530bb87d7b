package show

import (
	"fmt"
	"io"

	"adsync/base/plural"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/cmd/adsync/internal/table"
)

// heldBinding is a binding of an account before or after a change.
type heldBinding struct {
	when string
	summaries.Binding
}

// Rebound prints the bindings of an account before and after a change.
func Rebound(w io.Writer, before, after []summaries.Binding) error {
	var rows []heldBinding
	for _, of := range []struct {
		when     string
		bindings []summaries.Binding
	}{{"before", before}, {"now", after}} {
		if len(of.bindings) == 0 {
			rows = append(rows, heldBinding{of.when, summaries.Binding{From: summaries.FirstBoundDay, To: summaries.LastDay,
				Game: "unassigned"}})
		}
		for _, b := range of.bindings {
			rows = append(rows, heldBinding{of.when, b})
		}
	}
	if err := heldBindings.print(w, rows); err != nil {
		return err
	}
	text := "The summaries of the days that changed follow within two minutes."
	if len(summaries.BindingDifferences(before, after)) == 0 {
		text = "Nothing has changed."
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

var heldBindings = columns[heldBinding]{
	{"WHEN", func(b *heldBinding) any { return b.when }},
	{"FROM", func(b *heldBinding) any {
		if b.From == summaries.FirstBoundDay {
			return ""
		}
		return b.From
	}},
	{"TO", func(b *heldBinding) any {
		if b.To == summaries.LastDay {
			return ""
		}
		return b.To
	}},
	{"GAME", func(b *heldBinding) any { return b.Game }},
	{"OS", func(b *heldBinding) any { return b.OS }},
}

// authorisedMax is how many accounts of a login are listed.
const authorisedMax = 50

// Authorised prints a login that was authorised, with its accounts.
func Authorised(w io.Writer, name string, accounts []settings.LoginAccount) error {
	fmt.Fprintf(w, "Authorised: %s, with %s.\n", table.Plain(name), plural.Count(len(accounts), "account", "accounts"))
	if len(accounts) == 0 {
		return nil
	}
	listed := accounts[:min(len(accounts), authorisedMax)]
	if err := authorisedAccounts.print(w, listed); err != nil || len(listed) == len(accounts) {
		return err
	}
	_, err := fmt.Fprintf(w, "and %d more\n", len(accounts)-len(listed))
	return err
}

var authorisedAccounts = columns[settings.LoginAccount]{
	{"ACCOUNT", func(a *settings.LoginAccount) any { return a.ExternalID }},
	{"NAME", func(a *settings.LoginAccount) any { return a.Name }},
	{"STATE", func(a *settings.LoginAccount) any {
		if a.Bound {
			return "pulled"
		}
		return "not bound"
	}},
}
