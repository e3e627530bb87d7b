package clock

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// renewInterval is how often the time is read from the database. A process clock drifts by less than a millisecond
	// in it.
	renewInterval = 10 * time.Second
	readTimeout   = 5 * time.Second
	// slowAnswer is the duration from which an answer is too slow: half of it is the possible error of the clock. For up
	// to slowAnswersMax such answers the old offset is better.
	slowAnswer     = time.Second
	slowAnswersMax = 10 * time.Minute
	// stepWarning is the change of the offset from which it is logged: one of the clocks was set.
	stepWarning = time.Second
)

// ReadFunc returns the database's current time.
type ReadFunc func(ctx context.Context) (time.Time, error)

// Database provides the database's time: its offset from this process's monotonic clock, renewed every 10 s. It keeps
// the last offset while the database does not answer, and never goes back: if the database's time steps back, it
// stands still until that time has caught up.
type Database struct {
	read   ReadFunc
	logger *slog.Logger

	mu     sync.Mutex
	base   time.Time // the database's time at mark
	mark   time.Time // only its monotonic part is used
	latest time.Time // the newest returned time

	stopOnce sync.Once
	cancel   context.CancelFunc
	done     chan struct{} // nil before Start
}

var _ Clock = (*Database)(nil)

// NewDatabase returns a clock that is not usable before Start.
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

// Stop ends the renewals. The clock keeps the last offset.
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
			c.logger.Warn("cannot read the database's time, keeping the last offset", "err", err)
		}
		failing = err != nil
	}
}

func (c *Database) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	sent := Mark()
	shown, err := c.read(ctx)
	if err != nil {
		return fmt.Errorf("read the database's time: %w", err)
	}
	// The database read its clock at some time between the request and the answer.
	took := Since(sent)
	mark := sent.Add(took / 2)

	c.mu.Lock()
	defer c.mu.Unlock()
	if took > slowAnswer && !c.base.IsZero() && sent.Sub(c.mark) < slowAnswersMax {
		return nil
	}
	step := shown.Sub(c.base.Add(mark.Sub(c.mark)))
	if !c.base.IsZero() && step.Abs() > stepWarning {
		c.logger.Warn("the offset between the database's time and this clock has changed", "step", step)
	}
	c.base, c.mark = shown, mark
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
