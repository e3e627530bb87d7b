package show

import (
	"cmp"
	"fmt"
	"io"

	"adsync/base/plural"
	"adsync/base/store/summaries"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// heldBinding is a binding of an account before or after a change.
type heldBinding struct {
	when string
	client.Binding
}

// movedDays are days that belong to another game than before, and what they add up to in one currency.
type movedDays struct {
	client.BindingMove
	client.DaySum
}

// Rebound prints a change of an account's bindings: those before and after it, and what moves.
func Rebound(w io.Writer, r *client.Rebinding) error {
	now, pulled := "now", map[bool]string{true: "It is pulled.", false: "It is not pulled."}[r.Pulled]
	follow := "The summaries of the days that changed follow within two minutes."
	switch {
	case r.DryRun:
		now, pulled = "then", map[bool]string{true: "It would be pulled.", false: "It would not be pulled."}[r.Pulled]
		follow = "Nothing was changed: leave --dry-run out to do it."
	case len(r.Moves) == 0:
		follow = "No day has another game than before."
	}
	unassigned := []client.Binding{{From: summaries.FirstBoundDay.String(), Game: summaries.Unassigned}}
	var rows []heldBinding
	for _, of := range []struct {
		when     string
		bindings []client.Binding
	}{{"before", r.Before}, {now, r.After}} {
		if len(of.bindings) == 0 {
			of.bindings = unassigned
		}
		for _, b := range of.bindings {
			rows = append(rows, heldBinding{of.when, b})
		}
	}
	if err := heldBindings.print(w, rows); err != nil {
		return err
	}
	if err := moves(w, r.Moves); err != nil {
		return err
	}
	if r.Login != "" {
		fmt.Fprintf(w, "The login to pull it with, while that can be used, is %s.\n", table.Plain(r.Login))
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", pulled, follow)
	return err
}

// moves prints which days move, and what they add up to.
func moves(w io.Writer, all []client.BindingMove) error {
	if len(all) == 0 {
		return nil
	}
	var rows []movedDays
	for _, m := range all {
		if len(m.Sums) == 0 {
			rows = append(rows, movedDays{BindingMove: m})
		}
		for _, s := range m.Sums {
			rows = append(rows, movedDays{m, s})
		}
	}
	fmt.Fprintln(w)
	if err := movedSums.print(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

var heldBindings = columns[heldBinding]{
	{"WHEN", func(b *heldBinding) any { return b.when }},
	{"FROM", func(b *heldBinding) any { return firstDay(b.From) }},
	{"TO", func(b *heldBinding) any { return b.To }},
	{"GAME", func(b *heldBinding) any { return b.Game }},
	{"OS", func(b *heldBinding) any { return b.OS }},
}

var movedSums = columns[movedDays]{
	{"MOVES FROM", func(m *movedDays) any { return firstDay(m.From) }},
	{"TO", func(m *movedDays) any { return m.To }},
	{"OLD GAME", func(m *movedDays) any { return gameOn(m.OldGame, m.OldOS) }},
	{"NEW GAME", func(m *movedDays) any { return gameOn(m.NewGame, m.NewOS) }},
	{"DAYS WITH FIGURES", func(m *movedDays) any { return m.Days }},
	{"FIRST", func(m *movedDays) any { return m.First }},
	{"LAST", func(m *movedDays) any { return m.Last }},
	{"SPENT", func(m *movedDays) any { return spentIn(m.DaySum) }},
}

// firstDay is the first day of a binding; "" where it holds for all days before its last one.
func firstDay(from string) string {
	if from == summaries.FirstBoundDay.String() {
		return ""
	}
	return from
}

// gameOn is a game with what it runs on; none is the game of accounts without one.
func gameOn(game, os string) string {
	if game == "" {
		return summaries.Unassigned
	}
	return game + " " + os
}

// spentIn is what days cost.
func spentIn(s client.DaySum) string {
	cost, known := s.Figures["cost"]
	if !known {
		return ""
	}
	return amounts([]client.Money{{Currency: s.Currency, Micros: cost}})
}

// authorisedMax is how many accounts of a login are listed.
const authorisedMax = 50

// Authorised prints a login that was authorised, with its accounts.
func Authorised(w io.Writer, a *client.Authorisation) error {
	fmt.Fprintf(w, "Authorised: %s, with %s.\n", loginName(a.Login), plural.Count(int(a.AccountCount), "account",
		"accounts"))
	if a.AccountCount == 0 {
		return nil
	}
	listed := a.Accounts[:min(len(a.Accounts), authorisedMax)]
	if err := authorisedAccounts.print(w, listed); err != nil || len(listed) == int(a.AccountCount) {
		return err
	}
	_, err := fmt.Fprintf(w, "and %d more\n", int(a.AccountCount)-len(listed))
	return err
}

// loginName is what people call a login.
func loginName(l *client.Login) string { return table.Plain(cmp.Or(l.Name, l.Login)) }

// Bound prints how many accounts of a login a request has bound.
func Bound(w io.Writer, b *client.BoundLogin, request *client.BindLoginRequest) error {
	name := loginName(&b.Login)
	if b.Bound == 0 {
		_, err := fmt.Fprintf(w, "There was nothing to bind: each account of %s has or had a game.\n", name)
		return err
	}
	fmt.Fprintf(w, "Bound: %s of %s", plural.Count(int(b.Bound), "account", "accounts"), name)
	if request.Game != "" {
		fmt.Fprintf(w, ", %d of them to %s on %s", b.GivenGame, table.Plain(request.Game), request.OS)
	}
	_, err := fmt.Fprintln(w, ".")
	if request.Scope != "" {
		_, err = fmt.Fprintln(w,
			"Accounts that it reaches later are pulled too, without a game until they are bound to one.")
	}
	return err
}

var authorisedAccounts = columns[client.LoginAccount]{
	{"ACCOUNT", func(a *client.LoginAccount) any { return a.ExternalID }},
	{"NAME", func(a *client.LoginAccount) any { return a.Name }},
	{"STATE", func(a *client.LoginAccount) any {
		if a.Bound {
			return "pulled"
		}
		return "not bound"
	}},
}
