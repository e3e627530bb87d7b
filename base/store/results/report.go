package results

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	// Compare is set if the stored rows are compared with the pull's in any case, also if the digest of the day says that
	// they are equal: somebody may have changed them.
	Compare bool
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

// reportTables are what ReportTable returns.
var reportTables = map[bool]sqldb.Table{false: reportTable(false), true: reportTable(true)}

// ReportTable returns report_daily or report_hourly. Its slices are shared: do not change them.
func ReportTable(hourly bool) sqldb.Table { return reportTables[hourly] }

func reportTable(hourly bool) sqldb.Table {
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
// primary key. Pulls that end at the same time may share a transaction.
//
// Days that another pull has claimed since BeginPull are left out. If no day is left, WriteReport writes nothing and
// returns *FencedError. It may be repeated after an error: rows that an earlier try has committed count as unchanged.
func (s Results) WriteReport(ctx context.Context, w ReportWrite) (ReportResult, error) {
	if !w.plain() {
		return s.writeReport(ctx, w)
	}
	return s.writePlain(ctx, w, w.isCompared())
}

// writeReport is WriteReport in a transaction of its own.
func (s Results) writeReport(ctx context.Context, w ReportWrite) (ReportResult, error) {
	var p *reportPull
	err := s.writeScope(ctx, w.Claim, func(tx *gorm.DB, now time.Time, locked lockedScope) ([]dayOutcome, error) {
		p = newReportPull(w, locked)
		if err := readReports(tx, []*reportPull{p}); err != nil {
			return nil, err
		}
		stale := p.stored.stale(&p.ReportWrite)
		answers := p.answers(locked.before, &p.stored, stale)
		others, err := evidenceFor(s.Data, tx, w.AccountID, &p.Judging, answers, w.Confirmed)
		if err != nil {
			return nil, err
		}
		if err := judgeReport(tx, &p.ReportWrite, answers, others, p.outcomes, &p.result); err != nil {
			return nil, err
		}
		if err := p.change(now); err != nil {
			return nil, err
		}
		if err := upsertReports(s.Data, tx, []*reportPull{p}); err != nil {
			return nil, err
		}
		if err := deleteStaleReport(s.Data, tx, p.ReportWrite, now, stale, p.days, &p.result); err != nil {
			return nil, err
		}
		return p.outcomes, widemark.Days(s.Data, tx, w.Media, p.marks(), now.UnixMicro())
	})
	if err != nil {
		return ReportResult{}, err
	}
	return p.result, nil
}

// reportPull is a report's write in a transaction that has locked its scope. Its claim has the days that it may still
// write.
type reportPull struct {
	ReportWrite
	before      []Coverage // of its days
	toRead      []day.Day  // the days whose stored rows must be read
	stored      storedRows
	outcomes    []dayOutcome // of its days
	days        map[day.Day]*dayOutcome
	raw, public [][]any // the rows to write
	result      ReportResult

	// Of a pull in a shared transaction: its answers, and the days whose answers are compared with other reports.
	judged       []Answer
	comparedDays []day.Day
}

func newReportPull(w ReportWrite, locked lockedScope) *reportPull {
	w.Claim = locked.Claim
	p := &reportPull{ReportWrite: w, before: locked.before, outcomes: make([]dayOutcome, len(w.Days)),
		days:   make(map[day.Day]*dayOutcome, len(w.Days)),
		result: ReportResult{Fenced: locked.fenced, FencedComplete: locked.fencedComplete},
		stored: newStoredRows(&w)}
	for i, d := range w.Days {
		o := dayOutcome{day: d, whole: w.Whole && w.FromHour == 0, state: Complete, note: w.Note, hours: w.FromHour > 0,
			adds: w.FromHour > 0}
		if !w.Whole {
			o.state = Partial
		}
		o.markUnusable(w.Unusable)
		p.outcomes[i] = o
		p.days[d] = &p.outcomes[i]
	}
	p.compareDigests()
	return p
}

// marks returns the days whose rows changed, for which wide_daily must be rebuilt. Hourly reports need no marks:
// wide_daily has no hours.
func (p *reportPull) marks() []widemark.Day {
	if p.Hourly {
		return nil
	}
	var days []widemark.Day
	for _, o := range p.outcomes {
		if o.changed {
			days = append(days, widemark.Day{AccountID: p.AccountID, Day: o.day})
		}
	}
	return days
}

// storedRows describes the stored rows of a scope, compared with a pull of it.
type storedRows struct {
	rows  map[reportKey]int        // the index of each key in the pull's list; the last one of a repeated key
	same  []bool                   // by the pull's list: the raw table's row is equal
	shown []bool                   // by the pull's list: the public table has the row, with its cost, currency and zone
	gone  map[reportKey]missingRow // rows that the pull lacks
	costs map[day.Day]int64        // the cost of the day's public rows, in millionths of the currency
}

// missingRow is a stored row that a pull lacks.
type missingRow struct {
	cost   int64 // in millionths of the currency; 0 if it is not public
	public bool  // the public table has it
}

func newStoredRows(w *ReportWrite) storedRows {
	stored := storedRows{
		rows: make(map[reportKey]int, len(w.Rows)), same: make([]bool, len(w.Rows)), shown: make([]bool, len(w.Rows)),
		gone: map[reportKey]missingRow{}, costs: map[day.Day]int64{},
	}
	for i := range w.Rows {
		stored.rows[w.Rows[i].key(w.Hourly)] = i
	}
	return stored
}

// readReports reads the stored rows of pulls' scopes, without the days whose rows are known: of one raw table, each of
// another account or level. It allocates nothing for a row that its pull has too, because there are thousands of them.
func readReports(tx *gorm.DB, pulls []*reportPull) error {
	pulls = slices.DeleteFunc(slices.Clone(pulls), func(p *reportPull) bool { return len(p.toRead) == 0 })
	if len(pulls) == 0 {
		return nil
	}
	err := eachReportRow(tx, pulls, pulls[0].Raw.Name, []string{"row_json"},
		func(p *reportPull, k scannedKey, values []sql.RawBytes) error {
			if i, pulled := p.stored.at(k); pulled {
				p.stored.same[i] = string(values[0]) == p.Rows[i].JSON
			} else {
				p.stored.gone[k.reportKey()] = missingRow{}
			}
			return nil
		})
	if err != nil {
		return err
	}
	columns := []string{"COALESCE(cost, 0)", "currency", "day_zone"}
	return eachReportRow(tx, pulls, ReportTable(pulls[0].Hourly).Name, columns,
		func(p *reportPull, k scannedKey, values []sql.RawBytes) error {
			cost, err := strconv.ParseInt(string(values[0]), 10, 64)
			if err != nil {
				return err
			}
			if i, pulled := p.stored.at(k); pulled {
				is, _ := p.Rows[i].Metrics.Get(metric.Cost)
				p.stored.shown[i] = cost == is && string(values[1]) == p.Currency && string(values[2]) == p.Zone
				p.stored.costs[p.Rows[i].Day] += cost
				return nil
			}
			key := k.reportKey()
			p.stored.gone[key] = missingRow{cost: cost, public: true}
			p.stored.costs[key.day] += cost
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

// eachReportRow calls row with the pull, the key and some columns of each row of the pulls' days to read in a table, in
// no particular order.
func eachReportRow(tx *gorm.DB, pulls []*reportPull, table string, columns []string,
	row func(p *reportPull, k scannedKey, values []sql.RawBytes) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", table, err)
		}
	}()
	var dayBytes, object, level sql.RawBytes
	var k scannedKey
	var accountID int64
	values := make([]sql.RawBytes, len(columns))
	columns = append([]string{"day", "object_id"}, columns...)
	dest := []any{&dayBytes, &object}
	for i := range values {
		dest = append(dest, &values[i])
	}
	if pulls[0].Hourly {
		columns, dest = append(columns, "hour"), append(dest, &k.hour)
	}
	if len(pulls) > 1 {
		columns, dest = append(columns, "account_id", "level"), append(dest, &accountID, &level)
	}
	condition, args := anyOf(len(pulls), "day IN ? AND account_id = ? AND level = ?", func(i int) (int64, []any) {
		p := pulls[i]
		return p.AccountID, []any{p.toRead, p.AccountID, p.Level}
	})
	query := tx.Raw("SELECT "+strings.Join(columns, ", ")+" FROM "+table+" WHERE "+condition, args...)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		p := pulls[0]
		if len(pulls) > 1 {
			p = pulls[slices.IndexFunc(pulls, func(p *reportPull) bool {
				return p.AccountID == accountID && p.Level == string(level)
			})]
		}
		k.day, k.object = sqldb.DayIn(dayBytes), object
		return row(p, k, values)
	})
}

