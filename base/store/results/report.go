package results

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/widemark"
)

// ReportRow is one row of a report, ready for the raw and the public table.
type ReportRow struct {
	Day     day.Day
	Object  string // the platform's id; "" at account level
	Hour    int    // of hourly reports: 0 to 23 in the account's zone
	Raw     []any  // values of the raw table's typed columns
	JSON    string // the platform's whole row
	Metrics metric.Values
}

// ReportWrite is a pulled report: all rows of the claim's scope. If the claim is only to some hours (FromHour), the
// caller must have read all pages of them.
type ReportWrite struct {
	Claim
	Raw      rawtable.Table
	Hourly   bool
	Currency string // of the account; ISO 4217
	Zone     string // of the account, for day_zone
	Rows     []ReportRow
	// Whole is set if the pages agreed. Otherwise the rows are kept, nothing is deleted, and coverage is partial.
	Whole bool
	Note  string // for coverage: why the pull is not whole
	// Confirmed is set if a person has confirmed the answer: stored rows that it lacks are deleted, whatever their cost.
	Confirmed bool
	// Judging decides which days are believed.
	Judging Judging
	// DirtySummary is set if the summaries must be rebuilt for the days whose rows changed.
	DirtySummary bool
	// Unusable are values of the rows that could not be used. A day that lacks figures or rows for that reason is
	// partial.
	Unusable []Unusable
}

// ReportResult is the effect of WriteReport.
type ReportResult struct {
	Written int       // rows inserted or changed
	Deleted int       // rows that were deleted because the answer lacks them
	Suspect []day.Day // days where nothing was deleted because the answer lacks too much
	Why     string    // why the first of Suspect is suspect
	Doubts  []Doubt   // other reports and levels whose figures for a day of the scope the answer contradicts
	// Fenced are the days that other pulls have claimed since BeginPull: they are not written. FencedComplete reports
	// whether those pulls are already whole.
	Fenced         []day.Day
	FencedComplete bool
}

