package results

import (
	"context"
	"fmt"

	"adsync/base/day"
	"adsync/base/plural"
)

// UntrustedCoverage returns the suspect and partial days of accounts of a media, from and to included. The index of
// states has them: it reads no other rows.
func (s Results) UntrustedCoverage(
	ctx context.Context, media string, accountIDs []int64, from, to day.Day,
) ([]Coverage, error) {
	var rows []Coverage
	err := s.Data.Current(ctx).Raw("SELECT account_id, report, level, day, pulled_at, run_id, state, note FROM coverage"+
		s.Data.Dialect().ForceIndex("coverage", "state")+
		" WHERE state IN ? AND media = ? AND day BETWEEN ? AND ? AND account_id IN ?",
		[]CoverageState{Suspect, Partial}, media, from, to, accountIDs).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the untrusted days of %s: %w", plural.Count(len(accountIDs), "account", "accounts"), err)
	}
	return rows, nil
}

// OpenDifferences returns the open differences of days of accounts, from and to included, by account, day, level and
// metric.
func (s Reconciliation) OpenDifferences(
	ctx context.Context, accountIDs []int64, from, to day.Day,
) ([]Difference, error) {
	var rows []Difference
	err := s.Data.Current(ctx).Raw("SELECT * FROM reconciliation"+
		" WHERE account_id IN ? AND day BETWEEN ? AND ? AND state = ? ORDER BY account_id, day, level, metric",
		accountIDs, from, to, DifferenceOpen).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the differences of %s: %w", plural.Count(len(accountIDs), "account", "accounts"), err)
	}
	return rows, nil
}
