package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/metric"
)

// ReportRow is one row of a report, ready for the raw and the public table.
type ReportRow struct {
	Day     day.Day
	Object  string
	Hour    int
	Raw     []any // values of the raw table's typed columns
	JSON    string
	Metrics metric.Values
}

// ReportWrite is a pulled report: all rows of the claim's scope. One of some hours must be whole within them.
type ReportWrite struct {
	Claim
	Raw      RawTable
	Hourly   bool
	Currency string
	Zone     string
	Rows     []ReportRow
	// Whole says that the pages agreed. Otherwise the rows are kept, nothing is deleted, and coverage says partial.
	Whole bool
	Note  string
	// Confirmed says that what is missing is gone, however much it held.
	Confirmed bool
	// DirtySummary marks days whose rows changed for the summaries to read again.
	DirtySummary bool
}

// SuspectShareMax is the share of a day's cost that rows missing from a whole pull may take away before the pull is
// suspect. Platforms answer "success, no rows" in the early morning.
const SuspectShareMax = 0.05

// ReportResult is what WriteReport did.
type ReportResult struct {
	Written int       // rows inserted or changed
	Deleted int       // rows the platform no longer has
	Suspect []day.Day // days where nothing was deleted because too much would have gone
	// Fenced are days that were left to the pulls that have claimed them since; FencedComplete tells whether those are
	// whole already.
	Fenced         []day.Day
	FencedComplete bool
}

func reportTable(hourly bool) Table {
	t := Table{Name: "report_daily", Key: []string{"day", "account_id", "level", "object_id"}}
	if hourly {
		t.Name, t.Key = "report_hourly", append(t.Key, "hour")
	}
	t.Columns = append([]string{"media", "currency", "day_zone"}, metric.Names()...)
	t.Columns = append(t.Columns, "updated_at", "version")
	return t
}

type reportKey struct {
	day    day.Day
	object string
	hour   int
}

// args appends the key for an SQL statement.
func (k reportKey) args(args []any, accountID int64, level string, hourly bool) []any {
	args = append(args, string(k.day), accountID, level, k.object)
	if hourly {
		args = append(args, k.hour)
	}
	return args
}

// WriteReport makes the raw and the public rows of a scope what the pull saw, in one transaction under the scope's
// fence: rows that did not change are left alone, rows that a whole pull no longer has are deleted by primary key.
// Days that another pull has claimed since BeginPull are left out; when that is all of them, it writes nothing and
// returns *FencedError. It may be repeated after an error: rows that were written unseen are found unchanged, and are not
// counted as written again.
func (s *Store) WriteReport(ctx context.Context, w ReportWrite) (ReportResult, error) {
	var result ReportResult
	err := s.writeScope(ctx, w.Claim, func(tx *gorm.DB, now time.Time, locked lockedScope) ([]dayOutcome, error) {
		result = ReportResult{Fenced: locked.fenced, FencedComplete: locked.fencedComplete}
		w := w
		w.Claim = locked.Claim
		have, err := s.Data.readReport(tx, w)
		if err != nil {
			return nil, err
		}
		days := make(map[day.Day]*dayOutcome, len(w.Days))
		outcomes := make([]dayOutcome, len(w.Days))
		for i, d := range w.Days {
			outcomes[i] = dayOutcome{day: d, whole: w.Whole && w.FromHour == 0, state: Complete, note: w.Note, hours: w.FromHour > 0}
			if !w.Whole {
				outcomes[i].state = Partial
			}
			days[d] = &outcomes[i]
		}
		if err := s.Data.writeReportRows(tx, w, now, have, days, &result); err != nil {
			return nil, err
		}
		if w.FromHour > 0 {
			for k, e := range have {
				if !e.seen {
					days[k.day].rows++
				}
			}
			return outcomes, nil
		}
		if w.Whole {
			if err := s.Data.deleteStaleReport(tx, w, now, have, days, &result); err != nil {
				return nil, err
			}
		}
		return outcomes, s.Data.markReport(tx, w, now, outcomes)
	})
	if err != nil {
		return ReportResult{}, err
	}
	return result, nil
}

// markReport marks the days whose rows changed for wide_daily, which has no hours.
func (d *DB) markReport(tx *gorm.DB, w ReportWrite, now time.Time, outcomes []dayOutcome) error {
	if w.Hourly {
		return nil
	}
	var days []day.Day
	for _, o := range outcomes {
		if o.changed {
			days = append(days, o.day)
		}
	}
	return d.markWide(tx, w.Media, w.AccountID, days, now.UnixMicro())
}

// existing is a row that the tables hold.
type existing struct {
	json   string // "" when the raw row is missing
	public bool
	cost   int64
	seen   bool // the pull has it too
}

