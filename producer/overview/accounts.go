package overview

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/store/overview"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/client"
)

// accountItems lists the accounts that need an operator.
type accountItems struct {
	*facts

	store accountTables
}

func (l *accountItems) addUnassigned(context.Context) error {
	for i := range l.o.Media {
		m := &l.o.Media[i]
		cost := map[string]int64{}
		for _, s := range m.Spend {
			if s.Unassigned != 0 {
				cost[s.Currency] += s.Unassigned
			}
		}
		if len(cost) == 0 {
			continue
		}
		ids := l.withoutGame[m.Name]
		l.add(item{Attention: client.Attention{Kind: "unassigned", Severity: Warn, Media: m.Name,
			Title: "Spend of today belongs to no game", Accounts: int64(len(ids)), Money: moneyOf(cost), MoneyOf: "today",
			Cause:   "The accounts have no binding that holds today.",
			Remedy:  "Bind each to its game: the summaries follow within two minutes.",
			Command: "adsync bind account " + m.Name + "/ID --game GAME --os OS"}, ids: ids})
	}
	return nil
}

// addGames lists the accounts whose bindings name games that the table game lacks: a typing error in a row that was
// written by SQL.
func (l *accountItems) addGames(ctx context.Context) error {
	wrong, err := l.store.UnknownGames(ctx, day.Of(l.o.Business, time.UTC), groupRowsMax)
	if err != nil {
		return err
	}
	byMedia := map[string][]overview.UnknownGame{}
	for _, w := range wrong {
		byMedia[w.Media] = append(byMedia[w.Media], w)
	}
	for _, media := range slices.Sorted(maps.Keys(byMedia)) {
		a := item{Attention: client.Attention{Kind: "unknown_game", Severity: Warn, Media: media,
			Title: "Accounts belong to unknown games", AtLeast: len(wrong) == groupRowsMax,
			MoneyOf: "a day of these accounts",
			Remedy:  "Correct each binding: its days then go to the right game. Or add the game to the table game.",
			Command: "adsync bind account " + media + "/ID --game GAME --os OS --correct"}}
		names := map[string]bool{}
		for _, w := range byMedia[media] {
			a.ids, names[quote(w.Game)] = append(a.ids, w.AccountID), true
		}
		a.count()
		a.Cause = "Rows of account_binding name " + few(slices.Sorted(maps.Keys(names))) + ", which the table game lacks."
		l.add(a)
	}
	return nil
}

// addImpossible lists the rows of account_binding whose days no platform has. The applied games of these accounts
// stay.
func (l *accountItems) addImpossible(ctx context.Context) error {
	wrong, err := l.store.ImpossibleBindings(ctx, groupRowsMax)
	if err != nil {
		return err
	}
	byMedia := map[string][]overview.ImpossibleBinding{}
	for _, w := range wrong {
		byMedia[w.Media] = append(byMedia[w.Media], w)
	}
	for _, name := range slices.Sorted(maps.Keys(byMedia)) {
		first := byMedia[name][0]
		a := item{Attention: client.Attention{Kind: "impossible_binding", Severity: Warn, Media: name,
			Title: "Bindings name impossible days", AtLeast: len(wrong) == groupRowsMax, MoneyOf: "a day of these accounts",
			Cause: sentence("a row of account_binding is not used: " +
				(&summaries.Binding{From: first.From, To: first.To}).DaysFault()),
			Remedy:  "Correct the row's days, or delete it. Until then the games of these accounts stay as they were.",
			Command: "adsync accounts show " + name + "/" + exampleID}}
		for _, w := range byMedia[name] {
			a.ids = append(a.ids, w.AccountID)
		}
		a.count()
		l.add(a)
	}
	return nil
}

func (l *accountItems) addParked(ctx context.Context) error {
	for _, p := range l.parked {
		if p.Reason == settings.ParkedLogin {
			continue // The item of their login covers them.
		}
		word, text, found := strings.Cut(p.Reason, ":")
		a := item{Attention: client.Attention{Kind: "parked", Severity: Warn, Media: p.Media, Accounts: p.N, Since: p.Since,
			MoneyOf: "a day is not pulled", Cause: sentence(p.Reason)}}
		switch {
		case found && word == "revoked":
			a.Severity, a.Title = Bad, "The login has lost its permission for accounts"
			a.Remedy = "On the platform, share the accounts with the login again. Unbind those that are gone for good."
			a.Command = "adsync accounts list --media " + p.Media + " --state parked"
		case found && word == "frozen":
			a.Title = "The platform has closed accounts"
			a.Remedy = "Ask the advertiser to have the platform open them again. Unbind those that are gone for good."
			a.Command = "adsync accounts list --media " + p.Media + " --state parked"
		default:
			a.Kind, a.Severity, a.Title = "parked_by_hand", Note, "Parked by hand"
			a.Remedy = "They are pulled again when their column parked of media_account is emptied."
		}
		if found && a.Kind == "parked" {
			a.Cause = sentence(text)
		}
		if !p.Next.IsZero() {
			a.Remedy += " They are checked again automatically: " + next(p.Next, l.o.Business) + "."
		}
		var err error
		if a.ids, err = l.store.ParkedAccounts(ctx, p.Media, p.Reason, stakeAccountsMax); err != nil {
			return err
		}
		l.add(a)
	}
	return nil
}
