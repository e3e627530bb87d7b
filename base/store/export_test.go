package store

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"adsync/base/task"
)

// LookAtDead sets how many dead subtasks a page looks at.
func (s *Store) LookAtDead(n int) { s.Reach.Dead = n }

// Statement is one with what its placeholders stand for.
type Statement struct {
	Query string
	Args  []any
}

// OutcomeSQL returns the statements by which outcomes reach the rows of a run's subtasks, by what they do.
func (d *DB) OutcomeSQL(runID int64, of []task.Key) map[string]Statement {
	var keys [][]any
	outcomes := make([]Outcome, len(of))
	for i, k := range of {
		k.RunID = runID
		keys = append(keys, []any{runID, k.AccountID, k.Part})
		outcomes[i] = Outcome{Key: k, Delivery: 1, State: task.Succeeded, Rows: i}
	}
	var update, read, gone Statement
	gone.Query, gone.Args = d.deleteSQL(dueTable.Name, subtaskKey, keys)
	update.Query, update.Args = d.updateSQL(subtaskUpdate(LogTable(runID), "t.state = 'waiting'"), d.outcomeValues("x", outcomes))
	read.Query, read.Args = d.lookUpKeys(LogTable(runID), subtaskKey, d.keyValues(len(of), func(i int) task.Key { return outcomes[i].Key }))
	read.Query = "SELECT t.delivery FROM " + read.Query + " WHERE t.batch = 'x'"
	return map[string]Statement{
		"update the subtasks": update, "read the changed ones": read,
		"delete what is not due": gone,
	}
}

// WithoutJSON has lists of values be what they are on servers that do not read JSON.
func (d *DB) WithoutJSON() {
	if d.server != nil {
		d.server.json.Store(new(bool))
	}
}

// QueuedSQL returns the statement that finds what is queued behind n subtasks.
func (d *DB) QueuedSQL(n int) string { return d.queuedSQL(n) }

// FanOutSQLs returns the statements by what they find.
func FanOutSQLs(f FanOuts, taskID int64, limit int) map[string]Statement {
	all := map[string]Statement{}
	for name, q := range map[string]*runQuery{"ticks": f.ticks(limit), "orders": f.orders(limit), "next": nextTick(taskID, f.PausedRuns)} {
		all[name] = Statement{"SELECT " + runColumns + " FROM run " + strings.Join(q.text, " "), q.args}
	}
	return all
}

// Statements returns how many statements fn has the database run, without those that begin and end transactions.
func (d *DB) Statements(fn func()) int {
	counter := &statementCounter{Interface: d.writer.Logger}
	d.writer.Logger = counter
	defer func() { d.writer.Logger = counter.Interface }()
	fn()
	return int(counter.n.Load())
}

type statementCounter struct {
	logger.Interface
	n atomic.Int64
}

func (c *statementCounter) Trace(context.Context, time.Time, func() (string, int64), error) {
	c.n.Add(1)
}

// Ran is a statement that a database was given, with the values in it.
type Ran struct {
	DB   *DB
	Text string
}

// Captured returns the statements that fn has both databases run.
func (s *Store) Captured(fn func()) []Ran {
	c := &capture{}
	for _, d := range []*DB{s.Config, s.Data} {
		was := d.writer.Logger
		defer func() { d.writer.Logger = was }()
		d.writer.Logger = capturing{Interface: was, db: d, into: c}
	}
	fn()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

type capture struct {
	mu  sync.Mutex
	all []Ran
}

// capturing is no gorm.ParamsFilter, unlike the one in whose place it stands: it is given the values.
type capturing struct {
	logger.Interface
	db   *DB
	into *capture
}

func (c capturing) Trace(_ context.Context, _ time.Time, text func() (string, int64), _ error) {
	statement, _ := text()
	c.into.mu.Lock()
	defer c.into.mu.Unlock()
	c.into.all = append(c.into.all, Ran{c.db, statement})
}

// BeforeRows has fn see each query before it reads its rows.
func (d *DB) BeforeRows(fn func(query string)) {
	for _, db := range append([]*gorm.DB{d.writer}, d.readers...) {
		err := db.Callback().Row().Before("gorm:row").Register("before_rows", func(db *gorm.DB) { fn(db.Statement.SQL.String()) })
		if err != nil {
			panic(err)
		}
	}
}

// SortByKey sorts rows as an upsert does.
func SortByKey(rows [][]any, width int) { sortByKey(rows, width) }

// Watched returns the columns of a table that operators own whose changes audit_log tells, with those that name its rows.
func Watched(table string) []string {
	t := owned(table)
	all := slices.Clone(t.columns)
	for _, column := range t.key {
		if !slices.Contains(all, column) && column != "id" {
			all = append(all, column)
		}
	}
	return all
}

// SetReach has lists look at few rows a page.
func (s *Store) SetReach(rows, runs int) { s.Reach.Rows, s.Reach.Runs = rows, runs }

// SuspectsOfStoppedAccounts judges the answers of accounts that spent on the day before and have no rows since, whatever was asked of them first, and
// counts those that are suspect or contradict others.
func SuspectsOfStoppedAccounts(accounts int) int {
	levels := []ReportLevel{{"report_daily", "account"}, {"report_hourly", "account"}, {"report_daily", "adgroup"}, {"fund_daily", "account"}}
	now := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	n := 0
	for range accounts {
		var others []figure
		for _, l := range levels {
			a := answer{ReportLevel: l, day: "2026-11-21", runID: task.NewRunID(now)}
			if v := a.judge(&Comparing{Now: now, Zone: time.UTC, With: levels}, others); v.suspect != "" || len(v.doubts) > 0 {
				n++
			}
			others = append(others, figure{ReportLevel: l, coverage: Coverage{State: Complete, CompleteVersion: 1, RunID: a.runID, AnswerCost: new(int64), AnswerRun: a.runID}})
		}
	}
	return n
}

// SignAssets brings the signatures of all that an account's creatives show to those of the library, or of assets alone.
func (d *DB) SignAssets(ctx context.Context, accountID int64, kind, table string, assets ...string) error {
	return d.signAssets(d.Writer(ctx), accountID, kind, table, toSign{column: "asset_id", ids: assets, all: len(assets) == 0})
}
