package store

import (
	"context"
	"slices"
)

// OpenSubtasks returns what of a range is open in any of the runs, by account and part; each list is by run.
func (s *Store) OpenSubtasks(ctx context.Context, runIDs []int64, in AccountRange) (map[AccountPart][]OpenSubtask, error) {
	open := map[AccountPart][]OpenSubtask{}
	runIDs = slices.Sorted(slices.Values(runIDs))
	for len(runIDs) > 0 {
		table, n := LogTable(runIDs[0]), 1
		for n < len(runIDs) && sameLogTable(runIDs[n], runIDs[0]) {
			n++
		}
		list, err := s.openSubtasks(ctx, table, "run_id IN ? AND account_id > ? AND account_id <= ? AND state IN "+openStates+" ORDER BY run_id",
			runIDs[:n], in.After, in.Through)
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			p := AccountPart{AccountID: o.AccountID, Part: o.Part}
			open[p] = append(open[p], o)
		}
		runIDs = runIDs[n:]
	}
	return open, nil
}
