package show

import "adsync/client"

// Games prints games.
var Games = List[client.Game]{
	Rows: "games",
	none: "There are no games.",
	columns: columns[client.Game]{
		{"GAME", func(g *client.Game) any { return g.Code }},
		{"NAME", func(g *client.Game) any { return g.Name }},
		{"ACCOUNTS TODAY", func(g *client.Game) any { return g.Accounts }},
	},
}

// GameAccounts prints the accounts that belong to a game on any day.
var GameAccounts = List[client.GameAccount]{
	Rows: "accounts",
	none: "No account belongs to it on any day.",
	more: "There are more: raise --limit",
	columns: columns[client.GameAccount]{
		{"ACCOUNT", func(a *client.GameAccount) any { return a.Media + "/" + a.ExternalID }},
		{"NAME", func(a *client.GameAccount) any { return a.Name }},
		{"OS", func(a *client.GameAccount) any { return a.OS }},
		{"FROM", func(a *client.GameAccount) any { return firstDay(a.From) }},
		{"TO", func(a *client.GameAccount) any { return a.To }},
		{"PULLED", func(a *client.GameAccount) any { return yesOrNo(a.Bound) }},
	},
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
