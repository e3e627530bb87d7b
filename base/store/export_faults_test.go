package store

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// BreakCommits puts fn in place of every COMMIT on the writer: it is given the real one, and may call it or not before it
// answers. Without a commit the transaction is undone.
func (d *DB) BreakCommits(fn func(commit func() error) error) {
	pool := brokenPool{ConnPool: d.writer.ConnPool, fn: fn}
	d.writer.ConnPool, d.writer.Statement.ConnPool = pool, pool
}

// BreakStatements puts fn in place of every statement that runs outside a transaction on the writer.
func (d *DB) BreakStatements(fn func(exec func() error) error) {
	pool := brokenPool{ConnPool: d.writer.ConnPool, exec: fn}
	d.writer.ConnPool, d.writer.Statement.ConnPool = pool, pool
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

func (t *brokenTx) Rollback() error { return t.ConnPool.(gorm.TxCommitter).Rollback() }
