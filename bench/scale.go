package main

import (
	"context"
	"errors"
	"fmt"
)

// The numbers of consumers and partitions with which throughput is measured.
var (
	scaleConsumers  = []int{1, 2, 4}
	scalePartitions = []int{1, 4, 16, 64}
)

func scaleMeasures() []measure {
	consumers := measure{
		id: "scale-consumers", long: true, durable: allDurable,
		ours: atSize(func(d large, ctx context.Context) (map[string]float64, error) {
			return d.eachOf(ctx, "consumers", scaleConsumers, d.withConsumers)
		}),
	}
	for _, n := range scaleConsumers {
		consumers.figures = append(consumers.figures, figure{fmt.Sprint("consumers-", n), "subtasks/s", true})
	}
	parts := measure{
		id: "scale-partitions", long: true, durable: allDurable,
		ours: atSize(func(d large, ctx context.Context) (map[string]float64, error) {
			return d.eachOf(ctx, "partitions", scalePartitions, d.withPartitions)
		}),
	}
	for _, n := range scalePartitions {
		parts.figures = append(parts.figures, figure{fmt.Sprint("partitions-", n), "subtasks/s", true})
	}
	return []measure{consumers, parts}
}

func (d large) eachOf(ctx context.Context, what string, numbers []int,
	with func(context.Context, string, int) (map[string]float64, error)) (map[string]float64, error) {
	all := map[string]float64{}
	for _, n := range numbers {
		id := fmt.Sprint(what, "-", n)
		values, err := with(ctx, id, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		all[id] = values[id]
	}
	return all, nil
}

// withConsumers measures the throughput with a number of consumers, which share this process and the partitions.
func (d large) withConsumers(ctx context.Context, id string, n int) (map[string]float64, error) {
	defer d.stopConsumer()
	for range n - 1 {
		if err := d.startConsumer(ctx); err != nil {
			return nil, err
		}
	}
	return d.settled(ctx, id)
}

// settled measures the throughput with one more consumer, after all accounts have had a subtask, so that all
// partitions have an owner.
func (d large) settled(ctx context.Context, id string) (map[string]float64, error) {
	if err := d.warmUp(ctx, one, nil); err != nil {
		return nil, err
	}
	return d.workedOff(ctx, id, noop)
}

// withPartitions measures the throughput of a lane with a number of partitions.
func (d large) withPartitions(ctx context.Context, id string, n int) (values map[string]float64, err error) {
	config := d.store.Config.Writer(ctx)
	if err := config.Exec("INSERT INTO lane (media, name, pool_size, partitions) VALUES (?, ?, ?, ?)", platform, id,
		d.o.pool, n).Error; err != nil {
		return nil, err
	}
	defer func() {
		d.stopConsumer()
		ctx := context.WithoutCancel(ctx)
		config := d.store.Config.Writer(ctx)
		err = errors.Join(err, config.Exec("UPDATE cron_task SET lane = ? WHERE id IN ?", lane, d.idsOf(noop, one)).Error,
			config.Exec("DELETE FROM lane WHERE name = ?", id).Error, d.producer.Reload(ctx))
	}()
	if err := config.Exec("UPDATE cron_task SET lane = ? WHERE id IN ?", id, d.idsOf(noop, one)).Error; err != nil {
		return nil, err
	}
	if err := d.producer.Reload(ctx); err != nil {
		return nil, err
	}
	return d.settled(ctx, id)
}
