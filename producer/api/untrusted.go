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
	"adsync/client"
	"adsync/producer/untrusted"
)

const (
	untrustedDays = 30
	// untrustedAccounts is how many accounts are searched for one page.
	untrustedAccounts = 1000
)

// untrustedPage is the token of a page: the account with which it begins, and the last day of it that was shown.
type untrustedPage struct {
	Account int64   `json:"account"`
	Day     day.Day `json:"day,omitempty"`
	Report  string  `json:"report,omitempty"`
	Level   string  `json:"level,omitempty"`
	State   string  `json:"state,omitempty"`
}

// compare orders two places in the order of the pages.
func (p untrustedPage) compare(o untrustedPage) int {
	return cmp.Or(cmp.Compare(p.Account, o.Account), cmp.Compare(p.Day, o.Day), cmp.Compare(p.Report, o.Report),
		cmp.Compare(p.Level, o.Level), cmp.Compare(p.State, o.State))
}

// untrustedStore is what these routes need of the store.
type untrustedStore interface {
	untrusted.Store
	ListAccounts(ctx context.Context, f overview.AccountFilter, after int64, limit int) (
		page []overview.ListedAccount, next int64, err error)
}

// untrustedRoutes serve the days of all accounts that cannot be trusted.
type untrustedRoutes struct {
	store     untrustedStore
	platforms platformList
	clock     clock.Clock
}

// placeOf returns the place of a day in the order of the pages.
func placeOf(d *untrusted.Day) untrustedPage {
	return untrustedPage{Account: d.AccountID, Day: day.Day(d.Day), Report: d.Report, Level: d.Level, State: d.State}
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
	var rows []untrusted.Day
	for _, p := range platforms {
		of := slices.DeleteFunc(slices.Clone(accounts), func(l overview.ListedAccount) bool { return l.Media != p.Name() })
		search := untrusted.Search{Platform: p, Accounts: of, From: from, To: to, Game: filter.Game}
		some, err := untrusted.Find(ctx, a.store, search, now)
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	slices.SortFunc(rows, func(x, y untrusted.Day) int { return placeOf(&x).compare(placeOf(&y)) })
	if place.Day != "" {
		rows = slices.DeleteFunc(rows, func(r untrusted.Day) bool { return placeOf(&r).compare(place) <= 0 })
	}
	answer := client.UntrustedDayList{From: string(from), To: string(to), Days: []client.UntrustedDay{}}
	switch {
	case len(rows) > limit:
		rows = rows[:limit]
		answer.Next = httpapi.PageToken(placeOf(&rows[limit-1]))
	case next != 0:
		answer.Next = httpapi.PageToken(untrustedPage{Account: next + 1})
	}
	for i := range rows {
		answer.Days = append(answer.Days, rows[i].UntrustedDay)
	}
	return answer, nil
}
