package standalone

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"adsync/base/day"
	"adsync/base/store/publishing"
	"adsync/base/store/settings"
	"adsync/publish"
	"adsync/publish/place"
)

// Below the data directory: report files as they are delivered, and those that are not delivered yet.
const (
	reportsDir = "reports"
	spoolDir   = "files"
	spoolMiB   = 1024
)

// sampleDestination is where the sample subscriptions deliver to.
const sampleDestination = "reports"

// SampleCron is when the samples' files are due, and SampleZone is its zone.
const (
	SampleCron = "30 9 * * *"
	SampleZone = "Asia/Shanghai"
)

// Samples are the subscriptions of a new directory. Format is JSON.
var Samples = []struct{ Name, Query, Format, Path string }{
	{
		"spend", `SELECT day, game, media, currency, SUM(cost) AS cost_micros, SUM(impressions) AS impressions,
  SUM(clicks) AS clicks, SUM(activations) AS activations
FROM summary_daily WHERE day = :day GROUP BY day, game, media, currency ORDER BY day, game, media, currency`,
		`{"format": "xlsx"}`, "{subscription}/{day}{ext}",
	},
	{
		"creatives", `SELECT day, account_id, level, object_id, media, currency, cost, impressions, clicks, conversions
FROM report_daily_creative WHERE day = :day ORDER BY day, account_id, level, object_id`,
		`{"format": "csv", "gzip": true}`, "{subscription}/{day:compact}{ext}",
	},
	{
		"report_daily", `SELECT day, account_id, level, object_id, media, currency, day_zone, cost, impressions, clicks,
  activations, registrations, conversions, pay_amount
FROM report_daily WHERE day = :day ORDER BY day, account_id, level, object_id`,
		`{"format": "parquet"}`, "{subscription}/{day}{ext}",
	},
}

// seedReports writes the sample subscriptions of a new directory, and orders a file of each.
func (s *stack) seedReports(ctx context.Context) error {
	have, err := s.store.Destinations(ctx)
	if err != nil || len(have) > 0 {
		return err
	}
	// An address must not depend on where adsync is started.
	dir, err := filepath.Abs(s.dir.file(reportsDir))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // The files are for others to read.
		return fmt.Errorf("make the directory of report files: %w", err)
	}
	by := settings.Editor{Actor: "adsync", Action: "subscription.put"}
	err = s.store.PutDestination(ctx, by, sampleDestination,
		func(d publishing.Destination, _ bool) (publishing.Destination, error) {
			d.Kind, d.Address = place.KindDir, dir
			settings, err := publish.PlaceConfig(nil, d) // It has no credentials.
			if err == nil {
				err = settings.Validate()
			}
			return d, err
		})
	if err != nil {
		return err
	}
	now := s.world.clock.Now()
	for _, sample := range Samples {
		row := publish.Defaults(sample.Name)
		row.Source, err = publish.SourceText(sample.Query)
		if err != nil {
			return err
		}
		row.Format, row.Path, row.Destination = sample.Format, sample.Path, sampleDestination
		row.Cron, row.Timezone = SampleCron, SampleZone
		row.Completeness = `{"when": "complete", "latest_minutes": 2880, "parked": "name"}`
		row.Corrections = `{"every_minutes": 60, "days": 7}`
		file, err := publish.Check(row)
		if err != nil {
			return fmt.Errorf("sample subscription %s: %w", row.Name, err)
		}
		err = s.store.PutSubscription(ctx, by, row.Name, now,
			func(publishing.Subscription, bool, publishing.Around) (publishing.Subscription, error) {
				return row, nil
			})
		if err != nil {
			return err
		}
		if err := s.orderSample(ctx, file, now); err != nil {
			return err
		}
	}
	return nil
}

// sampleDay is the last day that has settled in all zones.
func sampleDay(now time.Time) day.Day { return day.Of(now, time.UTC).Add(-2) }

// orderSample orders the file of the last day that has settled in all zones.
func (s *stack) orderSample(ctx context.Context, file *publish.Subscription, now time.Time) error {
	settled := sampleDay(now)
	periods, err := file.Periods(string(settled), string(settled), now)
	if err != nil {
		return err
	}
	_, err = s.store.PlanFiles(ctx, file.Order(periods, nil, publishing.Progress{}, now))
	return err
}
