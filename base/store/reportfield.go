package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"
)

// FieldState says whether a field of a report is asked for.
type FieldState string

// The states.
const (
	FieldAsked   FieldState = "asked"
	FieldOff     FieldState = "off"     // nobody wants it
	FieldRetired FieldState = "retired" // the platform refused it
)

// ReportField is a row of report_field: what is asked for, or not, against what the platform's package says.
type ReportField struct {
	Media     string     `gorm:"column:media"`
	Report    string     `gorm:"column:report"` // "report_daily"; "" is every report
	Level     string     `gorm:"column:level"`  // "account"; "" is every level
	Field     string     `gorm:"column:field"`  // the platform's name
	State     FieldState `gorm:"column:state"`
	Reason    string     `gorm:"column:reason"`
	ChangedBy string     `gorm:"column:changed_by"`
	RetiredAt Time       `gorm:"column:retired_at"` // zero when the platform did not retire it
	UpdatedAt Time       `gorm:"column:updated_at"`
}

// ReportFields reads the rows of a media, or of all for "", unchecked, by media, field, report and level.
func (s *Store) ReportFields(ctx context.Context, media string) ([]ReportField, error) {
	var rows []ReportField
	err := s.Config.Writer(ctx).Raw("SELECT * FROM report_field WHERE ? IN ('', media) ORDER BY media, field, report, level", media).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read report_field: %w", err)
	}
	return rows, nil
}

// PutReportField writes a row in the place of all those of the field whose reports and levels it covers. actor is who does so.
func (s *Store) PutReportField(ctx context.Context, actor string, f ReportField) error {
	where, args := "media = ? AND field = ?", []any{f.Media, f.Field}
	if f.Report != "" {
		where, args = where+" AND report = ?", append(args, f.Report)
	}
	if f.Level != "" {
		where, args = where+" AND level = ?", append(args, f.Level)
	}
	err := s.edit(ctx, Editor{actor, "field.put"}, "report_field", nil, func(tx *gorm.DB) error {
		if err := tx.Exec("DELETE FROM report_field WHERE "+where, args...).Error; err != nil {
			return err
		}
		return tx.Exec("INSERT INTO report_field (media, report, level, field, state, reason, changed_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
			f.Media, f.Report, f.Level, f.Field, string(f.State), cut(f.Reason, 512), cut(f.ChangedBy, 96)).Error
	})
	if err != nil {
		return fmt.Errorf("write the field %s of %s: %w", f.Field, f.Media, err)
	}
	return nil
}

// RetireReportField notes that the platform refuses a field of one report and level, and tells whether this is the first to say so. A
// row that somebody has switched off stays as it is.
func (s *Store) RetireReportField(ctx context.Context, f ReportField) (first bool, err error) {
	// Mostly many pulls meet the refusal at once, and all but the first have nothing to note.
	var done int
	err = s.Config.Writer(ctx).Raw("SELECT COUNT(*) FROM report_field WHERE media = ? AND report = ? AND level = ? AND field = ? AND state <> ?", f.Media, f.Report, f.Level, f.Field, string(FieldAsked)).Row().Scan(&done)
	if err != nil || done > 0 {
		return false, wrapRetire(f, err)
	}
	now, reason, by := s.Config.dialect.Now(), cut(f.Reason, 512), cut(f.ChangedBy, 96)
	err = s.edit(ctx, Editor{by, "field.retire"}, "report_field", nil, func(tx *gorm.DB) error {
		made := tx.Exec(s.Config.dialect.InsertIgnore()+"report_field (media, report, level, field, state, reason, changed_by, retired_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, "+now+")", f.Media, f.Report, f.Level, f.Field, string(FieldRetired), reason, by)
		if made.Error == nil && made.RowsAffected == 0 {
			made = tx.Exec("UPDATE report_field SET state = ?, reason = ?, changed_by = ?, retired_at = "+now+", updated_at = "+now+
				" WHERE media = ? AND report = ? AND level = ? AND field = ? AND state = ?",
				string(FieldRetired), reason, by, f.Media, f.Report, f.Level, f.Field, string(FieldAsked))
		}
		first = made.RowsAffected > 0
		return made.Error
	})
	return first && err == nil, wrapRetire(f, err)
}

func wrapRetire(f ReportField, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("retire the field %s of %s: %w", f.Field, f.Media, err)
}
