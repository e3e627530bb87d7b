package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Start is the beginning of a group member's work on one partition.
type Start struct {
	Topic     string
	Partition int
	Committed int64 // the group's offset; -1 when it has none
	Reach     int64 // no member that started at Committed and finished nothing has read this offset or a later one
}

// Assignment is what is recorded about the starts of one partition.
type Assignment struct {
	Topic     string
	Partition int
	Committed int64
	Starts    int // at this offset, this one included, without those that ended in order
	// CarefulUntil is the offset below which messages must go one by one; 0 when they need not.
	CarefulUntil int64
	// SuspectOffset is the message that was started last while they went one by one, and SuspectStarts how often it
	// started without an end.
	SuspectOffset int64
	SuspectStarts int
}

// withStart returns the assignment after one more start. More than startsMax starts without progress set
// CarefulUntil.
func (a Assignment) withStart(s Start, startsMax int) Assignment {
	// A new row passes both conditions unchanged. Starts is no sign of a new row: RecordStops takes the last start back.
	if s.Committed < a.Committed {
		a = Assignment{SuspectOffset: -1} // The log was recreated: what is recorded about its offsets is void.
	}
	if max(a.Committed, 0) != max(s.Committed, 0) { // The very first commit is no progress.
		a.Starts = 0
	}
	a.Topic, a.Partition, a.Committed = s.Topic, s.Partition, s.Committed
	a.Starts++
	from := max(s.Committed, 0)
	if a.Starts > startsMax {
		// A member may have read past Reach if it finished messages and died before it committed them. If it dies there,
		// the next member takes care further on.
		a.CarefulUntil = max(a.CarefulUntil, from+int64(a.Starts-startsMax)*(s.Reach-from))
	}
	if a.CarefulUntil <= from {
		a.CarefulUntil = 0
	}
	if a.SuspectOffset < s.Committed || a.CarefulUntil == 0 {
		a.SuspectOffset, a.SuspectStarts = -1, 0
	}
	return a
}

var (
	assignmentKey   = []string{"group_name", "topic", "topic_partition"}
	assignmentTable = sqldb.Table{Name: "assignment", Key: assignmentKey, Columns: []string{
		"holder", "committed", "starts", "careful_until", "suspect_offset", "suspect_starts",
	}}
)

// RecordStarts records that holder begins to work on partitions of a group. It returns the partitions whose messages
// must go one by one: those that were started more than startsMax times at one offset without an orderly end. Holder
// is unique to this start.
func (s Subtasks) RecordStarts(
	ctx context.Context, group, holder string, startsMax int, starts []Start,
) ([]Assignment, error) {
	if len(starts) == 0 {
		return nil, nil
	}
	var careful []Assignment
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		known, err := s.assignments(tx, group, starts)
		if err != nil {
			return err
		}
		careful = nil
		rows := make([][]any, len(starts))
		for i, start := range starts {
			a, ok := known[partitionOf{start.Topic, start.Partition}]
			if !ok {
				a.SuspectOffset = -1
			}
			a = a.withStart(start, startsMax)
			if a.CarefulUntil > 0 {
				careful = append(careful, a)
			}
			rows[i] = []any{group, a.Topic, a.Partition, holder, a.Committed, a.Starts, a.CarefulUntil, a.SuspectOffset,
				a.SuspectStarts}
		}
		return s.Data.Upsert(tx, assignmentTable, rows)
	})
	if err != nil {
		return nil, fmt.Errorf("record the start of %d partitions of %s: %w", len(starts), group, err)
	}
	return careful, nil
}

type partitionOf struct {
	topic string
	id    int
}

// assignments returns the recorded assignments of partitions, and locks their rows until the transaction ends.
func (s Subtasks) assignments(tx *gorm.DB, group string, starts []Start) (map[partitionOf]Assignment, error) {
	known := map[partitionOf]Assignment{}
	for some := range slices.Chunk(starts, s.Data.RowsPerStatement(len(assignmentKey))) {
		keys := make([][]any, len(some))
		for i, start := range some {
			keys[i] = []any{group, start.Topic, start.Partition}
		}
		keys = sqldb.SortByKey(keys, len(assignmentKey))
		sql := "SELECT t.topic, t.topic_partition, t.committed, t.starts, t.careful_until, t.suspect_offset," +
			" t.suspect_starts FROM " +
			sqldb.LookUp(s.Data, "assignment", assignmentKey, len(keys)) + s.Data.Dialect().ForUpdate()
		if err := readAssignments(tx, sql, sqldb.Flatten(keys, len(assignmentKey)), known); err != nil {
			return nil, err
		}
	}
	return known, nil
}

