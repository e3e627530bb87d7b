package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/overview"
	"adsync/base/store/results"
	"adsync/client"
	"adsync/upkeep"
)

const (
	untrustedDays = 30
	// untrustedAccounts is how many accounts one page looks at.
	untrustedAccounts = 1000
)

// The states of a day that cannot be trusted, besides suspect and partial.
const (
	stateDiffers = "differs" // its figures are not the sums of a level below
	stateMissing = "missing" // it was never pulled
	stateEarly   = "early"   // it was last pulled before it had settled
)

// untrustedPage is the token of a page: the account with which it begins, and what of that was shown before.
type untrustedPage struct {
	Account int64   `json:"account"`
	Day     day.Day `json:"day,omitempty"`
	Report  string  `json:"report,omitempty"`
	Level   string  `json:"level,omitempty"`
	State   string  `json:"state,omitempty"`
}

// compare orders places as pages do.
func (p untrustedPage) compare(o untrustedPage) int {
	return cmp.Or(cmp.Compare(p.Account, o.Account), cmp.Compare(p.Day, o.Day), cmp.Compare(p.Report, o.Report),
		cmp.Compare(p.Level, o.Level), cmp.Compare(p.State, o.State))
}

// untrustedStore is what these routes need of the store.
type untrustedStore interface {
	upkeep.HoleStore
	ListAccounts(ctx context.Context, f overview.AccountFilter, after int64, limit int) (
		page []overview.ListedAccount, next int64, err error)
	FillAccounts(ctx context.Context, media string, after int64, limit int) ([]results.FillAccount, error)
	UntrustedCoverage(ctx context.Context, media string, accountIDs []int64, from, to day.Day) ([]results.Coverage, error)
	OpenDifferences(ctx context.Context, accountIDs []int64, from, to day.Day) ([]results.Difference, error)
}

// untrustedRoutes are the days of all accounts that cannot be trusted.
type untrustedRoutes struct {
	store     untrustedStore
	platforms platformList
	clock     clock.Clock
}

// untrustedDay is such a day, and its place among them.
type untrustedDay struct {
	place untrustedPage
	shown client.UntrustedDay
}

func (a *untrustedRoutes) listUntrusted(c *gin.Context, params *client.ListUntrustedParams) (any, error) {
	ctx, now := c.Request.Context(), a.clock.Now()
	var errs httpapi.Refusals
	from, to := days(&errs, params.From, params.To, now, time.UTC, untrustedDays)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	var place untrustedPage
	switch p, err := httpapi.PageAfter(params.After, func(p untrustedPage) bool { return p.Account > 0 }); {
	case err != nil:
		return nil, err
	case p != nil:
		place = *p
	}
	filter := overview.AccountFilter{Media: params.Media, Game: params.Game, From: from, To: to}
	limit := int(params.Limit)
	platforms, err := a.platforms.named(filter.Media)
	if err != nil {
		return nil, err
	}
	accounts, next, err := a.store.ListAccounts(ctx, filter, max(place.Account-1, 0), untrustedAccounts)
	if err != nil {
		return nil, err
	}
	var rows []untrustedDay
	for _, p := range platforms {
		of := slices.DeleteFunc(slices.Clone(accounts), func(l overview.ListedAccount) bool { return l.Media != p.Name() })
		look := &untrustedLook{untrustedStore: a.store, platform: p, from: from, to: to, game: filter.Game, accounts: of}
		some, err := look.find(ctx, now)
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	slices.SortFunc(rows, func(x, y untrustedDay) int { return x.place.compare(y.place) })
	if place.Day != "" {
		rows = slices.DeleteFunc(rows, func(r untrustedDay) bool { return r.place.compare(place) <= 0 })
	}
	answer := client.UntrustedDayList{From: string(from), To: string(to), Days: []client.UntrustedDay{}}
	switch {
	case len(rows) > limit:
		rows = rows[:limit]
		answer.Next = httpapi.PageToken(rows[limit-1].place)
	case next != 0:
		answer.Next = httpapi.PageToken(untrustedPage{Account: next + 1})
	}
	for i := range rows {
		answer.Days = append(answer.Days, rows[i].shown)
	}
	return answer, nil
}