// ReportTable returns report_daily or report_hourly.
func ReportTable(hourly bool) sqldb.Table {
	t := sqldb.Table{Name: "report_daily", Key: []string{"day", "account_id", "level", "object_id"}}
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

func (r *ReportRow) key(hourly bool) reportKey {
	k := reportKey{day: r.Day, object: r.Object}
	if hourly {
		k.hour = r.Hour
	}
	return k
}

// args appends the key's values to the arguments of a statement.
func (k reportKey) args(args []any, accountID int64, level string, hourly bool) []any {
	args = append(args, string(k.day), accountID, level, k.object)
	if hourly {
		args = append(args, k.hour)
	}
	return args
}

// WriteReport brings the raw and the public rows of a scope in line with the pull, in one transaction under the
// scope's fence. Rows that did not change are not written. Rows that a whole and believed pull lacks are deleted, by
// primary key.
//
// Days that another pull has claimed since BeginPull are left out. If no day is left, WriteReport writes nothing and
// returns *FencedError. It may be repeated after an error: rows that an earlier try has committed count as unchanged.
func (s Results) WriteReport(ctx context.Context, w ReportWrite) (ReportResult, error) {
	var result ReportResult
	err := s.writeScope(ctx, w.Claim, func(tx *gorm.DB, now time.Time, locked lockedScope) ([]dayOutcome, error) {
		result = ReportResult{Fenced: locked.fenced, FencedComplete: locked.fencedComplete}
		w := w
		w.Claim = locked.Claim
		stored, err := readReport(tx, w)
		if err != nil {
			return nil, err
		}
		days := make(map[day.Day]*dayOutcome, len(w.Days))
		outcomes := make([]dayOutcome, len(w.Days))
		for i, d := range w.Days {
			outcomes[i] = dayOutcome{day: d, whole: w.Whole && w.FromHour == 0, state: Complete, note: w.Note,
				hours: w.FromHour > 0}
			if !w.Whole {
				outcomes[i].state = Partial
			}
			outcomes[i].adds = w.FromHour > 0
			outcomes[i].markUnusable(w.Unusable)
			days[d] = &outcomes[i]
		}
		stale := stored.stale(&w)
		if err := judgeReport(s.Data, tx, &w, locked.before, &stored, stale, outcomes, &result); err != nil {
			return nil, err
		}
		if err := writeReportRows(s.Data, tx, w, now, stored, days, &result); err != nil {
			return nil, err
		}
		if w.FromHour > 0 {
			for k := range stored.gone {
				days[k.day].rows++
			}
			return outcomes, nil
		}
		if w.Whole {
			if err := deleteStaleReport(s.Data, tx, w, now, stale, days, &result); err != nil {
				return nil, err
			}
		}
		return outcomes, markReport(s.Data, tx, w, now, outcomes)
	})
	if err != nil {
		return ReportResult{}, err
	}
	return result, nil
}

// markReport marks the days whose rows changed, so that wide_daily is rebuilt for them. Hourly reports need no marks:
// wide_daily has no hours.
func markReport(d *sqldb.DB, tx *gorm.DB, w ReportWrite, now time.Time, outcomes []dayOutcome) error {
	if w.Hourly {
		return nil
	}
	var days []day.Day
	for _, o := range outcomes {
		if o.changed {
			days = append(days, o.day)
		}
	}
	return widemark.Days(d, tx, w.Media, w.AccountID, days, now.UnixMicro())
}

// storedRows describes the stored rows of a scope, compared with a pull of it.
type storedRows struct {
	rows  map[reportKey]int        // the index of each key in the pull's list; the last one of a repeated key
	same  []bool                   // by the pull's list: the raw table's row is equal
	shown []bool                   // by the pull's list: the public table has the row
	gone  map[reportKey]missingRow // rows that the pull lacks
	costs map[day.Day]int64        // the cost of the day's public rows, in millionths of the currency
}

// missingRow is a stored row that a pull lacks.
type missingRow struct {
	cost   int64 // in millionths of the currency; 0 if it is not public
	public bool  // the public table has it
}

// readReport reads the stored rows of a pull's scope. It allocates nothing for a row that the pull has too, because
// there are thousands of them.
func readReport(tx *gorm.DB, w ReportWrite) (storedRows, error) {
	stored := storedRows{
		rows: make(map[reportKey]int, len(w.Rows)), same: make([]bool, len(w.Rows)), shown: make([]bool, len(w.Rows)),
		gone: map[reportKey]missingRow{}, costs: map[day.Day]int64{},
	}
	for i := range w.Rows {
		stored.rows[w.Rows[i].key(w.Hourly)] = i
	}
	err := eachReportRow(tx, w, w.Raw.Name, "row_json", func(k scannedKey, json []byte) error {
		if i, pulled := stored.at(k); pulled {
			stored.same[i] = string(json) == w.Rows[i].JSON
		} else {
			stored.gone[k.reportKey()] = missingRow{}
		}
		return nil
	})
	if err != nil {
		return stored, err
	}
	return stored, eachReportRow(tx, w, ReportTable(w.Hourly).Name, "COALESCE(cost, 0)",
		func(k scannedKey, text []byte) error {
			cost, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return err
			}
			if i, pulled := stored.at(k); pulled {
				stored.shown[i] = true
				stored.costs[w.Rows[i].Day] += cost
				return nil
			}
			key := k.reportKey()
			stored.gone[key] = missingRow{cost: cost, public: true}
			stored.costs[key.day] += cost
			return nil
		})
}

// at returns the index of a row in the pull's list. The key is built inside the map's brackets, so that the compiler
// copies no bytes for it.
func (t *storedRows) at(k scannedKey) (i int, pulled bool) {
	i, pulled = t.rows[reportKey{day: day.Day(k.day), object: string(k.object), hour: k.hour}]
	return i, pulled
}

// scannedKey is a report key in the memory of the database driver. It is valid until the next row is scanned.
type scannedKey struct {
	day, object []byte
	hour        int
}

func (k scannedKey) reportKey() reportKey {
	return reportKey{day: day.Day(k.day), object: string(k.object), hour: k.hour}
}

