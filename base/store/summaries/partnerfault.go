package summaries

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/store/copies"
	"adsync/base/store/results"
)

var partnerUnusableTable = sqldb.Table{
	Name: "partner_unusable", Key: []string{"partner_id", "field"},
	Columns: []string{"kind", "media", "row_count", "why", "seen_at"},
}

func partnerFaultArgs(faults []PartnerFault, now time.Time) [][]any {
	rows := make([][]any, len(faults))
	for i, f := range faults {
		rows[i] = []any{f.ID, f.Field, string(f.Kind), sqldb.Cut(f.Media, 32), f.Rows, sqldb.Cut(f.Why, results.NoteMax),
			sqldb.At(now)}
	}
	return rows
}

// putPartnerFaults replaces the rows of partner_unusable for a batch's rows.
func putPartnerFaults(d *sqldb.DB, tx *gorm.DB, batch PartnerBatch, now time.Time) error {
	ids := make([]int64, len(batch.Rows))
	for i, r := range batch.Rows {
		ids[i] = r.ID
	}
	for some := range slices.Chunk(ids, 1000) {
		if err := tx.Exec("DELETE FROM partner_unusable WHERE partner_id IN ?", some).Error; err != nil {
			return fmt.Errorf("clear the unusable values of the partner's rows: %w", err)
		}
	}
	return d.Upsert(tx, partnerUnusableTable, partnerFaultArgs(batch.Faults, now))
}

// PutUnreadablePartnerRows records the rows that no run can read, in place of those recorded before.
func (s PartnerCopy) PutUnreadablePartnerRows(ctx context.Context, run *copies.State, strays []PartnerFault) error {
	err := s.write(ctx, run, run.CursorValue, func(tx *gorm.DB, now time.Time) error {
		if err := tx.Exec("DELETE FROM partner_unusable WHERE partner_id = 0").Error; err != nil {
			return err
		}
		return s.Data.Upsert(tx, partnerUnusableTable, partnerFaultArgs(strays, now))
	})
	if err != nil {
		return fmt.Errorf("record the partner's rows that cannot be read: %w", err)
	}
	return nil
}
