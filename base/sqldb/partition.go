package sqldb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"adsync/base/day"
)

// partitioned are the public tables with a partition per day.
var partitioned = []string{"report_daily", "report_hourly", "wide_daily"}

// LaterPartition holds the days that have no partition yet.
const LaterPartition = "later"

// DaysAhead is how many days get their tables and partitions before they begin.
const DaysAhead = 2

// ensureComingPartitions creates the partitions of the present UTC day and the next ones before rows of them exist.
// Splitting a partition with rows copies them, and blocks all readers and writers of the table.
func (s *Databases) ensureComingPartitions(ctx context.Context) error {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return fmt.Errorf("read database time: %w", err)
	}
	today := day.Of(now, time.UTC)
	return s.EnsurePartitions(ctx, today, today.Add(DaysAhead))
}

// EnsurePartitions creates a missing partition for each day from from to to in the public tables. Days before from
// share the first partition. SQLite has no partitions and needs none.
func (s *Databases) EnsurePartitions(ctx context.Context, from, to day.Day) error {
	if s.Data.dialect == SQLiteDialect {
		return nil
	}
	for _, table := range partitioned {
		var names []string
		err := s.Data.Writer(ctx).Raw("SELECT partition_name FROM information_schema.partitions"+
			" WHERE table_schema = DATABASE() AND table_name = ? AND partition_name IS NOT NULL ORDER BY "+
			"partition_ordinal_position", table).Scan(&names).Error
		if err != nil {
			return fmt.Errorf("read the partitions of %s: %w", table, err)
		}
		newest := ""
		for _, name := range names {
			if name != LaterPartition {
				newest = max(newest, name)
			}
		}
		var parts []string
		for _, d := range day.Between(from, to) {
			name := "p" + strings.ReplaceAll(d.String(), "-", "")
			if name > newest { // A day before an existing partition is inside it.
				parts = append(parts, fmt.Sprintf("PARTITION %s VALUES LESS THAN ('%s')", name, d.Add(1)))
			}
		}
		if len(parts) == 0 {
			continue
		}
		// The split partition is practically empty: rows of later days do not exist yet.
		err = s.Data.Writer(ctx).Exec("ALTER TABLE " + table + " REORGANIZE PARTITION " + LaterPartition + " INTO (" +
			strings.Join(parts, ", ") + ", PARTITION " + LaterPartition + " VALUES LESS THAN (MAXVALUE))").Error
		if err != nil {
			return fmt.Errorf("split %s: %w", table, err)
		}
	}
	return nil
}