// eachReportRow calls row with the key and one column of each row of a scope in a table, in no particular order.
func eachReportRow(tx *gorm.DB, w ReportWrite, table, column string,
	row func(k scannedKey, value []byte) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", table, err)
		}
	}()
	columns := "day, object_id, " + column
	var dayBytes, object, value sql.RawBytes
	var k scannedKey
	dest := []any{&dayBytes, &object, &value}
	if w.Hourly {
		columns, dest = columns+", hour", append(dest, &k.hour)
	}
	query := tx.Raw("SELECT "+columns+" FROM "+table+" WHERE day IN ? AND account_id = ? AND level = ?", w.Days,
		w.AccountID, w.Level)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		k.day, k.object = sqldb.DayIn(dayBytes), object
		if err := row(k, value); err != nil {
			return err
		}
		return nil
	})
}

// writeReportRows writes the new and the changed rows, and sets rows, dirty and changed in the outcomes of their days.
func writeReportRows(d *sqldb.DB, tx *gorm.DB, w ReportWrite, now time.Time, stored storedRows,
	days map[day.Day]*dayOutcome, result *ReportResult) error {
	rawTable, publicTable := sqldb.UpsertOf(w.Raw), ReportTable(w.Hourly)
	updated, err := sqldb.At(now).Value() // Converted once for all rows.
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
		k := row.key(w.Hourly)
		if stored.rows[k] != i {
			continue // The pull returned the row twice.
		}
		o.rows++
		if stored.same[i] && stored.shown[i] {
			continue
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

// tableRows collects rows for a table. It allocates memory for rowsPerPiece rows at a time.
type tableRows struct {
	width int // values of a row
	rows  [][]any
	free  []any // the unused part of the newest allocation
}

// rowsPerPiece is how many rows share one allocation.
const rowsPerPiece = 128

func rowsOf(t sqldb.Table) *tableRows { return &tableRows{width: len(t.Key) + len(t.Columns)} }

// add adds a row. fill must append its values to its argument and return the result.
func (t *tableRows) add(fill func([]any) []any) {
	if cap(t.free) < t.width {
		t.free = make([]any, 0, rowsPerPiece*t.width)
	}
	row := fill(t.free)
	t.rows, t.free = append(t.rows, slices.Clip(row)), row[len(row):]
}

// staleRows are stored rows of a day that a pull lacks.
type staleRows struct {
	cost   int64 // in millionths of the currency
	keys   [][]any
	public [][]any // those that the public table has
}

// stale returns the stored rows that a whole pull of whole days lacks, by day; nil for any other pull.
func (t *storedRows) stale(w *ReportWrite) map[day.Day]*staleRows {
	if !w.Whole || w.FromHour > 0 {
		return nil
	}
	stale := map[day.Day]*staleRows{}
	for k, row := range t.gone {
		s := stale[k.day]
		if s == nil {
			s = &staleRows{}
			stale[k.day] = s
		}
		s.cost += row.cost
		s.keys = append(s.keys, k.args(nil, w.AccountID, w.Level, w.Hourly))
		if row.public {
			s.public = append(s.public, k.args(nil, w.AccountID, w.Level, w.Hourly))
		}
	}
	return stale
}

// deleteStaleReport deletes the stored rows that a whole pull lacks. It leaves out the days whose answer is suspect or
// lost figures or rows to unusable values.
func deleteStaleReport(d *sqldb.DB, tx *gorm.DB, w ReportWrite, now time.Time, stale map[day.Day]*staleRows,
	days map[day.Day]*dayOutcome, result *ReportResult) error {
	var keys, public [][]any
	for _, day := range w.Days {
		s, o := stale[day], days[day]
		if s == nil || o.opens || o.state == Suspect {
			continue
		}
		o.dirty, o.changed = o.dirty || w.DirtySummary, true
		keys, public = append(keys, s.keys...), append(public, s.public...)
	}
	result.Deleted = len(keys)
	if err := d.DeleteStale(tx, w.Raw.Name, w.Raw.Key(), keys, w.Version); err != nil {
		return err
	}
	return DeletePublic(d, tx, ReportTable(w.Hourly), public, w.Version, now)
}
