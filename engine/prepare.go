package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"adsync/base/broker"
	"adsync/base/day"
	"adsync/base/store"
)

// PrepareTables brings both databases to what this program needs: migrations, the platforms' raw tables, the log
// tables of today and tomorrow, and the default tasks of each platform that has none. It may be repeated, and run
// concurrently.
func PrepareTables(ctx context.Context, s *store.Store) (seeded int, err error) {
	if err := s.MigrateUp(ctx); err != nil {
		return 0, err
	}
	if err := s.EnsureRawTables(ctx, RawTables()); err != nil {
		return 0, err
	}
	now, err := s.Data.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the database's time: %w", err)
	}
	today := day.Of(now, time.UTC)
	for _, d := range []day.Day{today, today.Add(1)} {
		if err := s.EnsureLogTable(ctx, d); err != nil {
			return 0, err
		}
	}
	if seeded, err = s.SeedTasks(ctx, DefaultTasks(Platforms())); err != nil {
		return 0, fmt.Errorf("seed cron_task: %w", err)
	}
	return seeded, nil
}

// PrepareTopics creates the topics that the tables require. It returns their number.
func PrepareTopics(ctx context.Context, s *store.Store, kafka *broker.Client) (int, error) {
	topics, err := requiredTopics(ctx, s, kafka.TopicName)
	if err != nil {
		return 0, err
	}
	if err := kafka.EnsureTopics(ctx, topics); err != nil {
		return 0, fmt.Errorf("create the topics: %w", err)
	}
	return len(topics), nil
}

// requiredTopics returns the topics of the rows of lane, for all platforms, those without Go code too.
func requiredTopics(ctx context.Context, s *store.Store, name func(media, lane string) string) ([]broker.Topic, error) {
	lanes, err := s.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	external, err := ExternalPlatforms(ctx, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return Topics(lanes, name, external...), nil
}
