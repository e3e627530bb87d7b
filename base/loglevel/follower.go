package loglevel

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/service"
	"adsync/base/telemetry"
)

// pollInterval is how often a process reads the order.
const pollInterval = 5 * time.Second

// Follower sets this process's log level to that of the current order, and to the configured one without an order.
type Follower struct {
	orders     *Orders
	role, node string
	level      *slog.LevelVar
	configured slog.Level
	log        *slog.Logger
	until      time.Time // of the current order, on this process's clock: it also ends without Redis

	stopOnce sync.Once
	stop     context.CancelFunc
	done     chan struct{}
}

var _ service.Service = (*Follower)(nil)

// NewFollower returns a Follower of a process with a role and a name. The current value of level is the configured
// one.
func NewFollower(orders *Orders, role, node string, level *slog.LevelVar, logger *slog.Logger) *Follower {
	return &Follower{orders: orders, role: role, node: node, level: level, configured: level.Level(), log: logger}
}

// Start implements service.Service.
func (f *Follower) Start(ctx context.Context) error {
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	f.done = make(chan struct{})
	go func() {
		defer close(f.done)
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			f.poll(ctx)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return nil
}

// Stop implements service.Service.
func (f *Follower) Stop() {
	f.stopOnce.Do(func() {
		if f.stop != nil {
			f.stop()
			<-f.done
		}
	})
}

func (f *Follower) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollInterval)
	defer cancel()
	order, left, err := f.orders.Current(ctx)
	if err != nil {
		// Other parts report that Redis is away. The current order stays in force until its end.
		if clock.Mark().After(f.until) {
			f.set(f.configured, Order{})
		}
		return
	}
	level, err := telemetry.ParseLevel(order.Level)
	if err != nil || left <= 0 || (order.Role != "" && order.Role != f.role) ||
		(order.Node != "" && order.Node != f.node) {
		level, order, left = f.configured, Order{}, 0
	}
	f.until = clock.Mark().Add(left)
	f.set(level, order)
}

func (f *Follower) set(level slog.Level, order Order) {
	if f.level.Level() == level {
		return
	}
	f.level.Set(level)
	// It is logged at a level that shows in any case, because the log should explain why it becomes silent or verbose.
	f.log.Error("log level changed", "to", level.String(), "by", order.By, "configured", f.configured.String())
}
