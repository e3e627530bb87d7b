package sqldb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"adsync/base/clock"
)

// slowThreshold is the duration from which the log names a statement. It does not apply to SQLite, whose statements
// also wait for the one writer.
const slowThreshold = 500 * time.Millisecond

// sqlTextMax is where a statement is cut in the log: the rest of a batch of a thousand rows is similar.
const sqlTextMax = 240

// On a slow server every statement is slow: per slowWindow at most slowLines are logged.
const (
	slowWindow = time.Minute
	slowLines  = 5
)

// sqlLog logs failed and slow statements, without their values: some of them are tokens.
type sqlLog struct {
	log    *slog.Logger
	slow   time.Duration // 0 means never
	budget *lineBudget
}

// lineBudget counts the lines of a window.
type lineBudget struct {
	mu      sync.Mutex
	since   time.Time
	lines   int
	leftOut int
}

// take reports whether another line may be written, and how many were left out before it.
func (b *lineBudget) take() (leftOut int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if clock.Since(b.since) > slowWindow {
		b.since, b.lines = clock.Mark(), 0
	}
	if b.lines++; b.lines > slowLines {
		b.leftOut++
		return 0, false
	}
	leftOut, b.leftOut = b.leftOut, 0
	return leftOut, true
}

var (
	_ logger.Interface  = sqlLog{}
	_ gorm.ParamsFilter = sqlLog{}
)

// LogMode implements logger.Interface; the level is the slog logger's.
func (l sqlLog) LogMode(logger.LogLevel) logger.Interface { return l }

// Info implements logger.Interface.
func (l sqlLog) Info(ctx context.Context, text string, args ...any) {
	l.log.DebugContext(ctx, "gorm reports", "text", fmt.Sprintf(text, args...))
}

// Warn implements logger.Interface.
func (l sqlLog) Warn(ctx context.Context, text string, args ...any) {
	l.log.WarnContext(ctx, "gorm warns", "text", fmt.Sprintf(text, args...))
}

// Error implements logger.Interface. The error is returned to the caller, which logs or handles it.
func (l sqlLog) Error(ctx context.Context, text string, args ...any) {
	l.log.DebugContext(ctx, "gorm reports", "text", fmt.Sprintf(text, args...))
}

// ParamsFilter implements gorm.ParamsFilter: values never reach a log.
func (l sqlLog) ParamsFilter(_ context.Context, sql string, _ ...any) (string, []any) {
	return sql, nil
}

// Trace implements logger.Interface.
func (l sqlLog) Trace(ctx context.Context, begin time.Time, fc func() (sql string, rows int64), err error) {
	took := clock.Since(begin)
	failed := err != nil && !errors.Is(err, gorm.ErrRecordNotFound)
	slow := l.slow > 0 && took > l.slow
	if !failed && !slow {
		return
	}
	if failed {
		// The caller of the statement gets the error, and logs or handles it.
		if l.log.Enabled(ctx, slog.LevelDebug) {
			sql, rows := fc()
			l.log.DebugContext(ctx, "failed SQL statement", "duration", took.Round(time.Millisecond), "rows", rows, "sql",
				Cut(sql, sqlTextMax), "err", err)
		}
		return
	}
	if leftOut, ok := l.budget.take(); ok {
		sql, rows := fc()
		l.log.WarnContext(ctx, "slow SQL statement", "duration", took.Round(time.Millisecond), "rows", rows, "sql",
			Cut(sql, sqlTextMax), "lines_left_out", leftOut)
	}
}