func (d *DB) readReport(tx *gorm.DB, w ReportWrite) (map[reportKey]*existing, error) {
	hour := "0"
	if w.Hourly {
		hour = "hour"
	}
	where := " WHERE day IN ? AND account_id = ? AND level = ?"
	have := map[reportKey]*existing{}
	at := func(k reportKey) *existing {
		e := have[k]
		if e == nil {
			e = &existing{}
			have[k] = e
		}
		return e
	}
	rows, err := tx.Raw("SELECT day, object_id, "+hour+", row_json FROM "+w.Raw.Name+where, w.Days, w.AccountID, w.Level).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", w.Raw.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var k reportKey
		var json string
		if err := rows.Scan(&k.day, &k.object, &k.hour, &json); err != nil {
			return nil, fmt.Errorf("read %s: %w", w.Raw.Name, err)
		}
		at(k).json = json
	}
	if err := firstError(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", w.Raw.Name, err)
	}
	public := reportTable(w.Hourly).Name
	rows, err = tx.Raw("SELECT day, object_id, "+hour+", COALESCE(cost, 0) FROM "+public+where, w.Days, w.AccountID, w.Level).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", public, err)
	}
	defer rows.Close()
	for rows.Next() {
		var k reportKey
		var cost int64
		if err := rows.Scan(&k.day, &k.object, &k.hour, &cost); err != nil {
			return nil, fmt.Errorf("read %s: %w", public, err)
		}
		e := at(k)
		e.public, e.cost = true, cost
	}
	return have, rows.Err()
}

func (d *DB) writeReportRows(tx *gorm.DB, w ReportWrite, now time.Time, have map[reportKey]*existing, days map[day.Day]*dayOutcome, result *ReportResult) error {
	rawTable, publicTable := w.Raw.Upsert(), reportTable(w.Hourly)
	updated, err := At(now).Value() // Once: each row has it.
	if err != nil {
		return err
	}
	raw, public := rowsOf(rawTable), rowsOf(publicTable)
	for i := range w.Rows {
		row := &w.Rows[i]
		o := days[row.Day]
		if o == nil && slices.Contains(result.Fenced, row.Day) {
			continue
		}
		if o == nil {
			return fmt.Errorf("the pull of %s has a row of %s, outside its days", w.Report, row.Day)
		}
		o.rows++
		k := reportKey{day: row.Day, object: row.Object}
		if w.Hourly {
			k.hour = row.Hour
		}
		if e := have[k]; e != nil {
			e.seen = true
			if e.json == row.JSON && e.public {
				continue
			}
		}
		raw.add(func(args []any) []any {
			return append(append(k.args(args, w.AccountID, w.Level, w.Hourly), row.Raw...), row.JSON, w.Version)
		})
		public.add(func(args []any) []any {
			args = append(k.args(args, w.AccountID, w.Level, w.Hourly), w.Media, w.Currency, w.Zone)
			return append(row.Metrics.Args(args), updated, w.Version)
		})
		o.dirty, o.changed = w.DirtySummary, true
	}
	result.Written = len(raw.rows)
	if err := d.Upsert(tx, rawTable, raw.rows); err != nil {
		return err
	}
	return d.Upsert(tx, publicTable, public.rows)
}

// tableRows gathers rows for a table, many of them in one piece of memory.
type tableRows struct {
	width int
	rows  [][]any
	free  []any
}

// rowsPerPiece is how many rows share a piece of memory.
const rowsPerPiece = 128

func rowsOf(t Table) *tableRows { return &tableRows{width: len(t.Key) + len(t.Columns)} }

// add adds the row whose values fill appends.
func (t *tableRows) add(fill func([]any) []any) {
	if cap(t.free) < t.width {
		t.free = make([]any, 0, rowsPerPiece*t.width)
	}
	row := fill(t.free)
	t.rows, t.free = append(t.rows, slices.Clip(row)), row[len(row):]
}

// deleteStaleReport deletes what the tables have and a whole pull has not, unless that looks like the platform's
// mistake.
func (d *DB) deleteStaleReport(tx *gorm.DB, w ReportWrite, now time.Time, have map[reportKey]*existing, days map[day.Day]*dayOutcome, result *ReportResult) error {
	type sums struct {
		cost, gone int64
		keys       [][]any
		public     [][]any // those of them that the public table has
	}
	stale := map[day.Day]*sums{}
	for k, e := range have {
		s := stale[k.day]
		if s == nil {
			s = &sums{}
			stale[k.day] = s
		}
		s.cost += e.cost
		if !e.seen {
			s.gone += e.cost
			s.keys = append(s.keys, k.args(nil, w.AccountID, w.Level, w.Hourly))
			if e.public {
				s.public = append(s.public, k.args(nil, w.AccountID, w.Level, w.Hourly))
			}
		}
	}
	var keys, public [][]any
	for _, day := range w.Days {
		s := stale[day]
		if s == nil || len(s.keys) == 0 {
			continue
		}
		o := days[day]
		if !w.Confirmed && s.cost > 0 && (o.rows == 0 || float64(s.gone) > SuspectShareMax*float64(s.cost)) {
			o.state, o.whole = Suspect, false
			o.note = fmt.Sprintf("the platform's answer lacks %d of the rows that there were, with %.2f of %s %.2f", len(s.keys), float64(s.gone)/1e6, w.Currency, float64(s.cost)/1e6)
			result.Suspect = append(result.Suspect, day)
			continue
		}
		o.dirty, o.changed = o.dirty || w.DirtySummary, true
		keys, public = append(keys, s.keys...), append(public, s.public...)
	}
	result.Deleted = len(keys)
	if err := d.deleteStale(tx, w.Raw.Name, w.Raw.Key(), keys, w.Version); err != nil {
		return err
	}
	return d.deletePublic(tx, reportTable(w.Hourly), public, w.Version, now)
}

// nowTx is the database's time, read inside a transaction.
func (d *DB) nowTx(tx *gorm.DB) (time.Time, error) {
	var now Time
	if err := tx.Raw("SELECT " + d.dialect.Now()).Row().Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read database time: %w", err)
	}
	return now.Time, nil
}
