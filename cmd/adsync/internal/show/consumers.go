package show

import (
	"fmt"
	"io"
	"slices"

	"adsync/client"
)

// pool is a pool of a consumer.
type pool struct {
	of    *client.Consumer
	first bool // of those of the consumer
	client.ConsumerPool
}

// Consumers prints the running consumers, with a row for each of their pools.
func Consumers(w io.Writer, a *client.ConsumerList) error {
	if len(a.Consumers) == 0 {
		_, err := fmt.Fprintln(w, "No consumer is running: nothing is pulled. Start one: adsync serve --role=consumer")
		return err
	}
	var rows []pool
	for i := range a.Consumers {
		c := &a.Consumers[i]
		if len(c.Pools) == 0 {
			rows = append(rows, pool{of: c, first: true})
		}
		for k, p := range c.Pools {
			rows = append(rows, pool{of: c, first: k == 0, ConsumerPool: p})
		}
	}
	return pools.print(w, rows)
}

var pools = slices.Concat(
	columns[pool]{
		{"CONSUMER", func(p *pool) any { return p.of.ID }},
		{"VERSION", func(p *pool) any { return p.of.Version }},
		{"STARTED", func(p *pool) any { return p.of.StartedAt }},
		{"REPORTED", func(p *pool) any { return fmt.Sprintf("%.0fs ago", p.of.AgeSeconds) }},
	}.blankIf(func(p *pool) bool { return !p.first }),
	columns[pool]{
		{"MEDIA", func(p *pool) any { return p.Media }},
		{"LANE", func(p *pool) any { return p.Lane }},
		{"RUNNING", func(p *pool) any { return p.Running }},
		{"PLACES", func(p *pool) any { return p.Capacity }},
		{"WAIT FOR A LIMIT", func(p *pool) any { return p.Limited }},
		{"PARTITIONS", func(p *pool) any { return len(p.Partitions) }},
		{"ONE BY ONE", func(p *pool) any { return p.Careful }},
	},
)
