package sqldb

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"gorm.io/gorm"

	"adsync/base/clock"
)

const (
	// preparedMax is how many statements are kept prepared. Then all are dropped. Those of log tables change each day.
	preparedMax = 64
	// prepareTimeout bounds preparing a statement. No caller waits for it.
	prepareTimeout = 5 * time.Second
)

// prepared holds repeated statements of many rows, prepared on the server: it need not parse their text, and this
// process need not fill in their values.
type prepared struct {
	mu    sync.Mutex
	ready map[string]*sql.Stmt // nil while one is being prepared
}

// get returns a prepared statement, or nil if it is not ready.
func (p *prepared) get(ctx context.Context, pool *sql.DB, text string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, known := p.ready[text]; known {
		return s
	}
	if p.ready == nil || len(p.ready) >= preparedMax {
		p.clear()
		p.ready = map[string]*sql.Stmt{}
	}
	p.ready[text] = nil
	// Not here: preparing takes a connection, and the caller already has one.
	go p.make(context.WithoutCancel(ctx), pool, text, p.ready)
	return nil
}

func (p *prepared) make(ctx context.Context, pool *sql.DB, text string, into map[string]*sql.Stmt) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	s, err := pool.PrepareContext(ctx, text) //nolint:sqlclosecheck // It is kept: clear or the end of the pool closes it.
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		delete(into, text)
		return
	}
	into[text] = s
}

// clear closes all. The caller holds mu.
func (p *prepared) clear() {
	for _, s := range p.ready {
		if s != nil {
			go s.Close() //nolint:errcheck // It waits for its users.
		}
	}
}

// ExecMany runs a statement of many values, and returns how many rows it has changed. It bypasses gorm, which would
// build the text again, placeholder by placeholder. often means that the same text is repeated. Preparing has no
// benefit for a list of values that is a chain of SELECTs.
func (d *DB) ExecMany(tx *gorm.DB, text string, args []any, often bool) (changed int64, err error) {
	ctx, began := tx.Statement.Context, clock.Mark()
	var res sql.Result
	if s := d.prepare(tx, text, often); s != nil { //nolint:sqlclosecheck // It is kept.
		res, err = s.ExecContext(ctx, args...)
	} else {
		res, err = tx.Statement.ConnPool.ExecContext(ctx, text, args...)
	}
	if err == nil {
		changed, err = res.RowsAffected()
	}
	tx.Logger.Trace(ctx, began, func() (string, int64) { return text, changed }, err)
	return changed, err
}

// prepare returns a statement that is prepared for the connection of tx, or nil.
func (d *DB) prepare(tx *gorm.DB, text string, often bool) *sql.Stmt {
	if !often || d.dialect != MySQLDialect {
		return nil
	}
	pool, err := d.writer.DB()
	if err != nil {
		return nil
	}
	s := d.prepared.get(tx.Statement.Context, pool, text)
	if on, inTx := tx.Statement.ConnPool.(*sql.Tx); inTx && s != nil {
		return on.StmtContext(tx.Statement.Context, s)
	}
	return s
}
