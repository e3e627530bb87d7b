package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/base/store/summaries"
	"adsync/base/task"
	"adsync/engine"
	"adsync/media"
)

const (
	// pullRows is the number of rows of a pull that is written while rows are deleted.
	pullRows = 200
	// pullsAlone is the number of pulls that are written while no row is deleted.
	pullsAlone = 200
	// pruneFor is how long rows of a raw table are deleted.
	pruneFor = time.Minute
)

// retention deletes rows and days past their retention, and measures how long pulls take at the same time. Retention
// must not block pulls.
func (d *deployment) retention(ctx context.Context) error {
	platform := engine.Platforms()[0]
	reportOf := func(hourly bool) media.Report {
		reports := platform.Reports()
		return reports[slices.IndexFunc(reports, func(r media.Report) bool { return r.Hourly == hourly })]
	}
	daily, hourly := &puller{d: d, media: platform.Name(), report: reportOf(false)},
		&puller{d: d, media: platform.Name(), report: reportOf(true)}
	raw := hourly.report.Table
	if err := d.tables.Skew(ctx, d.o.accounts, max(d.o.public/800, d.o.accounts)); err != nil {
		return err
	}
	if err := d.build(ctx, raw.Name, func() error {
		return d.tables.RawHourly(ctx, raw.Name,
			today.Add(-91))
	}); err != nil {
		return err
	}
	if err := d.tables.DropSkew(ctx); err != nil {
		return err
	}

	for _, p := range []*puller{daily, hourly} {
		if err := p.alone(ctx); err != nil {
			return err
		}
	}
	err := hourly.during(ctx, "raw rows go", func(ctx context.Context) error {
		began := clock.Mark()
		gone, err := d.store.Pruner(pruneFor).Days(ctx, raw.Name, raw.Key(), today.Add(-90))
		d.say("%s: %d rows gone, %.0f a second", raw.Name, gone, float64(gone)/clock.Since(began).Seconds())
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range []*puller{daily, hourly} {
		keep := map[bool]int{false: dailyDays / 2, true: hourlyDays / 2}[p.report.Hourly]
		err := p.during(ctx, "days of the public tables go", func(ctx context.Context) error {
			began := clock.Mark()
			gone, done, err := d.store.Pruner(10*pruneFor).Public(ctx, p.report.Hourly, today.Add(1-keep))
			d.say("%d partitions gone in %.1f s", gone, clock.Since(began).Seconds())
			if err == nil && (!done || gone == 0) {
				err = errors.New("days are left, or there was none")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// puller writes pulls of today, each for another account without rows.
type puller struct {
	d       *deployment
	media   string
	report  media.Report
	account int64
}

// pull writes a pull of a number of rows, and returns how long that took, including its claim.
func (p *puller) pull(ctx context.Context, account int64, n int) (took time.Duration, result results.ReportResult,
	err error) {
	rows := make([]results.ReportRow, n)
	for i := range rows {
		rows[i] = results.ReportRow{Day: today, Object: fmt.Sprintf("%012d", i),
			Raw: make([]any, len(p.report.Table.Columns)), JSON: fmt.Sprintf(`{"cost":%d}`, i)}
		if p.report.Hourly {
			rows[i].Object, rows[i].Hour = fmt.Sprintf("%012d", i/24), i%24
		}
	}
	began := clock.Mark()
	scope := results.Scope{AccountID: account, Media: p.media, Report: p.report.Name, Level: summaries.ObjectLevels[0],
		Days: []day.Day{today}}
	claim, _, err := p.d.store.BeginPull(ctx, scope, fmt.Sprint("big-", account, "-", n),
		task.FirstRunIDAt(today.Add(1).Start(time.UTC)))
	if err != nil {
		return 0, result, err
	}
	result, err = p.d.store.WriteReport(ctx, results.ReportWrite{
		Claim: claim, Raw: p.report.Table, Hourly: p.report.Hourly, Currency: "CNY", Zone: "Asia/Shanghai", Rows: rows,
		Whole: true,
	})
	return clock.Since(began), result, err
}

// next returns an account without rows.
func (p *puller) next() int64 {
	p.account++
	return 1_000_000 + p.account
}

// alone measures pulls of new rows, and then pulls that lack one of the rows, which is found and deleted.
func (p *puller) alone(ctx context.Context) error {
	var pulls, stale []time.Duration
	for range pullsAlone {
		account := p.next()
		took, _, err := p.pull(ctx, account, pullRows)
		if err != nil {
			return err
		}
		pulls = append(pulls, took)
		took, result, err := p.pull(ctx, account, pullRows-1)
		if err != nil {
			return err
		}
		if result.Written != 0 || result.Deleted != 1 {
			return fmt.Errorf("a pull that lacks a row wrote %d and deleted %d, want 0 and 1", result.Written, result.Deleted)
		}
		stale = append(stale, took)
	}
	p.note("a pull of 200 rows", pulls)
	p.note("a pull that lacks one of 200 rows, which is found and deleted", stale)
	return nil
}

// during measures pulls of new rows for as long as an operation runs.
func (p *puller) during(ctx context.Context, what string, do func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- do(ctx) }()
	var pulls []time.Duration
	for {
		took, _, err := p.pull(ctx, p.next(), pullRows)
		if err != nil {
			return errors.Join(err, <-ended)
		}
		pulls = append(pulls, took)
		select {
		case err := <-ended:
			p.note("a pull of 200 rows while "+what, pulls)
			p.d.say("the slowest of %d: %.0f ms", len(pulls), float64(slices.Max(pulls).Microseconds())/1000)
			return err
		default:
		}
	}
}

func (p *puller) note(what string, took []time.Duration) {
	name := map[bool]string{false: "report_daily", true: "report_hourly"}[p.report.Hourly]
	m := p.d.report.add(name+": "+what, took, resultBound)
	p.d.say("%s: p95 %.1f ms, median %.1f ms", m.ID, m.Ours, m.Median)
}
