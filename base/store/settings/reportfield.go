package settings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// FieldState is whether pulls request a field of a report.
type FieldState string

// The states.
const (
	FieldAsked   FieldState = "asked"
	FieldOff     FieldState = "off"     // an operator switched it off
	FieldRetired FieldState = "retired" // the platform removed it
	FieldRefused FieldState = "refused" // the platform refused it when it was tried
)

// ReportField is a row of report_field: a field that is requested, or not, in difference from the platform's package.
type ReportField struct {
	Media     string
	Report    string // "report_daily"; "" is every report
	Level     string // "account"; "" is every level
	Field     string // the platform's name
	State     FieldState
	Reason    string
	ChangedBy string
	RetiredAt sqldb.Time // zero when the platform did not retire it
	UpdatedAt sqldb.Time
	// Accepted is set once the platform has accepted the field in a trial. Before that, pulls do not request it.
	Accepted bool
	// TrialDue is set if no process is trying the field or has tried it a short time ago. TrialNote is why the last
	// trial was inconclusive.
	TrialDue  bool
	TrialNote string
}

// Trying reports whether the field must be tried before pulls request it.
func (f ReportField) Trying() bool { return f.State == FieldAsked && !f.Accepted }

// fieldTrying chooses the rows of fields that are to be tried.
const fieldTrying = "state = 'asked' AND accepted_at IS NULL"

// ReportFields returns the rows of a media, or all for "", unchecked, by media, field, report and level.
func (s Fields) ReportFields(ctx context.Context, media string) ([]ReportField, error) {
	var rows []ReportField
	err := s.Config.Writer(ctx).Select(
		"media, report, level, field, state, reason, changed_by, retired_at, updated_at, trial_note,"+
			" accepted_at IS NOT NULL AS accepted, "+fieldTrying+" AND (trial_at IS NULL OR trial_at <= "+
			s.Config.Dialect().Now()+") AS trial_due").
		Where("? IN ('', media)", media).Order("media, field, report, level").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read report_field: %w", err)
	}
	return rows, nil
}

