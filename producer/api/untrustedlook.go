package api

import (
	"cmp"
	"context"
	"fmt"
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

// untrustedLook looks at some accounts of one platform.
type untrustedLook struct {
	untrustedStore

	platform media.Platform
	from, to day.Day
	game     string // only days on which the account belonged to it; "" = all
	accounts []overview.ListedAccount
	byID     map[int64]*overview.ListedAccount
	rows     []untrustedDay
}

// find returns the days that cannot be trusted, in no order.
func (l *untrustedLook) find(ctx context.Context, now time.Time) ([]untrustedDay, error) {
	if len(l.accounts) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(l.accounts))
	l.byID = make(map[int64]*overview.ListedAccount, len(l.accounts))
	for i := range l.accounts {
		ids[i] = l.accounts[i].ID
		l.byID[ids[i]] = &l.accounts[i]
	}
	for _, look := range []func() error{
		func() error { return l.findStates(ctx, ids) },
		func() error { return l.findDifferences(ctx, ids) },
		func() error { return l.findHoles(ctx, now, ids) },
	} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return l.rows, nil
}

// findStates finds what coverage calls suspect or partial.
func (l *untrustedLook) findStates(ctx context.Context, ids []int64) error {
	rows, err := l.UntrustedCoverage(ctx, l.platform.Name(), ids, l.from, l.to)
	for i := range rows {
		r := &rows[i]
		why := "its pages did not agree"
		if r.State == results.Suspect {
			why = "the answer would have taken away much of what was spent"
		}
		l.add(r.AccountID, r.Day, client.UntrustedDay{
			Report: r.Report, Level: r.Level, State: string(r.State), Why: cmp.Or(r.Note, why),
			PulledAt: r.PulledAt.Time, RunID: idOrNone(r.RunID),
		})
	}
	return err
}

// findDifferences finds the figures that are not the sums of a level below, a row for each level of a day.
func (l *untrustedLook) findDifferences(ctx context.Context, ids []int64) error {
	rows, err := l.OpenDifferences(ctx, ids, l.from, l.to)
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
		l.add(first.AccountID, first.Day, client.UntrustedDay{
			Report: "report_daily", Level: first.Level, State: stateDiffers,
			Why: what + " not the sum of the level " + first.Level, RunID: idOrNone(first.PulledAgainRunID),
		})
		rows = rows[n:]
	}
	return err
}

// findHoles finds the days that were never pulled, or not since they had settled.
func (l *untrustedLook) findHoles(ctx context.Context, now time.Time, ids []int64) error {
	// Of the accounts, those that are pulled: they are by id.
	all, err := l.FillAccounts(ctx, l.platform.Name(), ids[0]-1, len(ids))
	if err != nil {
		return err
	}
	var pulled []results.FillAccount
	for _, account := range all {
		if l.byID[account.ID] != nil {
			pulled = append(pulled, account)
		}
	}
	holes, err := upkeep.HolesOf(ctx, l, l.platform, pulled, l.from, l.to, now)
	for i := range holes {
		h := &holes[i]
		row := client.UntrustedDay{Report: h.Report, Level: h.Level, State: stateMissing}
		switch h.State {
		case "":
			row.Why = fmt.Sprintf("it was never pulled, and %s reaches back to it", h.Task)
		case results.Complete:
			row.State, row.Why = stateEarly, "it was last pulled before it had settled"
		default:
			continue // findStates has it.
		}
		l.add(h.AccountID, h.Day, row)
	}
	return err
}

// add adds a row of an account's day, unless the account belonged to another game.
func (l *untrustedLook) add(accountID int64, d day.Day, row client.UntrustedDay) {
	account := l.byID[accountID]
	if account == nil {
		return
	}
	row.Game = overview.Unassigned
	if b, bound := summaries.BindingOn(account.Bindings, d); bound {
		row.Game = b.Game
	}
	if l.game != "" && row.Game != l.game {
		return
	}
	row.Media, row.Account, row.AccountID, row.Day = account.Media, account.ExternalID, formatID(accountID), string(d)
	place := untrustedPage{Account: accountID, Day: d, Report: row.Report, Level: row.Level, State: row.State}
	l.rows = append(l.rows, untrustedDay{place, row})
}
