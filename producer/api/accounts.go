package api

import (
	"context"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/overview"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/client"
	"adsync/media"
	"adsync/producer/binding"
)

// accountDays is how many days of coverage the list of accounts summarizes.
const accountDays = 7

// accountStore is what these routes need of the store.
type accountStore interface {
	ListAccounts(ctx context.Context, f overview.AccountFilter, after int64, limit int) (page []overview.ListedAccount,
		next int64, err error)
	FiguresCoverage(ctx context.Context, ids []int64, days []day.Day) (map[int64][]results.Coverage, error)
	AccountLogins(ctx context.Context, accountID int64) ([]settings.AccountLogin, error)
	AccountBindings(ctx context.Context, accountID int64) ([]summaries.Binding, error)
}

// accountRoutes serve the accounts.
type accountRoutes struct {
	store     accountStore
	accounts  accountFinder
	platforms platformList
	clock     clock.Clock
}

func (a *accountRoutes) listAccounts(c *gin.Context, params *client.ListAccountsParams) (any, error) {
	// An account's date is UTC's, or the day before or after it: the filter covers all three.
	today := day.Of(a.clock.Now(), time.UTC)
	filter := overview.AccountFilter{
		Media: params.Media, Tier: string(params.Tier), State: overview.AccountState(params.State),
		LoginState: params.LoginState, Game: params.Game, From: today.Add(-1), To: today.Add(1),
	}
	after, err := httpapi.IDAfter(params.After)
	if err != nil {
		return nil, err
	}
	if _, err := a.platforms.named(filter.Media); err != nil {
		return nil, err
	}
	rows, end, err := a.store.ListAccounts(c.Request.Context(), filter, after, int(params.Limit))
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r overview.ListedAccount) bool {
		b, bound := summaries.BindingOn(r.Bindings, day.Of(a.clock.Now(), zoneOf(r.Account)))
		switch filter.Game {
		case "":
			return false
		case overview.Unassigned:
			return bound && b.Game != overview.Unassigned
		}
		return b.Game != filter.Game
	})
	shown, err := a.describeAccounts(c, rows)
	if err != nil {
		return nil, err
	}
	return client.AccountList{Accounts: shown, Next: idOrNone(end)}, nil
}

func (a *accountRoutes) describeAccounts(c *gin.Context, rows []overview.ListedAccount) ([]client.ListedAccount,
	error) {
	now := a.clock.Now()
	ids, todays := make([]int64, len(rows)), make([]day.Day, len(rows))
	var days []day.Day
	for i := range rows {
		ids[i], todays[i] = rows[i].ID, day.Of(now, zoneOf(rows[i].Account))
		days = append(days, day.Between(todays[i].Add(1-accountDays), todays[i])...)
	}
	slices.Sort(days)
	known, err := a.store.FiguresCoverage(c.Request.Context(), ids, slices.Compact(days))
	if err != nil {
		return nil, err
	}
	all := make([]client.ListedAccount, len(rows))
	for i := range rows {
		r := &rows[i]
		of := describeAccount(r.Account)
		all[i] = client.ListedAccount{
			ID: of.ID, Media: of.Media, ExternalID: of.ExternalID, Name: of.Name, Tier: of.Tier, Timezone: of.Timezone,
			Currency: of.Currency, Bound: of.Bound, Parked: of.Parked,
			State: client.AccountState(stateOf(r.Account)), Bindings: binding.Describe(r.Bindings),
			Coverage: shortOf(known[r.ID], todays[i].Add(1-accountDays), todays[i]),
		}
		if r.LoginState != overview.LoginNone {
			all[i].Login = &client.LoginInUse{
				ID: formatID(r.TokenID), Login: r.Login, Name: r.LoginName, State: r.LoginState, Reason: r.LoginReason,
				AccessExpiresAt: r.AccessExpires, RefreshExpiresAt: r.RefreshExpires,
			}
		}
	}
	return all, nil
}

func stateOf(account settings.Account) overview.AccountState {
	switch {
	case !account.Bound:
		return overview.AccountUnbound
	case account.Parked != "":
		return overview.AccountParked
	}
	return overview.AccountPulled
}

func shortOf(rows []results.Coverage, from, to day.Day) client.CoverageSummary {
	short := client.CoverageSummary{From: string(from), To: string(to), Never: int64(len(day.Between(from, to)))}
	for i := range rows {
		r := &rows[i]
		if r.Day < from || r.Day > to || r.State == "" {
			continue
		}
		short.Never--
		switch r.State {
		case results.Complete:
			short.Complete++
		case results.Partial:
			short.Partial++
		case results.Suspect:
			short.Suspect++
		}
		if r.PulledAt.After(short.PulledAt) {
			short.PulledAt = r.PulledAt.Time
		}
	}
	return short
}

func (a *accountRoutes) getAccount(c *gin.Context, _ *none, _ media.Platform, account settings.Account) (any, error) {
	logins, err := a.store.AccountLogins(c.Request.Context(), account.ID)
	if err != nil {
		return nil, err
	}
	bindings, err := a.store.AccountBindings(c.Request.Context(), account.ID)
	if err != nil {
		return nil, err
	}
	return client.AccountDetail{Account: describeAccount(account), Logins: describeLogins(logins),
		Bindings: binding.Describe(bindings)}, nil
}

func describeLogins(logins []settings.AccountLogin) []client.AccountLogin {
	shown := make([]client.AccountLogin, len(logins))
	for i := range logins {
		l := &logins[i]
		shown[i] = client.AccountLogin{
			ID: formatID(l.ID), AppID: l.AppID, Login: l.Login.Login, Name: l.Name, State: l.State, Reason: l.StateReason,
			Chosen: l.Chosen, InUse: l.InUse, Gone: l.Gone, SeenAt: l.SeenAt,
		}
	}
	return shown
}
