// Package untrusted finds the days of accounts whose figures cannot be trusted: days that are suspect or partial in
// coverage, days whose figures differ from a level below, and holes.
package untrusted

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/store/overview"
	"adsync/base/store/results"
	"adsync/base/store/summaries"
	"adsync/client"
	"adsync/media"
	"adsync/upkeep"
)

// The states of a day that cannot be trusted, in addition to suspect and partial.
const (
	differs = "differs" // its figures are not the sums of a level below
	missing = "missing" // it was never pulled
	early   = "early"   // it was last pulled before it had settled
)

// Store is the part of the store that Find uses.
type Store interface {
	upkeep.HoleStore
	FillAccounts(ctx context.Context, media string, after int64, limit int) ([]results.FillAccount, error)
	UntrustedCoverage(ctx context.Context, media string, accountIDs []int64, from, to day.Day) ([]results.Coverage, error)
	OpenDifferences(ctx context.Context, accountIDs []int64, from, to day.Day) ([]results.Difference, error)
}

// Search selects accounts of a platform and days.
type Search struct {
	Platform media.Platform
	Accounts []overview.ListedAccount // sorted by id
	From, To day.Day                  // both included
	Game     string                   // only days on which the account belonged to it; "" = all
}

// Day is a day that cannot be trusted.
type Day struct {
	AccountID int64
	client.UntrustedDay
}

// Find returns the days that cannot be trusted at a moment, in no order.
func Find(ctx context.Context, store Store, s Search, now time.Time) ([]Day, error) {
	if len(s.Accounts) == 0 {
		return nil, nil
	}
	f := &finder{Store: store, Search: s, byID: make(map[int64]*overview.ListedAccount, len(s.Accounts))}
	ids := make([]int64, len(s.Accounts))
	for i := range s.Accounts {
		ids[i] = s.Accounts[i].ID
		f.byID[ids[i]] = &s.Accounts[i]
	}
	for _, find := range []func() error{
		func() error { return f.findStates(ctx, ids) },
		func() error { return f.findDifferences(ctx, ids) },
		func() error { return f.findHoles(ctx, now, ids) },
	} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	return f.days, nil
}

// finder carries out one search.
type finder struct {
	Store
	Search

	byID map[int64]*overview.ListedAccount
	days []Day
}

// findStates finds the days that are suspect or partial in coverage.
func (f *finder) findStates(ctx context.Context, ids []int64) error {
	rows, err := f.UntrustedCoverage(ctx, f.Platform.Name(), ids, f.From, f.To)
	for i := range rows {
		r := &rows[i]
		why := "its pages did not agree"
		if r.State == results.Suspect {
			why = "the answer would have taken away much of what was spent"
		}
		f.add(r.AccountID, r.Day, client.UntrustedDay{
			Report: r.Report, Level: r.Level, State: string(r.State), Why: cmp.Or(r.Note, why),
			PulledAt: r.PulledAt.Time, RunID: textOf(r.RunID),
		})
	}
	return err
}

// findDifferences finds the figures that are not the sums of a level below, a row for each level of a day.
func (f *finder) findDifferences(ctx context.Context, ids []int64) error {
	rows, err := f.OpenDifferences(ctx, ids, f.From, f.To)
	for n := 1; len(rows) > 0; n = 1 {
		first := &rows[0]
		for n < len(rows) && rows[n].AccountID == first.AccountID && rows[n].Day == first.Day &&
			rows[n].Level == first.Level {
			n++
		}
		what := first.Metric + " of the account is"
		if n > 1 {
			what = first.Metric + " and " + plural.Count(n-1, "more figure", "more figures") + " of the account are"
		}
		f.add(first.AccountID, first.Day, client.UntrustedDay{
			Report: "report_daily", Level: first.Level, State: differs,
			Why: what + " not the sum of the level " + first.Level, RunID: textOf(first.PulledAgainRunID),
		})
		rows = rows[n:]
	}
	return err
}

// findHoles finds the days that were never pulled, or were last pulled before they had settled.
func (f *finder) findHoles(ctx context.Context, now time.Time, ids []int64) error {
	// FillAccounts returns only accounts that are pulled. Some of them may not be in the search.
	all, err := f.FillAccounts(ctx, f.Platform.Name(), ids[0]-1, len(ids))
	if err != nil {
		return err
	}
	var pulled []results.FillAccount
	for _, account := range all {
		if f.byID[account.ID] != nil {
			pulled = append(pulled, account)
		}
	}
	holes, err := upkeep.HolesOf(ctx, f, f.Platform, pulled, f.From, f.To, now)
	for i := range holes {
		h := &holes[i]
		row := client.UntrustedDay{Report: h.Report, Level: h.Level, State: missing}
		switch h.State {
		case "":
			row.Why = fmt.Sprintf("it was never pulled, and %s reaches back to it", h.Task)
		case results.Complete:
			row.State, row.Why = early, "it was last pulled before it had settled"
		default:
			continue // findStates has it.
		}
		f.add(h.AccountID, h.Day, row)
	}
	return err
}

// add adds a row of an account's day, unless the account belonged to another game.
func (f *finder) add(accountID int64, d day.Day, row client.UntrustedDay) {
	account := f.byID[accountID]
	if account == nil {
		return
	}
	row.Game = overview.Unassigned
	if b, bound := summaries.BindingOn(account.Bindings, d); bound {
		row.Game = b.Game
	}
	if f.Game != "" && row.Game != f.Game {
		return
	}
	row.Media, row.Account, row.AccountID, row.Day = account.Media, account.ExternalID, textOf(accountID), string(d)
	f.days = append(f.days, Day{accountID, row})
}

// textOf formats an id; "" for 0.
func textOf(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
