// Package sqldbtest lets tests observe and break the statements of a database.
package sqldbtest

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"adsync/base/sqldb"
)

// BreakCommits replaces every COMMIT on the writer by fn. fn gets the real one, and may call it or not before it
// returns. Without a commit the transaction is undone.
func BreakCommits(d *sqldb.DB, fn func(commit func() error) error) {
	setPool(d, func(inner gorm.ConnPool) gorm.ConnPool { return brokenPool{ConnPool: inner, fn: fn} })
}

// BreakStatements replaces every statement outside a transaction on the writer by fn.
func BreakStatements(d *sqldb.DB, fn func(exec func() error) error) {
	setPool(d, func(inner gorm.ConnPool) gorm.ConnPool { return brokenPool{ConnPool: inner, exec: fn} })
}

func setPool(d *sqldb.DB, wrap func(gorm.ConnPool) gorm.ConnPool) {
	for _, writer := range d.Writers() {
		pool := wrap(writer.ConnPool)
		writer.ConnPool, writer.Statement.ConnPool = pool, pool
	}
}

type brokenPool struct {
	gorm.ConnPool
	fn   func(commit func() error) error
	exec func(exec func() error) error
}

// GetDBConn implements gorm.GetDBConnector.
func (p brokenPool) GetDBConn() (*sql.DB, error) {
	if inner, ok := p.ConnPool.(gorm.GetDBConnector); ok {
		return inner.GetDBConn()
	}
	return p.ConnPool.(*sql.DB), nil
}

// ExecContext implements gorm.ConnPool.
func (p brokenPool) ExecContext(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	if p.exec == nil {
		return p.ConnPool.ExecContext(ctx, query, args...)
	}
	err = p.exec(func() error {
		var err error
		res, err = p.ConnPool.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

// BeginTx implements gorm.ConnPoolBeginner.
func (p brokenPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	var tx gorm.ConnPool
	var err error
	switch inner := p.ConnPool.(type) {
	case gorm.ConnPoolBeginner:
		tx, err = inner.BeginTx(ctx, opts)
	case gorm.TxBeginner:
		tx, err = inner.BeginTx(ctx, opts)
	}
	if err != nil || p.fn == nil {
		return tx, err
	}
	return &brokenTx{ConnPool: tx, fn: p.fn}, nil
}

type brokenTx struct {
	gorm.ConnPool
	fn func(commit func() error) error
}

// Commit implements gorm.TxCommitter.
func (t *brokenTx) Commit() error {
	committer := t.ConnPool.(gorm.TxCommitter)
	done := false
	err := t.fn(func() error {
		done = true
		return committer.Commit()
	})
	if !done {
		_ = committer.Rollback()
	}
	return err
}

// Rollback implements gorm.TxCommitter.
func (t *brokenTx) Rollback() error { return t.ConnPool.(gorm.TxCommitter).Rollback() }

// Statements returns how many statements the database runs in fn, without those that begin and end transactions.
func Statements(d *sqldb.DB, fn func()) int {
	var n atomic.Int64
	for _, handle := range d.Handles() {
		was := handle.Logger
		defer func() { handle.Logger = was }()
		handle.Logger = &statementCounter{Interface: was, n: &n}
	}
	fn()
	return int(n.Load())
}

type statementCounter struct {
	logger.Interface
	n *atomic.Int64
}

// Trace implements logger.Interface.
func (c *statementCounter) Trace(context.Context, time.Time, func() (string, int64), error) {
	c.n.Add(1)
}

// Ran is a statement that a database received, with its values.
type Ran struct {
	DB   *sqldb.DB
	Text string
}

// Captured returns the statements that both databases' handles run in fn.
func Captured(s *sqldb.Databases, fn func()) []Ran {
	c := &capture{}
	for _, d := range []*sqldb.DB{s.Config, s.Data} {
		for _, handle := range d.Handles() {
			was := handle.Logger
			defer func() { handle.Logger = was }()
			handle.Logger = capturing{Interface: was, db: d, into: c}
		}
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

// capturing is no gorm.ParamsFilter, unlike the logger that it replaces: it receives the values.
type capturing struct {
	logger.Interface
	db   *sqldb.DB
	into *capture
}

// Trace implements logger.Interface.
func (c capturing) Trace(_ context.Context, _ time.Time, text func() (string, int64), _ error) {
	statement, _ := text()
	c.into.mu.Lock()
	defer c.into.mu.Unlock()
	c.into.all = append(c.into.all, Ran{c.db, statement})
}

// BeforeRows calls fn with each query before its rows are read.
func BeforeRows(d *sqldb.DB, fn func(query string)) {
	for _, db := range d.Handles() {
		err := db.Callback().Row().Before("gorm:row").Register("before_rows",
			func(db *gorm.DB) { fn(db.Statement.SQL.String()) })
		if err != nil {
			panic(err)
		}
	}
}
