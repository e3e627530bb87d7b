package show

import "adsync/client"

// Untrusted prints the days that cannot be trusted.
var Untrusted = List[client.UntrustedDay]{
	Rows: "days",
	none: "All of these days can be trusted.",
	more: moreBy("--media, --game, --from, --to"),
	columns: columns[client.UntrustedDay]{
		{"ACCOUNT", func(d *client.UntrustedDay) any { return d.Media + "/" + d.Account }},
		{"DAY", func(d *client.UntrustedDay) any { return d.Day }},
		{"REPORT", func(d *client.UntrustedDay) any { return d.Report }},
		{"LEVEL", func(d *client.UntrustedDay) any { return d.Level }},
		{"STATE", func(d *client.UntrustedDay) any { return d.State }},
		{"GAME", func(d *client.UntrustedDay) any { return d.Game }},
		{"PULLED", func(d *client.UntrustedDay) any { return d.PulledAt }},
		{"WHY", func(d *client.UntrustedDay) any { return d.Why }},
	},
}
