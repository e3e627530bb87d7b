package ledger

import (
	"context"
	"maps"
	"slices"
)

// OpenSubtasks returns the open subtasks of a range in any of the runs, by account and part; each list is sorted by
// run.
func (s Queue) OpenSubtasks(
	ctx context.Context, runIDs []int64, in AccountRange,
) (map[AccountPart][]OpenSubtask, error) {
	return s.openIn(ctx, runIDs, "account_id > ? AND account_id <= ?", in.After, in.Through)
}

const (
	// sparse is from how many ids per account it is faster to look up each account than to read the whole range.
	sparse = 4
	// lookUpsMax is how many accounts times runs a statement looks up: for many more a server would read its table
	// whole.
	lookUpsMax = 2000
)

// OpenSubtasksOfAccounts is OpenSubtasks for some accounts, given by id. Where their ids lie close together it
// returns the subtasks of the accounts between them too.
func (s Queue) OpenSubtasksOfAccounts(
	ctx context.Context, runIDs, accountIDs []int64,
) (map[AccountPart][]OpenSubtask, error) {
	if len(runIDs) == 0 || len(accountIDs) == 0 {
		return nil, nil
	}
	first, last := accountIDs[0], accountIDs[len(accountIDs)-1]
	if last-first < sparse*int64(len(accountIDs)) {
		return s.OpenSubtasks(ctx, runIDs, AccountRange{After: first - 1, Through: last})
	}
	open := map[AccountPart][]OpenSubtask{}
	for some := range slices.Chunk(accountIDs, max(1, lookUpsMax/len(runIDs))) {
		found, err := s.openIn(ctx, runIDs, "account_id IN ?", some)
		if err != nil {
			return nil, err
		}
		maps.Copy(open, found)
	}
	return open, nil
}

// openIn returns the open subtasks in any of the runs, of the accounts that a condition chooses.
func (s Queue) openIn(
	ctx context.Context, runIDs []int64, accounts string, args ...any,
) (map[AccountPart][]OpenSubtask, error) {
	open := map[AccountPart][]OpenSubtask{}
	runIDs = slices.Sorted(slices.Values(runIDs))
	for len(runIDs) > 0 {
		table, n := LogTable(runIDs[0]), 1
		for n < len(runIDs) && sameLogTable(runIDs[n], runIDs[0]) {
			n++
		}
		list, err := openSubtasks(ctx, s.Databases, table, "run_id IN ? AND "+accounts+" AND state IN "+openStates+
			" ORDER BY run_id", append([]any{runIDs[:n]}, args...)...)
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
