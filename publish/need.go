package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/store/publishing"
	"adsync/base/store/summaries"
	"adsync/upkeep"
)

// need is what a file waits for. It is fixed when the file is planned: accounts that join later come with a revision.
type need struct {
	Groups []needGroup `json:"groups"`
	Summed bool        `json:"summed,omitempty"` // the summaries must show the days
	Wide   bool        `json:"wide,omitempty"`   // wide_daily must show them
}

// needGroup is accounts of one media that need the same.
type needGroup struct {
	Media    string         `json:"media"`
	Zone     string         `json:"zone"`
	From     day.Day        `json:"from"`
	To       day.Day        `json:"to"` // included
	Scopes   []upkeep.Scope `json:"scopes"`
	Parked   bool           `json:"parked,omitempty"` // named if they lack something, but not waited for
	Accounts []int64        `json:"accounts"`         // ascending
}

// accountPage is how many accounts are read at a time.
const accountPage = 5000

// needer works out what files need. It reads the accounts and bindings once, when they are first asked for.
type needer struct {
	files
	media    []neededMedia
	bindings map[int64][]summaries.Binding
	read     bool
}

type neededMedia struct {
	name     string
	scopes   []upkeep.PulledScope
	accounts []publishing.FileAccount
}

func (n *needer) load(ctx context.Context) error {
	if n.read {
		return nil
	}
	all, err := n.Store.Bindings(ctx)
	if err != nil {
		return err
	}
	n.bindings = map[int64][]summaries.Binding{}
	for _, b := range all {
		n.bindings[b.AccountID] = append(n.bindings[b.AccountID], b)
	}
	for _, platform := range n.Platforms {
		of := neededMedia{name: platform.Name()}
		if of.scopes, err = upkeep.PulledScopes(ctx, n.Store, platform); err != nil {
			return err
		}
		for after, more := int64(0), true; more; {
			page, err := n.Store.FileAccounts(ctx, of.name, after, accountPage)
			if err != nil {
				return err
			}
			of.accounts = append(of.accounts, page...)
			if more = len(page) == accountPage; more {
				after = page[len(page)-1].ID
			}
		}
		n.media = append(n.media, of)
	}
	n.read = true
	return nil
}

// of returns what a file of a subscription and period needs, and its row.
func (n *needer) of(ctx context.Context, s *Subscription, period Period, now time.Time) (row publishing.Need,
	err error) {
	if err := n.load(ctx); err != nil {
		return row, err
	}
	needs := need{Summed: s.needs.summed, Wide: s.needs.wide}
	for i := range n.media {
		if m := &n.media[i]; len(s.scope.Media) == 0 || slices.Contains(s.scope.Media, m.name) {
			needs.Groups = append(needs.Groups, n.groups(s, m, period)...)
		}
	}
	text, err := json.Marshal(needs)
	sum := sha256.Sum256(text)
	return publishing.Need{SHA256: hex.EncodeToString(sum[:]), Need: string(text), UsedAt: now}, err
}

// groups returns what a file needs of a media's accounts, in a fixed order.
func (n *needer) groups(s *Subscription, m *neededMedia, period Period) []needGroup {
	scopes := map[string][]upkeep.Scope{} // by tier
	for _, a := range m.accounts {
		if _, known := scopes[a.Tier]; !known {
			scopes[a.Tier] = pulledOf(s.needs.scopes, m.scopes, a.Tier)
		}
	}
	of := map[string]int{}
	var all []needGroup
	for _, a := range m.accounts {
		needed := scopes[a.Tier]
		if len(needed) == 0 || a.Parked && s.completeness.Parked == parkedIgnore ||
			len(s.scope.Accounts) > 0 && !slices.Contains(s.scope.Accounts, a.ID) {
			continue
		}
		parked := a.Parked && s.completeness.Parked == parkedName
		for _, days := range bound(n.bindings[a.ID], s.scope.Games, period) {
			g := needGroup{Media: m.name, Zone: a.Timezone, From: days.From, To: days.To, Scopes: needed, Parked: parked}
			key, _ := json.Marshal(g) // It has texts only.
			at, known := of[string(key)]
			if !known {
				at = len(all)
				of[string(key)] = at
				all = append(all, g)
			}
			all[at].Accounts = append(all[at].Accounts, a.ID)
		}
	}
	slices.SortFunc(all, func(a, b needGroup) int {
		return cmp.Or(strings.Compare(a.Zone, b.Zone), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To),
			cmp.Compare(a.Accounts[0], b.Accounts[0]))
	})
	return all
}

// pulledOf returns which of the scopes tasks pull for accounts of a tier.
func pulledOf(wanted []upkeep.Scope, pulled []upkeep.PulledScope, tier string) (all []upkeep.Scope) {
	for _, scope := range wanted {
		for i := range pulled {
			if pulled[i].Scope == scope && pulled[i].Pulls(tier) {
				all = append(all, scope)
				break
			}
		}
	}
	return all
}

// bound returns the days of a period on which an account is bound to one of the games, or to any if there are none.
func bound(bindings []summaries.Binding, games []string, period Period) (all []Period) {
	for _, b := range bindings { // They begin in order.
		days := Period{From: max(b.From, period.From), To: min(b.To, period.To)}
		if days.From > days.To || len(games) > 0 && !slices.Contains(games, b.Game) {
			continue
		}
		if last := len(all) - 1; last >= 0 && days.From <= all[last].To.Add(1) {
			all[last].To = max(all[last].To, days.To)
			continue
		}
		all = append(all, days)
	}
	return all
}
