// Package big fills the tables of a MariaDB server with as many rows as a large deployment has, for tests of plans and
// measurements of large tables. The server makes the rows from its sequences and in the order of the primary keys, so
// that a hundred million rows take minutes. Their values are invented; their number, kinds and distribution are
// realistic.
package big

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/engine"
)

const (
	// rowsAtOnce is the number of rows of one statement: a transaction's undo must stay small.
	rowsAtOnce = 1_000_000
	// Tasks is the number of tasks of the runs.
	Tasks = 60
	// Games is the number of games of the accounts.
	Games = 1000
	// filled is the number of figures that a row has: platforms lack the others.
	filled = 9
)

const (
	deadlock     = 1213
	deadlocksMax = 5
)

// Tables fills the tables of a store.
type Tables struct {
	// DB connects to the data database, Config to the config database.
	DB, Config *sql.DB
	// Workers is the number of statements that run at the same time; 0 means 1.
	Workers int
}

// Of returns the tables of a store. Its connections must allow statements that take minutes.
func Of(dataDSN, configDSN string) (*Tables, error) {
	t := &Tables{Workers: 2}
	var err error
	const session = "?time_zone=%27%2B00:00%27&unique_checks=0&foreign_key_checks=0"
	if t.DB, err = sql.Open("mysql", dataDSN+session); err != nil {
		return nil, err
	}
	t.Config, err = sql.Open("mysql", configDSN+session)
	return t, err
}

// Close closes the connections.
func (t *Tables) Close() error {
	if err := t.DB.Close(); err != nil {
		return err
	}
	return t.Config.Close()
}

var names = engine.PlatformNames()

// Media is the platform of every other account, and of all tasks.
var Media = names[0]

// Other is the platform of the other accounts.
var Other = names[len(names)-1]

// media returns the platform of an account.
func media(account string) string {
	return fmt.Sprintf("IF(%s MOD 2 = 1, '%s', '%s')", account, Media, Other)
}

// each runs statements, Workers of them at the same time.
func (t *Tables) each(ctx context.Context, statements []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, t.Workers))
	for _, statement := range statements {
		group.Go(func() error {
			_, err := t.DB.ExecContext(ctx, statement)
			// Statements of neighbouring rows that run at the same time may deadlock.
			for range deadlocksMax {
				if me, ok := errors.AsType[*mysql.MySQLError](err); !ok || me.Number != deadlock {
					break
				}
				_, err = t.DB.ExecContext(ctx, statement)
			}
			if err != nil {
				return fmt.Errorf("%w: %.300s", err, statement)
			}
			return nil
		})
	}
	return group.Wait()
}

// chunks returns a statement for each part of the numbers from 0 to n-1. It replaces SEQ by the table of the part.
func chunks(n int, statement string) []string {
	var all []string
	for from := 0; from < n; from += rowsAtOnce {
		all = append(all, strings.ReplaceAll(statement, "SEQ", fmt.Sprintf("seq_%d_to_%d", from, min(n, from+rowsAtOnce)-1)))
	}
	return all
}

// Accounts makes accounts with the ids 1 to n, each bound to a game for all days.
func (t *Tables) Accounts(ctx context.Context, n int) error {
	statement := fmt.Sprintf(
		"INSERT INTO media_account (id, media, external_id, name, token_id, bound) SELECT seq, %s, 20000000 + seq, "+
			"CONCAT('account ', seq), 1, 1 FROM seq_1_to_%d",
		media("seq"), n)
	if _, err := t.Config.ExecContext(ctx, statement); err != nil {
		return err
	}
	statement = fmt.Sprintf("INSERT INTO account_binding (account_id, from_day, game, os)"+
		" SELECT seq, '1970-01-01', CONCAT('game', seq MOD %d), IF(seq DIV %d MOD 2 = 0, 'ios', 'android') FROM seq_1_to_%d",
		Games, Games, n)
	if _, err := t.Config.ExecContext(ctx, statement); err != nil {
		return err
	}
	return t.each(ctx, []string{fmt.Sprintf("INSERT INTO binding_applied (account_id, from_day, to_day, game, os, noted)"+
		" SELECT seq, '1970-01-01', '9999-12-31', CONCAT('game', seq MOD %d), IF(seq DIV %d MOD 2 = 0, 'ios', 'android'), "+
		"1 FROM seq_1_to_%d", Games, Games, n)})
}

