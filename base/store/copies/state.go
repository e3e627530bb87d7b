package copies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// State is a row of copy_cursor: how far a copy has come, and its last run.
type State struct {
	Name        string    `gorm:"primaryKey"` // TableCopy.StateName
	ReadFrom    string    // what the cursor belongs to
	CursorValue string    // "" before the first rows
	Version     int64     // of the run that may write
	RunAt       time.Time `gorm:"serializer:time"` // when the last run ended; zero before that
	RowCount    int64     // rows that it wrote and deleted
	ErrorText   string    // why it failed
}

// TableName implements schema.Tabler.
func (State) TableName() string { return stateTable }

// errorMax is the width of error_text.
const errorMax = 2048

// ErrOvertaken is returned when another run of the copy has begun, or when the copy was deleted: nothing was written.
var ErrOvertaken = errors.New("another run of the copy has begun")

// CopyStates returns how far all copies have come, by TableCopy.StateName.
func (s CopyRows) CopyStates(ctx context.Context) (map[string]State, error) {
	var rows []State
	if err := s.Data.Writer(ctx).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read copy_cursor: %w", err)
	}
	all := make(map[string]State, len(rows))
	for _, r := range rows {
		all[r.Name] = r
	}
	return all, nil
}

// begin begins a run, which ends the right of earlier ones to write. A cursor of another table, or of another column,
// counts for nothing.
func (s CopyRows) begin(ctx context.Context, c *TableCopy) (state State, err error) {
	name, from := c.StateName(), fmt.Sprintf("%s/%s/%s", c.Source, c.SourceTable, c.CursorColumn)
	err = s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		now, err := s.Data.NowTx(tx)
		if err != nil {
			return err
		}
		if err := tx.Exec(s.Data.Dialect().InsertIgnore()+stateTable+" (name, read_from) VALUES (?, ?)", name,
			from).Error; err != nil {
			return err
		}
		state = State{}
		if err := tx.Clauses(sqldb.ForUpdate).Where("name = ?", name).Take(&state).Error; err != nil {
			return err
		}
		if state.ReadFrom != from {
			state.ReadFrom, state.CursorValue = from, ""
		}
		state.Version = max(now.UnixMicro(), state.Version+1)
		return tx.Model(&State{}).Where("name = ?", name).UpdateColumns(map[string]any{
			"version": state.Version, "read_from": from, "cursor_value": state.CursorValue}).Error
	})
	if err != nil {
		return state, fmt.Errorf("begin a run of the copy %s: %w", c.Name, err)
	}
	return state, nil
}

// WriteCopy runs a write in a transaction that no other run can come before, and moves the cursor in it, or returns
// ErrOvertaken. write may be called repeatedly.
func (s CopyRows) WriteCopy(ctx context.Context, state *State, cursor string, write func(tx *gorm.DB) error) error {
	err := s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		var version int64
		err := tx.Raw("SELECT version FROM "+stateTable+" WHERE name = ?"+s.Data.Dialect().ForUpdate(), state.Name).Row().
			Scan(&version)
		if errors.Is(err, sql.ErrNoRows) || err == nil && version != state.Version {
			return ErrOvertaken
		}
		if err != nil {
			return err
		}
		if err := write(tx); err != nil || cursor == state.CursorValue {
			return err
		}
		return tx.Exec("UPDATE "+stateTable+" SET cursor_value = ? WHERE name = ?", cursor, state.Name).Error
	})
	if err == nil {
		state.CursorValue = cursor
	}
	return err
}

// put writes rows, those of the key first, and the cursor behind them.
func (s CopyRows) put(ctx context.Context, p *Plan, state *State, rows [][]any, cursor string) error {
	return s.WriteCopy(ctx, state, cursor, func(tx *gorm.DB) error {
		return s.Data.Upsert(tx, p.table(), slices.Clone(rows))
	})
}

// remove deletes rows of the target by their keys.
func (s CopyRows) remove(ctx context.Context, p *Plan, state *State, keys [][]any) error {
	table := p.table()
	for piece := range slices.Chunk(sqldb.SortByKey(keys, p.keys()), batchRows) {
		err := s.WriteCopy(ctx, state, state.CursorValue, func(tx *gorm.DB) error {
			return s.Data.DeleteByTuples(tx, table.Name, table.Key, piece, "1 = ?", 1)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// end records the end of a run, unless another one has begun.
func (s CopyRows) end(ctx context.Context, state *State, rows int, failure error) error {
	text := ""
	if failure != nil {
		text = sqldb.Cut(failure.Error(), errorMax)
	}
	return s.Data.Retry(ctx, func() error {
		now, err := s.Data.Now(ctx)
		if err != nil {
			return err
		}
		return s.Data.Writer(ctx).Model(&State{}).Where("name = ? AND version = ?", state.Name, state.Version).
			UpdateColumns(map[string]any{"run_at": sqldb.At(now), "row_count": rows, "error_text": text}).Error
	})
}