func readAssignments(tx *gorm.DB, query string, args []any, known map[partitionOf]Assignment) error {
	return sqldb.EachRow(tx.Raw(query, args...), func(rows *sql.Rows) error {
		var a Assignment
		if err := rows.Scan(&a.Topic, &a.Partition, &a.Committed, &a.Starts, &a.CarefulUntil, &a.SuspectOffset,
			&a.SuspectStarts); err != nil {
			return err
		}
		known[partitionOf{a.Topic, a.Partition}] = a
		return nil
	})
}

// Stop is the orderly end of work on one partition.
type Stop struct {
	Topic     string
	Partition int
	Committed int64 // as it was at its Start
	CutOff    int64 // the offset of the message under way that RecordSuspect recorded; -1 if none
}

// RecordStops records that holder stopped work on partitions in order: its start, and that of the message that was
// cut off, no longer count. This also holds when another holder has started them meanwhile, as after an eviction,
// unless that holder found a moved offset: then the start is no longer counted anyway.
func (s Subtasks) RecordStops(ctx context.Context, group, holder string, stops []Stop) error {
	if len(stops) == 0 {
		return nil
	}
	rows := make([][]any, len(stops))
	for i, stop := range stops {
		rows[i] = []any{group, stop.Topic, stop.Partition, holder, stop.Committed, stop.CutOff}
	}
	const (
		own = "t.holder = o.holder"
		// The start of the other holder stays counted. The very first commit is no progress.
		counted = "(t.starts > 1 AND (t.committed = o.committed OR t.committed <= 0 AND o.committed <= 0))"
		noted   = "(t.suspect_offset = o.cut_off AND t.suspect_starts > 0)"
	)
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		for batch := range slices.Chunk(sqldb.SortByKey(rows, len(assignmentKey)), s.Data.RowsPerStatement(6)) {
			err := sqldb.UpdateByValues(s.Data, tx, sqldb.ValueUpdate{
				Table:   "assignment",
				Key:     assignmentKey,
				Columns: []string{"group_name", "topic", "topic_partition", "holder", "committed", "cut_off"},
				Set: [][2]string{
					{"starts", "CASE WHEN " + own + " OR " + counted + " THEN t.starts - 1 ELSE t.starts END"},
					{"suspect_starts", "CASE WHEN " + noted + " THEN t.suspect_starts - 1 ELSE t.suspect_starts END"},
					{"holder", "CASE WHEN " + own + " THEN '' ELSE t.holder END"},
				},
				Where: "(" + own + " OR t.holder <> '' AND (" + counted + " OR " + noted + "))",
			}, batch)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record the end of %d partitions of %s: %w", len(stops), group, err)
	}
	return nil
}

// RecordSuspect records that holder is about to work on the message at offset while no other message of its partition
// is worked on. It returns how often that was recorded without an end, this time included; 0 when another holder has
// started the partition meanwhile.
func (s Subtasks) RecordSuspect(ctx context.Context, group, holder, topic string, partition int,
	offset int64) (starts int, err error) {
	err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
		starts = 0
		// No column is read after it was set: MySQL would read the new value, SQLite the old one.
		err := tx.Exec(
			`UPDATE assignment SET suspect_starts = CASE WHEN suspect_offset = ? THEN suspect_starts + 1 ELSE 1 END,
  suspect_offset = ?
 WHERE group_name = ? AND topic = ? AND topic_partition = ? AND holder = ?`, offset, offset, group,
			topic, partition, holder).Error
		if err != nil {
			return err
		}
		query := tx.Raw(`SELECT suspect_starts FROM assignment
 WHERE group_name = ? AND topic = ? AND topic_partition = ? AND holder = ?`, group, topic, partition, holder)
		return sqldb.EachRow(query, func(rows *sql.Rows) error {
			return rows.Scan(&starts)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("record the start of offset %d of %s/%d: %w", offset, topic, partition, err)
	}
	return starts, nil
}
