package big

import (
	"context"
	"fmt"
	"time"

	"adsync/base/day"
)

// Rest makes n rows of each of the other tables that grow: changes of configuration, differences, holes, tombstones,
// orders that stop work.
func (t *Tables) Rest(ctx context.Context, accounts, n int, d day.Day) error {
	account := fmt.Sprintf("(1 + seq DIV %d)", max(1, n/accounts))
	micros := fmt.Sprintf("(%d + seq)", d.Start(time.UTC).UnixMicro())
	var statements []string
	for _, s := range []string{
		"INSERT INTO config_change (account_id, version, level, object_id, field, before_value, after_value, seen_at) " +
			"SELECT " + account + ", " + micros +
			", 'adgroup', seq, 'daily_budget', '100', '200', '" + d.String() + "' + INTERVAL seq SECOND FROM SEQ",
		"INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value, first_seen_at, " +
			"last_seen_at, state) SELECT " + account + ", '" + d.String() +
			"' - INTERVAL seq MOD 8 DAY, 'adgroup', CONCAT('m', seq MOD 100000), " + media(account) + ", 2, 1, '" + d.String() +
			"', '" + d.String() + "' - INTERVAL seq MOD 100000 SECOND, IF(seq MOD 100 = 0, 'open', 'fixed') FROM SEQ",
		"INSERT INTO hole (account_id, report, level, day, ordered_at, run_id, tries) SELECT seq, 'report_daily', " +
			"'account', '" + d.String() + "', '" + d.String() + "' - INTERVAL seq MOD 500000 SECOND, 1, 1 FROM SEQ",
		"INSERT INTO report_tombstone (table_name, day, account_id, level, object_id, version, deleted_at) SELECT " +
			"'report_daily', '" + d.String() + "', " + account + ", 'creative', seq, 1, '" + d.String() +
			"' - INTERVAL seq MOD 500000 SECOND FROM SEQ",
		"INSERT INTO stop_order (id, verb, kind, target, target_name, reason, ordered_by, ordered_at, state) SELECT 1 + " +
			"seq, IF(seq MOD 2 = 0, 'pause', 'cancel'), 'account', seq, seq, 'a test', 'otto', '" +
			d.String() + "', IF(seq MOD 1000 = 0, 'active', 'ended') FROM SEQ",
		"INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at, taken) SELECT 1 + seq, 1, '{}', " +
			"'otto', '" + d.String() + "', IF(seq MOD 1000 = 0, 0, 1) FROM SEQ",
		"INSERT INTO object_name (account_id, level, object_id, since, name) SELECT " + account + ", 'adgroup', seq, '" +
			d.String() + "', 'a name' FROM SEQ",
	} {
		statements = append(statements, chunks(n, s)...)
	}
	return t.each(ctx, statements)
}

// Analyze makes the server update the tables' statistics, as it does automatically when they have grown.
func (t *Tables) Analyze(ctx context.Context) error {
	rows, err := t.DB.QueryContext(ctx,
		"SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' "+
			"AND table_rows > 1000")
	if err != nil {
		return err
	}
	defer rows.Close()
	var statements []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		statements = append(statements, "ANALYZE TABLE "+name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return t.each(ctx, statements)
}