// Log is the work of a UTC day.
type Log struct {
	Day  day.Day
	Rows int
	// RunSize is the number of subtasks of a run, one for each of the first accounts.
	RunSize int
	// Open is the number of runs, the day's last, that have not ended.
	Open int
}

// Runs returns the number of the day's runs.
func (l Log) Runs() int { return max(1, l.Rows/l.RunSize) }

// RunID returns the id of the day's run i.
func (l Log) RunID(i int) int64 {
	return task.FirstRunIDAt(l.Day.Start(time.UTC).Add(time.Duration(i) * l.step()))
}

func (l Log) step() time.Duration {
	return (24 * time.Hour / time.Duration(l.Runs())).Truncate(time.Millisecond)
}

// sqlRunID returns RunID in SQL, of the number that an expression has.
func (l Log) sqlRunID(i string) string {
	return fmt.Sprintf("((%d + (%s) * %d) * 4194304)", l.Day.Start(time.UTC).UnixMilli(), i, l.step().Milliseconds())
}

func (l Log) sqlTime(i string) string {
	return fmt.Sprintf("('%s 00:00:00.000' + INTERVAL (%s) * %d MICROSECOND)", l.Day, i, l.step().Microseconds())
}

// runs makes the day's runs and ticks.
func (l Log) runs() []string {
	runs := l.Runs()
	open := runs - l.Open
	state := fmt.Sprintf("CASE WHEN seq >= %d THEN 'running' WHEN seq MOD 97 = 0 THEN 'failed' ELSE 'partial' END", open)
	statements := chunks(runs,
		"INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state, "+
			"epoch, offsets, total, succeeded, failed,"+
			" created_at, fanned_out_at, ended_at) SELECT "+l.sqlRunID("seq")+
			fmt.Sprintf(", 1 + seq MOD %d, CONCAT('task.', 1 + seq MOD %d), ", Tasks, Tasks)+media("seq")+
			", '"+Media+".report_daily', 'normal', 1, '{\"timezone\":\"UTC\"}', IF(seq MOD 50 = 0, 'order', 'tick'), "+
			l.sqlTime("seq")+", "+state+
			fmt.Sprintf(", 1, '{}', %d, IF(seq >= %d, %d, %d), %d, ", l.RunSize, open, l.RunSize/2, l.RunSize-l.RunSize/deadEach,
				l.RunSize/deadEach)+
			l.sqlTime("seq")+", "+l.sqlTime("seq + 1")+fmt.Sprintf(", IF(seq >= %d, NULL, ", open)+l.sqlTime("seq + 2")+
			") FROM SEQ")
	return append(statements, chunks(runs, "INSERT INTO tick (task_id, planned_at, run_id, made_at) SELECT 1 + seq MOD "+
		fmt.Sprint(Tasks)+", "+l.sqlTime("seq")+", "+
		l.sqlRunID("seq")+", "+l.sqlTime("seq")+" FROM SEQ")...)
}

// deadEach is the distance of the accounts in a run whose subtasks are dead.
const deadEach = 200