// change collects the new and the changed rows, and sets rows, dirty and changed in the outcomes of their days.
func (p *reportPull) change(now time.Time) error {
	updated, err := sqldb.At(now).Value() // Converted once for all rows.
	if err != nil {
		return err
	}
	raw, public := rowsOf(sqldb.UpsertOf(p.Raw), len(p.Rows)), rowsOf(ReportTable(p.Hourly), len(p.Rows))
	for i := range p.Rows {
		row := &p.Rows[i]
		o := p.days[row.Day]
		if o == nil && slices.Contains(p.result.Fenced, row.Day) {
			continue
		}
		if o == nil {
			return fmt.Errorf("the pull of %s has a row of %s, outside its days", p.Report, row.Day)
		}
		k := row.key(p.Hourly)
		if p.stored.rows[k] != i {
			continue // The pull returned the row twice.
		}
		o.rows++
		if p.stored.same[i] && p.stored.shown[i] {
			continue
		}
		raw.add(func(args []any) []any {
			return append(append(k.args(args, p.AccountID, p.Level, p.Hourly), row.Raw...), row.JSON, p.Version)
		})
		public.add(func(args []any) []any {
			args = append(k.args(args, p.AccountID, p.Level, p.Hourly), p.Media, p.Currency, p.Zone)
			return append(row.Metrics.Args(args), updated, p.Version)
		})
		o.dirty, o.changed = p.DirtySummary, true
	}
	if p.FromHour > 0 {
		for k := range p.stored.gone {
			p.days[k.day].rows++ // It is of an earlier hour, or stays although this pull lacks it.
		}
	}
	p.raw, p.public, p.result.Written = raw.rows, public.rows, len(raw.rows)
	return nil
}