// PutReportField replaces all rows of the field whose reports and levels f covers by f and more, which f covers too.
func (s Fields) PutReportField(ctx context.Context, actor string, f ReportField, more ...ReportField) error {
	// An empty Report or Level is no condition.
	covered := ReportField{Media: f.Media, Field: f.Field, Report: f.Report, Level: f.Level}
	rows := append([]ReportField{f}, more...)
	err := Edit(ctx, s.Databases, Editor{Actor: actor, Action: "field.put"}, "report_field", nil, func(tx *gorm.DB) error {
		var have []ReportField
		err := tx.Where(&covered).Select("report, level, state, reason, accepted_at IS NOT NULL AS accepted").Find(
			&have).Error
		if err != nil || sameFields(have, rows) {
			return err
		}
		if err := tx.Where(&covered).Delete(&ReportField{}).Error; err != nil {
			return err
		}
		for _, row := range rows {
			accepted := "NULL"
			if row.Accepted {
				accepted = s.Config.Dialect().Now()
			}
			err := tx.Exec(
				"INSERT INTO report_field (media, report, level, field, state, reason, changed_by, accepted_at)"+
					" VALUES (?, ?, ?, ?, ?, ?, ?, "+accepted+")",
				row.Media, row.Report, row.Level, row.Field, string(row.State), sqldb.Cut(row.Reason, 512),
				sqldb.Cut(row.ChangedBy, 96)).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the field %s of %s: %w", f.Field, f.Media, err)
	}
	return nil
}

// sameFields reports whether the rows of a field already have the wanted values. A field to be tried never has: writing
// it again starts another trial.
func sameFields(have, want []ReportField) bool {
	return len(have) == len(want) && !slices.ContainsFunc(want, func(w ReportField) bool {
		return w.Trying() || !slices.ContainsFunc(have, func(h ReportField) bool {
			return h.Report == w.Report && h.Level == w.Level && h.State == w.State && h.Reason == sqldb.Cut(w.Reason, 512) &&
				h.Accepted == w.Accepted
		})
	})
}

// RetireReportField records that the platform refuses a field of one report and level, and reports whether this call
// was the first. A row that an operator has switched off stays as it is.
func (s Fields) RetireReportField(ctx context.Context, f ReportField) (first bool, err error) {
	// Usually many pulls meet the refusal at once, and all but the first have nothing to record.
	var done int64
	err = s.Config.Writer(ctx).Model(&ReportField{}).Where(
		"media = ? AND report = ? AND level = ? AND field = ? AND state <> ?",
		f.Media, f.Report, f.Level, f.Field, FieldAsked).Count(&done).Error
	if err == nil && done == 0 {
		f.State = FieldRetired
		first, err = s.stopField(ctx, "field.retire", f)
	}
	if err != nil {
		return false, fmt.Errorf("retire the field %s of %s: %w", f.Field, f.Media, err)
	}
	return first, nil
}

// RefuseReportField records that the platform refused a field in a trial, in the reports and levels of the row. It
// reports whether the row still requested the field or did not exist.
func (s Fields) RefuseReportField(ctx context.Context, f ReportField) (first bool, err error) {
	f.State = FieldRefused
	if first, err = s.stopField(ctx, "field.refuse", f); err != nil {
		return false, fmt.Errorf("record the refusal of the field %s of %s: %w", f.Field, f.Media, err)
	}
	return first, nil
}

// stopField sets a row that requests a field to the state of f, or inserts it.
func (s Fields) stopField(ctx context.Context, action string, f ReportField) (first bool, err error) {
	now, retired, reason, by := s.Config.Dialect().Now(), "NULL", sqldb.Cut(f.Reason, 512), sqldb.Cut(f.ChangedBy, 96)
	if f.State == FieldRetired {
		retired = now
	}
	err = Edit(ctx, s.Databases, Editor{Actor: by, Action: action}, "report_field", nil, func(tx *gorm.DB) error {
		made := tx.Exec(s.Config.Dialect().InsertIgnore()+
			"report_field (media, report, level, field, state, reason, changed_by, retired_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, "+retired+")", f.Media, f.Report, f.Level, f.Field, string(f.State), reason, by)
		if made.Error == nil && made.RowsAffected == 0 {
			made = tx.Exec(
				"UPDATE report_field SET state = ?, reason = ?, changed_by = ?, accepted_at = NULL, trial_note = '', retired_at = "+
					retired+", updated_at = "+now+
					" WHERE media = ? AND report = ? AND level = ? AND field = ? AND state = ?",
				string(f.State), reason, by, f.Media, f.Report, f.Level, f.Field, string(FieldAsked))
		}
		first = made.RowsAffected > 0
		return made.Error
	})
	return first && err == nil, err
}

// ClaimFieldTrial reserves the trial of a field for this process for a while, and reports whether it did: only if the
// field is still to be tried and no process tries it or has tried it a short time ago. The claim of a process that
// dies expires.
func (s Fields) ClaimFieldTrial(ctx context.Context, f ReportField, lasts time.Duration) (bool, error) {
	n, err := s.changeTrial(ctx, f, "trial_at = "+s.Config.Dialect().NowPlus(lasts),
		" AND (trial_at IS NULL OR trial_at <= "+s.Config.Dialect().Now()+")")
	return n > 0, err
}

// PostponeFieldTrial records why a trial was inconclusive, and delays the next one by rest.
func (s Fields) PostponeFieldTrial(ctx context.Context, f ReportField, rest time.Duration, note string) error {
	_, err := s.changeTrial(ctx, f, "trial_note = ?, trial_at = "+s.Config.Dialect().NowPlus(rest), "",
		sqldb.Cut(note, 512))
	return err
}

// AcceptReportField makes pulls request a field that was tried.
func (s Fields) AcceptReportField(ctx context.Context, f ReportField) error {
	_, err := s.changeTrial(ctx, f, "trial_note = '', accepted_at = "+s.Config.Dialect().Now(), "")
	return err
}

// changeTrial changes the trial of a field that is still to be tried. It is not an edit.
func (s Fields) changeTrial(ctx context.Context, f ReportField, set, where string, args ...any) (int64, error) {
	changed := s.Config.Writer(ctx).Exec("UPDATE report_field SET updated_at = updated_at, "+set+
		" WHERE media = ? AND report = ? AND level = ? AND field = ? AND "+fieldTrying+where,
		append(args, f.Media, f.Report, f.Level, f.Field)...)
	if changed.Error != nil {
		return 0, fmt.Errorf("write the trial of the field %s of %s: %w", f.Field, f.Media, changed.Error)
	}
	return changed.RowsAffected, nil
}
