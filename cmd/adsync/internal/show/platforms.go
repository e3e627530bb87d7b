package show

import (
	"fmt"
	"io"
	"strings"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// ExternalPlatforms prints the platforms without Go code.
var ExternalPlatforms = List[client.ExternalPlatform]{
	Rows: "platforms",
	none: "There are no platforms without Go code.",
	columns: columns[client.ExternalPlatform]{
		{"MEDIA", func(p *client.ExternalPlatform) any { return p.Media }},
		{"TIMEZONE", func(p *client.ExternalPlatform) any { return p.Timezone }},
		{"CURRENCY", func(p *client.ExternalPlatform) any { return p.Currency }},
		{"LIMITS", func(p *client.ExternalPlatform) any { return len(p.Limits) }},
		{"STATE", func(p *client.ExternalPlatform) any { return onOrOff(p.Enabled) }},
		{"IN FORCE", func(p *client.ExternalPlatform) any { return p.InForce }},
	},
}

// ExternalPlatform prints one platform without Go code.
func ExternalPlatform(w io.Writer, p *client.ExternalPlatform) error {
	limits := make([]string, len(p.Limits))
	for i, l := range p.Limits {
		limits[i] = fmt.Sprintf("%s of a %s: %d per %d ms", l.Endpoint, l.Scope, l.Calls, l.PeriodMs)
	}
	t := table.New(w)
	t.Pairs("media", p.Media, "timezone", p.Timezone, "currency", p.Currency, "state", onOrOff(p.Enabled), "in force",
		p.InForce, "limits", table.Whole(strings.Join(limits, "; ")))
	return t.Flush()
}

// ExternalAccounts prints accounts that were added or changed.
func ExternalAccounts(w io.Writer, a *client.ExternalAccounts) error {
	return columns[client.Account]{
		{"ID", func(a *client.Account) any { return a.ID }},
		{"ACCOUNT", func(a *client.Account) any { return a.Media + "/" + a.ExternalID }},
		{"NAME", func(a *client.Account) any { return a.Name }},
		{"TIMEZONE", func(a *client.Account) any { return a.Timezone }},
		{"CURRENCY", func(a *client.Account) any { return a.Currency }},
	}.print(w, a.Accounts)
}
