package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"adsync/base/sqldb"
)

// RunCalls is a run, with the number of API calls that the deliveries of its subtasks made.
type RunCalls struct {
	RunID int64
	Task  string
	Media string
	Lane  string
	Total int64 // how many subtasks; 0 until the fan-out has ended
	Calls int64
}

// CallsOfRuns returns the runs that made calls and whose ids are not below from, by id.
func (s RunRows) CallsOfRuns(ctx context.Context, from int64) ([]RunCalls, error) {
	query := s.Data.Reader(ctx).Raw("SELECT id, task_name, media, lane, COALESCE(total, 0), api_calls FROM run"+
		" WHERE id >= ? AND api_calls > 0 ORDER BY id", from)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, r *RunCalls) error {
		return rows.Scan(&r.RunID, &r.Task, &r.Media, &r.Lane, &r.Total, &r.Calls)
	})
	if err != nil {
		return nil, fmt.Errorf("read the calls of runs: %w", err)
	}
	return all, nil
}

// AccountCalls is the number of API calls that were made for an account.
type AccountCalls struct {
	AccountID int64
	Calls     int64
}

// CallsOfAccounts sums the calls of runs by account. The runs must be of one UTC day. Subtasks without an account are
// left out. It reads a row for each subtask of the runs. It returns nothing if the day's table was dropped.
func (s RunRows) CallsOfAccounts(ctx context.Context, runIDs []int64) ([]AccountCalls, error) {
	if len(runIDs) == 0 {
		return nil, nil
	}
	var all []AccountCalls
	err := s.Data.Reader(ctx).Raw("SELECT account_id, CAST(SUM(api_calls) AS SIGNED) AS calls FROM "+LogTable(runIDs[0])+
		" WHERE run_id IN ? AND account_id > 0 GROUP BY account_id HAVING SUM(api_calls) > 0", runIDs).Scan(&all).Error
	if err != nil && !MissingTable(err) {
		return nil, fmt.Errorf("sum the calls of accounts: %w", err)
	}
	return all, nil
}