// Log makes a day's runs, ticks, and subtasks, also the waiting and the dead ones. The day's log table must exist.
func (t *Tables) Log(ctx context.Context, l Log) error {
	runs := l.Runs()
	open := runs - l.Open
	statements := l.runs()
	size := fmt.Sprint(l.RunSize)
	run, account := "(seq DIV "+size+")", "(1 + seq MOD "+size+")"
	isOpen := fmt.Sprintf("%s >= %d AND %s MOD 2 = 0", run, open, account)
	statements = append(statements, chunks(runs*l.RunSize, "INSERT INTO "+ledger.LogTable(l.RunID(0))+
		" (run_id, account_id, part, state, delivery, attempt, node, created_at, started_at, ended_at, error_class, "+
		"error_text, rows_written, api_calls, batch) SELECT "+
		l.sqlRunID(run)+", "+account+", '"+l.Day.String()+"', CASE WHEN "+isOpen+" THEN ELT(1 + "+account+
		" MOD 3, 'retrying', 'deferred', 'waiting')"+
		fmt.Sprintf(" WHEN %s MOD %d = 7 THEN 'failed' ELSE 'succeeded' END", account, deadEach)+", 1, IF("+isOpen+
		", 1, 0), 'consumer-1', "+
		l.sqlTime(run)+", "+l.sqlTime(run)+", "+l.sqlTime(run)+", '', '', 12, 1, 'c0ffee123456' FROM SEQ")...)
	statements = append(statements, chunks(l.Open*l.RunSize/2,
		fmt.Sprintf(
			"INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt, reason, topic, "+
				"topic_partition, topic_offset)"+
				" SELECT %s, 2 + 2 * (seq MOD %d), '%s', ELT(1 + (2 + 2 * (seq MOD %d)) MOD 3, 'retrying', 'deferred', 'sent'), "+
				"'%s', 'normal', '%s 23:30:00.000' + INTERVAL seq MOD 7200 SECOND, 1, 1, 'the platform is busy',"+
				" IF((2 + 2 * (seq MOD %d)) MOD 3 = 2, 'adsync.%s.normal', ''), seq MOD 6, seq FROM SEQ",
			l.sqlRunID(fmt.Sprintf("%d + seq DIV %d", open, l.RunSize/2)), l.RunSize/2, l.Day, l.RunSize/2, Media, l.Day,
			l.RunSize/2, Media))...)
	each := l.RunSize / deadEach
	return t.each(ctx, append(statements, chunks(runs*each,
		fmt.Sprintf(
			"INSERT INTO subtask_dead (run_id, account_id, part, task_id, media, attempt, error_class, error_print, "+
				"error_text, dead_at)"+
				" SELECT %s, 7 + %d * (seq MOD %d), '%s', 1 + seq DIV %d MOD %d, %s, 5, ELT(1 + seq MOD 3, 'invalid', "+
				"'transient', "+
				"'bug'), CONCAT('code ', seq MOD 211, ': account ? is refused'),"+
				" CONCAT('code ', seq MOD 211, ': account ', 20000000 + seq MOD 40000, ' is refused: trace ', SHA1(seq)), %s FROM "+
				"SEQ",
			l.sqlRunID(fmt.Sprintf("seq DIV %d", each)), deadEach, each, l.Day, each, Tasks,
			media("(seq DIV "+fmt.Sprint(each)+")"), l.sqlTime(fmt.Sprintf("seq DIV %d", each))))...))
}

// Runs makes only runs and ticks, for some days from the log's day on.
func (t *Tables) Runs(ctx context.Context, l Log, days int) error {
	var statements []string
	for range days {
		statements = append(statements, l.runs()...)
		l.Day = l.Day.Add(1)
	}
	return t.each(ctx, statements)
}

// figures returns the columns of the metrics with the values of one row. by is an expression that differs between rows.
func figures(by string) (columns, values string) {
	names := metric.Names()
	var sums []string
	for i := range names[:filled] {
		if i == 0 { // Most spend little.
			sums = append(sums, fmt.Sprintf("POW((%s) MOD 997, 3) DIV 1 * 10", by))
			continue
		}
		sums = append(sums, fmt.Sprintf("((%s) MOD %d)", by, 90_001/i))
	}
	return strings.Join(names[:filled], ", "), strings.Join(sums, ", ")
}
