package main

import (
	"context"
	"fmt"
)

// pullSize is how large accounts are, and which report of theirs is pulled.
type pullSize struct {
	rows   int    // of a pull, about; they are measured too
	ads    int    // that each account runs; 0 is a mix
	level  string // of the report
	object string // the level in the simulator's truth
	most   int    // accounts that are pulled; 0 is all
}

// mixed are accounts as there are: some have no ads, a few have many.
var mixed = pullSize{level: "adgroup", object: "ad"}

// pullSizes are those of pulls whose accounts are all alike.
var pullSizes = []pullSize{
	{rows: 5, ads: 5, level: "adgroup", object: "ad"},
	{rows: 50, ads: 50, level: "adgroup", object: "ad", most: 2000},
	{rows: 500, ads: 187, level: "creative", object: "creative", most: 200},
}

// The phases of a measure: the accounts are pulled three times.
const (
	first     = "first"
	unchanged = "unchanged"
	changed   = "changed" // one row in ten has other figures
)

var pullPhases = []string{first, unchanged, changed}

// pullLatency is how much later the platform answers, in milliseconds.
const pullLatency = 50

func (s pullSize) id() string { return fmt.Sprint("pull-", s.rows) }

func (s pullSize) figure(phase string) string { return s.id() + "-" + phase }

// pullMeasures are pulls as a deployment has them, of each size: first ones, and the same ones again.
func pullMeasures() []measure {
	var all []measure
	for _, size := range pullSizes {
		m := measure{
			id: size.id(), peers: []string{dlt},
			durable:      allDurable + ", raw and public rows with fence and coverage",
			peersDurable: "one row in MariaDB (a sync a commit)",
			ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
				return pullsOf(ctx, d, size)
			},
			sideBySide: map[string]take{dlt: func(d *deployment, ctx context.Context) (map[string]float64, error) {
				return pullsByDlt(ctx, d, size)
			}},
		}
		for _, phase := range pullPhases {
			id := size.figure(phase)
			m.figures = append(m.figures, figure{id, "pulls/s", true}, figure{id + "-rows", "rows/pull", true})
			m.figures = append(m.figures, budget(id, simulatorName)...)
		}
		all = append(all, m)
	}
	return all
}

// pullsOf measures all phases.
func pullsOf(ctx context.Context, d *deployment, size pullSize) (map[string]float64, error) {
	b, err := newPullBench(ctx, d, size, pullLatency)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	return values, b.run(ctx, func() error {
		return b.phases(ctx, func(id string) error { return b.pull(ctx, values, id) })
	})
}

// phases runs a measure of each phase, with the id of its figure.
func (b *pullBench) phases(ctx context.Context, measure func(id string) error) error {
	for _, phase := range pullPhases {
		if phase == changed {
			if err := b.d.world.changeSome(ctx, b.pulledDay); err != nil {
				return err
			}
		}
		if err := measure(b.size.figure(phase)); err != nil {
			return fmt.Errorf("%s: %w", phase, err)
		}
	}
	return nil
}
