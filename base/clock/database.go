package clock

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// renewInterval is how often the database is asked for its time: a drifting process clock loses less than a
	// millisecond in it.
	renewInterval = 10 * time.Second
	readTimeout   = 5 * time.Second
	// slowAnswer is an answer that took so long that its moment is not known well: half of it is what the clock would be
	// wrong by. The old offset is better, for slowAnswersMax.
	slowAnswer     = time.Second
	slowAnswersMax = 10 * time.Minute
	// stepWarning is a change of the offset worth a line in the log: either clock was set.
	stepWarning = time.Second
)

// ReadFunc returns the database's present time.
type ReadFunc func(ctx context.Context) (time.Time, error)

// Database tells the database's time: its offset from this process's monotonic clock, renewed every 10 s. It goes on
// with the last offset while the database does not answer, and never goes back: when the database's time steps back, it
// stands still until that has caught up.
type Database struct {
	read   ReadFunc
	logger *slog.Logger

	mu     sync.Mutex
	base   time.Time // the database's time at the moment that mark is a reading of
	mark   time.Time // its monotonic part alone is used
	latest time.Time // the newest time that was told

	stopOnce sync.Once
	cancel   context.CancelFunc
	done     chan struct{} // nil before Start
}

var _ Clock = (*Database)(nil)

// NewDatabase makes a clock that tells nothing useful before Start.
func NewDatabase(read ReadFunc, logger *slog.Logger) *Database {
	return &Database{read: read, logger: logger, mark: Mark()}
}

// Start reads the time once, and then regularly until Stop.
func (c *Database) Start(ctx context.Context) error {
	if err := c.renew(ctx); err != nil {
		return err
	}
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.done = make(chan struct{})
	go c.run(ctx)
	return nil
}

// Stop ends the renewals; the clock goes on with the last offset.
func (c *Database) Stop() {
	c.stopOnce.Do(func() {
		if c.done != nil {
			c.cancel()
			<-c.done
		}
	})
}

func (c *Database) run(ctx context.Context) {
	defer close(c.done)
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := c.renew(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			c.logger.Warn("cannot read the database's time, going on with the last offset", "err", err)
		}
		failing = err != nil
	}
}

func (c *Database) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	sent := Mark()
	told, err := c.read(ctx)
	if err != nil {
		return fmt.Errorf("read the database's time: %w", err)
	}
	// The database looked at its clock somewhere between the question and the answer.
	took := Since(sent)
	mark := sent.Add(took / 2)

	c.mu.Lock()
	defer c.mu.Unlock()
	if took > slowAnswer && !c.base.IsZero() && sent.Sub(c.mark) < slowAnswersMax {
		return nil
	}
	step := told.Sub(c.base.Add(mark.Sub(c.mark)))
	if !c.base.IsZero() && step.Abs() > stepWarning {
		c.logger.Warn("the database's time and this process's clock moved apart", "step", step)
	}
	c.base, c.mark = told, mark
	return nil
}

// Now implements Clock.
func (c *Database) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.base.Add(Since(c.mark)); now.After(c.latest) {
		c.latest = now
	}
	return c.latest.UTC().Truncate(time.Millisecond)
}

// Until implements Clock.
func (c *Database) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }
