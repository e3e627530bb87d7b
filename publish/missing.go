package publish

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/upkeep"
)

// Missing is days of an account that a file lacks.
type Missing struct {
	Media     string  `json:"media"`
	AccountID int64   `json:"account_id"` // adsync's
	Report    string  `json:"report"`
	Level     string  `json:"level"`
	From      day.Day `json:"from"`
	To        day.Day `json:"to"` // included
	Why       string  `json:"why"`
	Parked    bool    `json:"parked,omitempty"` // nothing pulls the account
}

func (m Missing) String() string {
	return fmt.Sprintf("%s of account %d by %s on %s (%s, %s)", m.Report, m.AccountID, m.Level, m.From, m.Media, m.Why)
}

// Why days are missing.
const (
	neverPulled   = "never pulled"
	beforeSettled = "pulled before the day had settled"
	notSummed     = "the summaries do not show the last pull yet"
	notWide       = "wide_daily does not show the last pull yet"
)

// querier is a database, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// accountChunk is how many accounts one statement asks for.
const accountChunk = 1000

// missing returns what is missing, by media, account, report, level and day. With first it returns as soon as it has
// found something that is waited for.
func (n *need) missing(ctx context.Context, q querier, first bool) ([]Missing, error) {
	var all []Missing
	for i := range n.Groups {
		g := &n.Groups[i]
		if first && g.Parked {
			continue
		}
		for ids := range slices.Chunk(g.Accounts, accountChunk) {
			found, err := n.missingOf(ctx, q, g, ids)
			if err != nil {
				return nil, fmt.Errorf("read which figures are whole: %w", err)
			}
			all = append(all, found...)
			if first && len(all) > 0 {
				return all, nil
			}
		}
	}
	slices.SortFunc(all, func(a, b Missing) int {
		return cmp.Or(strings.Compare(a.Media, b.Media), cmp.Compare(a.AccountID, b.AccountID),
			strings.Compare(a.Report, b.Report), strings.Compare(a.Level, b.Level), cmp.Compare(a.From, b.From))
	})
	return joined(all), nil
}

// joined joins neighbouring days of sorted entries.
func joined(all []Missing) []Missing {
	kept := all[:0]
	for _, m := range all {
		if last := len(kept) - 1; last >= 0 {
			next := kept[last]
			next.From, next.To = m.From, m.To
			if next == m && kept[last].To.Add(1) == m.From {
				kept[last].To = m.To
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept
}

// waitedFor returns the entries that are waited for: all but those of parked accounts that are only named.
func waitedFor(all []Missing) []Missing {
	return slices.DeleteFunc(slices.Clone(all), func(m Missing) bool { return m.Parked })
}

// accountDay is a day of an account.
type accountDay struct {
	account int64
	day     day.Day
}

func (n *need) missingOf(ctx context.Context, q querier, g *needGroup, ids []int64) (all []Missing, err error) {
	zone, err := schedule.Zone(g.Zone)
	if err != nil {
		return nil, err
	}
	since := map[day.Day]int64{}
	days := day.Between(g.From, g.To)
	for _, d := range days {
		since[d] = task.FirstRunIDAt(upkeep.SettledAt(d, zone))
	}
	var wide map[accountDay]bool
	if n.Wide {
		if wide, err = unshown(ctx, q, ids, g.From, g.To); err != nil {
			return nil, err
		}
	}
	for _, scope := range g.Scopes {
		known, err := coverage(ctx, q, ids, scope, g.From, g.To)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			for _, d := range days {
				at := accountDay{id, d}
				if why := n.why(known[at], since[d], scope, wide[at]); why != "" {
					all = append(all, Missing{Media: g.Media, AccountID: id, Report: scope.Report, Level: scope.Level, From: d,
						To: d, Why: why, Parked: g.Parked})
				}
			}
		}
	}
	return all, nil
}

// covered is the coverage of an account's day.
type covered struct {
	state results.CoverageState
	run   int64
	dirty bool
}

// why returns why a day is missing; "" if it is not.
func (n *need) why(c covered, since int64, scope upkeep.Scope, unshown bool) string {
	switch {
	case c.state == "":
		return neverPulled
	case c.state != results.Complete:
		return string(c.state)
	case c.run < since:
		return beforeSettled
	case n.Summed && scope.Level == "account" && c.dirty:
		return notSummed
	case n.Wide && unshown:
		return notWide
	}
	return ""
}

func coverage(ctx context.Context, q querier, ids []int64, scope upkeep.Scope, from, to day.Day) (
	map[accountDay]covered, error) {
	rows, err := q.QueryContext(ctx, "SELECT account_id, day, run_id, state, dirty IS NOT NULL FROM coverage"+
		" WHERE account_id IN ("+sqldb.Numbers(ids)+") AND report = ? AND level = ? AND day BETWEEN ? AND ?",
		scope.Report, scope.Level, string(from), string(to))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[accountDay]covered{}
	for rows.Next() {
		var id int64
		var on, state sql.RawBytes
		var c covered
		if err := rows.Scan(&id, &on, &c.run, &state, &c.dirty); err != nil {
			return nil, err
		}
		c.state = results.CoverageState(state)
		all[accountDay{id, day.Day(sqldb.DayIn(on))}] = c
	}
	return all, rows.Err()
}

// unshown returns the days of accounts that wide_daily does not show as they were pulled last.
func unshown(ctx context.Context, q querier, ids []int64, from, to day.Day) (map[accountDay]bool, error) {
	rows, err := q.QueryContext(ctx, "SELECT account_id, day FROM wide_day WHERE account_id IN ("+sqldb.Numbers(ids)+
		") AND day BETWEEN ? AND ? AND dirty IS NOT NULL", string(from), string(to))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[accountDay]bool{}
	for rows.Next() {
		var id int64
		var on sql.RawBytes
		if err := rows.Scan(&id, &on); err != nil {
			return nil, err
		}
		all[accountDay{id, day.Day(sqldb.DayIn(on))}] = true
	}
	return all, rows.Err()
}
