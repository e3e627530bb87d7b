package binding

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/summaries"
)

func TestOrder_ChoosesTheDays(t *testing.T) {
	t.Parallel()
	const today = day.Day("2026-11-21")
	past := summaries.Binding{From: "2026-10-01", To: "2026-10-31", Game: "a", OS: "ios"}
	present := summaries.Binding{From: "2026-11-01", To: summaries.LastDay, Game: "b", OS: "ios"}
	held := []summaries.Binding{{From: "2026-09-01", To: "2026-09-30"}, past}
	for name, c := range map[string]struct {
		order    Order
		have     []summaries.Binding
		from, to day.Day
	}{
		"the first game holds for all figures": {Order{}, nil, summaries.FirstBoundDay, summaries.LastDay},
		"unless it names the first day":        {Order{From: "2026-11-03"}, nil, "2026-11-03", summaries.LastDay},
		"another one is a move from today on":  {Order{}, []summaries.Binding{past}, today, summaries.LastDay},
		"a correction is of what holds today": {Order{Correct: true}, []summaries.Binding{past, present}, present.From,
			present.To},
		"or of what held last, if nothing does now": {Order{Correct: true}, held, past.From, past.To},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.order.binding(c.have, today)
			require.Equal(t, []day.Day{c.from, c.to}, []day.Day{b.From, b.To})
		})
	}
}

// What is said of past days, of the login alone, or to correct a binding, does not have the account pulled.
func TestOrder_HasTheAccountPulled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		order Order
		pulls bool
	}{
		"nothing":                  {Order{}, true},
		"a game":                   {Order{Game: "a"}, true},
		"a game until today":       {Order{Game: "a", To: "2026-11-21"}, true},
		"a game until yesterday":   {Order{Game: "a", To: "2026-11-20"}, false},
		"a correction":             {Order{Game: "a", Correct: true}, false},
		"a login":                  {Order{Login: "x"}, false},
		"a login and a game":       {Order{Game: "a", Login: "x"}, true},
		"a login and past days":    {Order{Game: "a", Login: "x", To: "2026-11-20"}, false},
		"a login and a correction": {Order{Game: "a", Login: "x", Correct: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.pulls, c.order.pulls("2026-11-21"))
		})
	}
}
