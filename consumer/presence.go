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

// Roster is where a consumer tells that it lives. It is for people: work goes on without.
type Roster interface {
	Tell(ctx context.Context, p roster.Process) error
	Leave(ctx context.Context, id string) error
}

var _ Roster = (*roster.Roster)(nil)

// rosterTimeout bounds each word to the roster.
const rosterTimeout = time.Second

// tellForEver tells the roster what the pools do, and at the end that they do nothing any more.
func (c *Consumer) tellForEver(ctx context.Context) {
	if c.deps.Roster == nil {
		return
	}
	build := telemetry.ReadBuild()
	p := roster.Process{ID: c.claims.node, Node: c.deps.Node, Version: build.Version, Commit: build.Commit,
		StartedAt: c.deps.Clock.Now()}
	for more := true; more; more = pause(ctx, nil, roster.Interval) {
		p.Pools = c.describePools()
		if c.deps.Slow != nil {
			p.Slow = c.deps.Slow()
		}
		c.toRoster(ctx, func(ctx context.Context) error { return c.deps.Roster.Tell(ctx, p) })
	}
	c.toRoster(context.WithoutCancel(ctx), func(ctx context.Context) error { return c.deps.Roster.Leave(ctx, p.ID) })
}

func (c *Consumer) toRoster(ctx context.Context, say func(ctx context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, rosterTimeout)
	defer cancel()
	switch err := say(limited); {
	case err == nil:
		c.causes.Recovered("roster", "this consumer is on the list of those that live again")
	case ctx.Err() == nil: // Else the consumer stops.
		c.causes.Report(slog.LevelWarn, "roster", "cannot tell that this consumer lives; work goes on",
			telemetry.OneCause(err))
	}
}

// describePools tells of the pools that are open, by media and lane.
func (c *Consumer) describePools() []roster.Pool {
	pools := []roster.Pool{}
	for _, p := range c.open() {
		running, capacity := p.slots.state()
		pools = append(pools, roster.Pool{
			Media: p.name.media, Lane: p.name.lane, Running: running, Capacity: capacity, Limited: p.slots.waiting(),
			Partitions: p.given.partitions(), Careful: p.given.count(),
		})
	}
	slices.SortFunc(pools, func(a, b roster.Pool) int {
		return cmp.Or(cmp.Compare(a.Media, b.Media),
			cmp.Compare(a.Lane, b.Lane))
	})
	return pools
}