// upsertReports writes the collected rows of pulls of one raw table.
func upsertReports(d *sqldb.DB, tx *gorm.DB, pulls []*reportPull) error {
	var raw, public [][]any
	for _, p := range pulls {
		raw, public = append(raw, p.raw...), append(public, p.public...)
	}
	if err := d.Upsert(tx, sqldb.UpsertOf(pulls[0].Raw), raw); err != nil {
		return err
	}
	return d.Upsert(tx, ReportTable(pulls[0].Hourly), public)
}

// tableRows collects rows for a table. It allocates memory for rowsPerPiece rows at a time, or as many as may come.
type tableRows struct {
	width int // values of a row
	left  int // the most rows that are still to come
	rows  [][]any
	free  []any // the unused part of the newest allocation
}

// rowsPerPiece is how many rows share one allocation.
const rowsPerPiece = 128

// rowsOf returns a collection of up to most rows.
func rowsOf(t sqldb.Table, most int) *tableRows {
	return &tableRows{width: len(t.Key) + len(t.Columns), left: most}
}

// add adds a row. fill must append its values to its argument and return the result.
func (t *tableRows) add(fill func([]any) []any) {
	if cap(t.free) < t.width {
		t.free = make([]any, 0, min(rowsPerPiece, max(t.left, 1))*t.width)
	}
	t.left--
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
