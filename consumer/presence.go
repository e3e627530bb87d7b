package consumer

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"adsync/base/roster"
	"adsync/base/telemetry"
)

// Roster lists the live consumers. Only people read it: work continues without it.
type Roster interface {
	Report(ctx context.Context, p roster.Process) error
	Leave(ctx context.Context, id string) error
}

var _ Roster = (*roster.Roster)(nil)

// rosterTimeout bounds each write to the roster.
const rosterTimeout = time.Second

// keepOnRoster writes the state of the pools to the roster until ctx ends, then removes this consumer from it.
func (c *Consumer) keepOnRoster(ctx context.Context) {
	if c.deps.Roster == nil {
		return
	}
	build := telemetry.ReadBuild()
	p := roster.Process{ID: c.claims.node, Node: c.deps.Node, Version: build.Version, Commit: build.Commit,
		StartedAt: c.deps.Clock.Now(), Kinds: c.deps.Registry.Names()}
	for more := true; more; more = pause(ctx, roster.Interval) {
		p.Pools = c.describePools()
		if c.deps.Slow != nil {
			p.Slow = c.deps.Slow()
		}
		c.toRoster(ctx, func(ctx context.Context) error { return c.deps.Roster.Report(ctx, p) })
	}
	c.toRoster(context.WithoutCancel(ctx), func(ctx context.Context) error { return c.deps.Roster.Leave(ctx, p.ID) })
}

func (c *Consumer) toRoster(ctx context.Context, write func(ctx context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, rosterTimeout)
	defer cancel()
	switch err := write(limited); {
	case err == nil:
		c.causes.Recovered("roster", "this consumer is on the roster again")
	case ctx.Err() == nil: // Otherwise the consumer stops.
		c.causes.Report(slog.LevelWarn, "roster", "cannot write to the roster; work continues",
			telemetry.OneCause(err))
	}
}

// describePools returns the open pools, ordered by media and lane.
func (c *Consumer) describePools() []roster.Pool {
	pools := []roster.Pool{}
	for _, p := range c.open() {
		running, capacity := p.slots.state()
		pools = append(pools, roster.Pool{
			Media: p.name.media, Lane: p.name.lane, Running: running, Capacity: capacity, Limited: p.slots.waiting(),
			Partitions: p.assigned.partitions(), Careful: p.assigned.count(),
		})
	}
	slices.SortFunc(pools, func(a, b roster.Pool) int {
		return cmp.Or(cmp.Compare(a.Media, b.Media),
			cmp.Compare(a.Lane, b.Lane))
	})
	return pools
}
