package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/simulator"
)

// fullTask is the full path: an account's ad groups of yesterday, a page of a real platform's wire format, into raw
// and public rows with their coverage. The platform is the first of the list.
var (
	fullPlatform = simulator.First().Spec()
	fullTask     = fullPlatform.Name + ".report_daily"
	fullRaw      = fullPlatform.Name + "_report_daily"
)

const (
	fullParams = `{"level":"adgroup","days":2,"skip":1}`
	// fullPart is the share of the accounts that have such a pull: with all of them a round at 1,000 ms would take
	// minutes.
	fullPart = 8
	// slots is the peer of the full path: the most that the lane's pool could do, its slots divided by the latency of a
	// call.
	slots = "slots/latency"
)

// fullLatencies are those of the simulated platform, in milliseconds.
var fullLatencies = []int{50, 200, 1000}

func fullID(ms int) string { return fmt.Sprint("full-", ms) }

// fullMeasures are the full path at each latency.
func fullMeasures() []measure {
	var all []measure
	for _, ms := range fullLatencies {
		all = append(all, measure{
			id: fullID(ms), figures: append([]figure{{fullID(ms), "subtasks/s", true}}, budget(fullID(ms), simulatorName)...),
			peers:   []string{slots},
			durable: allDurable + ", raw and public rows with fence and coverage",
			ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
				return full(ctx, d, ms)
			},
			sideBySide: map[string]take{slots: func(d *deployment, _ context.Context) (map[string]float64, error) {
				return map[string]float64{fullID(ms): float64(d.o.pool) / (float64(ms) / 1000)}, nil
			}},
		})
	}
	return all
}

// pullBench measures pulls of accounts of a size.
type pullBench struct {
	d    *deployment
	size pullSize
	pulledDay
}

// pulledDay is the day that is pulled, and of which accounts.
type pulledDay struct {
	day      day.Day
	accounts []pulledAccount
}

type pulledAccount struct {
	ID         int64
	ExternalID string // the platform's
}

func (p pulledDay) ids() []int64 {
	ids := make([]int64, len(p.accounts))
	for i, a := range p.accounts {
		ids[i] = a.ID
	}
	return ids
}

// newPullBench makes the world one of accounts of a size, and the platform answer later by a latency. The day is
// yesterday in the zone of the world's accounts.
func newPullBench(ctx context.Context, d *deployment, size pullSize, ms int) (*pullBench, error) {
	if err := d.world.become(ctx, size.ads, ms); err != nil {
		return nil, err
	}
	b := &pullBench{d: d, size: size, pulledDay: pulledDay{day: d.world.yesterday}}
	accounts := d.store.Config.Writer(ctx).Table("media_account").Select("id, external_id").
		Where("media = ?", fullPlatform.Name).Order("id")
	if size.most > 0 {
		accounts = accounts.Limit(size.most)
	}
	return b, accounts.Scan(&b.accounts).Error
}

// full measures how many subtasks of the full path end in a second, from the order to the end of the run, at a latency
// of each call.
func full(ctx context.Context, d *deployment, ms int) (map[string]float64, error) {
	b, err := newPullBench(ctx, d, mixed, ms)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	return values, b.run(ctx, func() error { return b.pull(ctx, values, fullID(ms)) })
}

// run runs measures of pulls. The tables are empty before and after it.
func (b *pullBench) run(ctx context.Context, measure func() error) error {
	if err := b.d.resize(ctx, fullPlatform.Name, b.d.o.pool); err != nil {
		return err
	}
	defer b.d.resize(ctx, fullPlatform.Name, 0) //nolint:errcheck // The next measure would show it.
	if err := b.d.warmUp(ctx, fullTask, b.ids()[:min(len(b.accounts), 10)]); err != nil {
		return err
	}
	defer b.d.stopConsumer()
	if err := b.d.emptyReports(ctx, fullRaw); err != nil {
		return err
	}
	if err := measure(); err != nil {
		return err
	}
	return b.d.emptyReports(ctx, fullRaw)
}

// pull measures a run that pulls the accounts once, and compares the tables with the platform's figures.
func (b *pullBench) pull(ctx context.Context, values map[string]float64, id string) error {
	order := task.Order{From: b.day, To: b.day, Params: json.RawMessage(fmt.Sprintf(`{"level":%q}`, b.size.level))}
	if len(b.accounts) < b.d.world.accounts {
		order.Accounts = b.ids()
	}
	if err := b.d.timed(ctx, values, id, fullTask, order, len(b.accounts)); err != nil {
		return err
	}
	truth, err := b.d.world.truth(ctx, b.size.object, b.pulledDay)
	if err != nil {
		return err
	}
	values[id+"-rows"] = float64(truth.Rows) / float64(len(b.accounts))
	return b.exact(ctx, truth)
}

// exact checks that the tables have the platform's own figures of the day, each account's once, and coverage of all
// accounts that were pulled.
func (b *pullBench) exact(ctx context.Context, truth reported) error {
	db := b.d.store.Data.Writer(ctx)
	var errs []error
	var have reported
	const sums = "SELECT COUNT(*) AS `rows`, COALESCE(SUM(impressions), 0) AS impressions, COALESCE(SUM(cost), 0) AS " +
		"cost FROM report_daily"
	if err := db.Raw(sums).Scan(&have).Error; err != nil {
		return err
	}
	if have != truth {
		errs = append(errs, fmt.Errorf("report_daily has %+v, the platform %+v", have, truth))
	}
	var raw int64
	if err := db.Raw("SELECT COUNT(*) FROM " + fullRaw).Scan(&raw).Error; err != nil {
		return err
	}
	if raw != truth.Rows {
		errs = append(errs, fmt.Errorf("%s has %d rows, the platform %d", fullRaw, raw, truth.Rows))
	}
	var scopes, rows int64
	const covered = "SELECT COUNT(*), COALESCE(SUM(row_count), 0) FROM coverage WHERE state = ? AND level = ? AND day = ?"
	if err := db.Raw(covered, results.Complete, b.size.level, b.day).Row().Scan(&scopes, &rows); err != nil {
		return err
	}
	if want := len(b.accounts); int(scopes) != want || rows != truth.Rows {
		errs = append(errs, fmt.Errorf("coverage reports %d accounts that are complete, with %d rows, want %d and %d",
			scopes, rows, want, truth.Rows))
	}
	return errors.Join(errs...)
}
