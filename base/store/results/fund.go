package results

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
)

// FundRow is one of a platform's rows about an account's money.
type FundRow struct {
	Day      day.Day // of the cash flow; day.Epoch of a balance
	FundType string  // in the platform's words; "" when there is one row for all
	Raw      []any   // values of the raw table's typed columns
	JSON     string
}

// FundSum is the sum of all rows of a day for one kind of money.
type FundSum struct {
	Day day.Day
	fund.Row
}

// FundWrite is a pull of an account's money: its balances now, or the cash flow of the claim's days.
type FundWrite struct {
	Claim                // a balance's only day is day.Epoch
	Raw   rawtable.Table // FundRows writes account_balance, DailyFundRows fund_daily
	// Currency is the currency of all amounts, Zone the zone of the days.
	Currency string
	Zone     string
	Rows     []FundRow
	Sums     []FundSum
	// Whole is set if the pages agreed. Otherwise the raw rows are kept, the public ones stay as they were, since a sum
	// that lacks a part is wrong, and coverage is partial.
	Whole bool
	Note  string
	// Confirmed is set if an answer without rows is believed.
	Confirmed bool
	// JudgeRows decides by the rows of each day whether they are believed, and Judging by the cost of a believed day of
	// a cash flow.
	JudgeRows JudgeRows
	Judging   Judging
	// Unusable are values of the rows that could not be used. The public rows of a day that lacks rows for that reason
	// stay as they were.
	Unusable []Unusable
}

func (w *FundWrite) daily() bool { return w.Raw.Shape == rawtable.DailyFundRows }

// fields returns the columns of the public table that hold amounts.
func (w *FundWrite) fields() []fund.Field {
	if w.daily() {
		return fund.DailyFields
	}
	return fund.BalanceFields
}

func (w *FundWrite) table() sqldb.Table {
	t := sqldb.Table{Name: "account_balance", Key: []string{"account_id", "fund"}, Columns: []string{"media", "currency"}}
	if w.daily() {
		t = sqldb.Table{Name: "fund_daily", Key: []string{"day", "account_id", "fund"},
			Columns: []string{"media", "currency", "day_zone"}}
	}
	for _, f := range w.fields() {
		t.Columns = append(t.Columns, f.Column())
	}
	t.Columns = append(t.Columns, "updated_at", "version")
	return t
}

// lacksRows reports whether a row of a day was lost, so that its sums would lack a part.
func (w *FundWrite) lacksRows(d day.Day) bool {
	return slices.ContainsFunc(UnusableOf(w.Unusable, d), func(u Unusable) bool { return u.Kind == rawtable.KeyFault })
}

// same reports whether the amounts of the public table's fields are equal.
func (w *FundWrite) same(a, b fund.Values) bool {
	return !slices.ContainsFunc(w.fields(), func(f fund.Field) bool { return a[f] != b[f] })
}

// fundKey identifies a row of a raw table by its fund type, or of a public one by its fund.
type fundKey struct {
	day  day.Day
	name string
}

func (w *FundWrite) keyArgs(k fundKey) []any {
	if w.daily() {
		return []any{k.day, w.AccountID, k.name}
	}
	return []any{w.AccountID, k.name}
}

// fundTables is the stored rows of a scope in both tables.
type fundTables struct {
	raw    map[fundKey]rawFund
	public map[fundKey]fund.Values
	// before is set if there is a cash flow of the day before the scope.
	before bool
}

// rawFund is a stored row of a raw table.
type rawFund struct {
	json  string
	unset int // how many of its typed columns are NULL
}

// equals reports whether the stored row is as a pull's would be. A column that was added to the table after the row
// was written is NULL in it although the JSON is equal.
func (f rawFund) equals(r *FundRow) bool {
	unset := 0
	for _, v := range r.Raw {
		if v == nil {
			unset++
		}
	}
	return f.json == r.JSON && f.unset == unset
}

// WriteFunds brings the raw and the public rows of an account's money in line with the pull, in one transaction under
// the scope's fence. Rows that did not change are left alone, and rows that a whole pull lacks are deleted. A day of
// a whole pull is suspect when its answer is not believed: nothing of it is deleted, unless the answer was confirmed.
// The newest days of a cash flow without a row are partial if the day before them has one, since platforms publish
// days late. Days that another pull has claimed since BeginPull are left out; if none is left, nothing is written and
// the error is *FencedError. It may be repeated after an error.
func (s Results) WriteFunds(ctx context.Context, w FundWrite) (ReportResult, error) {
	var result ReportResult
	err := s.writeScope(ctx, w.Claim, func(tx *gorm.DB, now time.Time, locked lockedScope) ([]dayOutcome, error) {
		result = ReportResult{Fenced: locked.fenced, FencedComplete: locked.fencedComplete}
		w := w
		w.Claim = locked.Claim
		have, err := readFunds(tx, &w)
		if err != nil {
			return nil, err
		}
		outcomes, err := w.judge(have, &result)
		if err != nil {
			return nil, err
		}
		if err := judgeFunds(s.Data, tx, &w, locked.before, have, outcomes, &result); err != nil {
			return nil, err
		}
		if err := writeFundRows(s.Data, tx, &w, now, have, &result); err != nil {
			return nil, err
		}
		if w.Whole {
			if err := deleteStaleFunds(s.Data, tx, &w, now, have, &result); err != nil {
				return nil, err
			}
		}
		return outcomes, nil
	})
	if err != nil {
		return ReportResult{}, err
	}
	return result, nil
}

// readFunds reads the stored rows of the scope.
func readFunds(tx *gorm.DB, w *FundWrite) (fundTables, error) {
	have := fundTables{raw: map[fundKey]rawFund{}, public: map[fundKey]fund.Values{}}
	dayColumn, where, args := "'"+day.Epoch.String()+"'", " WHERE account_id = ?", []any{w.AccountID}
	if w.daily() {
		dayColumn, where = "day", " WHERE day IN ? AND account_id = ?"
		args = []any{append([]day.Day{w.Days[0].Add(-1)}, w.Days...), w.AccountID}
	}
	unset := []string{"0"}
	for _, c := range w.Raw.Columns {
		unset = append(unset, "("+c.Name+" IS NULL)")
	}
	rows, err := tx.Raw("SELECT "+dayColumn+", fund_type, row_json, "+strings.Join(unset, " + ")+" FROM "+w.Raw.Name+where,
		args...).Rows()
	if err != nil {
		return have, fmt.Errorf("read %s: %w", w.Raw.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var k fundKey
		var row rawFund
		if err := rows.Scan(&k.day, &k.name, &row.json, &row.unset); err != nil {
			return have, fmt.Errorf("read %s: %w", w.Raw.Name, err)
		}
		if slices.Contains(w.Days, k.day) {
			have.raw[k] = row
		}
	}
	if err := sqldb.FirstError(rows.Err(), rows.Close()); err != nil {
		return have, fmt.Errorf("read %s: %w", w.Raw.Name, err)
	}
	table := w.table()
	names := make([]string, len(w.fields()))
	for i, f := range w.fields() {
		names[i] = f.Column()
	}
	rows, err = tx.Raw("SELECT "+dayColumn+", fund, "+strings.Join(names, ", ")+" FROM "+table.Name+where, args...).Rows()
	if err != nil {
		return have, fmt.Errorf("read %s: %w", table.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var k fundKey
		amounts := make([]*int64, len(names))
		dest := []any{&k.day, &k.name}
		for i := range amounts {
			dest = append(dest, &amounts[i])
		}
		if err := rows.Scan(dest...); err != nil {
			return have, fmt.Errorf("read %s: %w", table.Name, err)
		}
		if !slices.Contains(w.Days, k.day) {
			have.before = true
			continue
		}
		var values fund.Values
		for i, f := range w.fields() {
			if amounts[i] != nil {
				values[f] = fund.Of(*amounts[i])
			}
		}
		have.public[k] = values
	}
	return have, rows.Err()
}

// judge returns the outcome of each day.
func (w *FundWrite) judge(have fundTables, result *ReportResult) ([]dayOutcome, error) {
	counts := map[day.Day]int{}
	for _, r := range w.Rows {
		if !slices.Contains(w.Days, r.Day) && !slices.Contains(result.Fenced, r.Day) {
			return nil, fmt.Errorf("the pull of %s has a row of %s, outside its days", w.Report, r.Day)
		}
		counts[r.Day]++
	}
	known := map[day.Day]int{}
	for k := range have.public {
		known[k.day]++
	}
	outcomes := make([]dayOutcome, len(w.Days))
	for i, d := range w.Days {
		o := dayOutcome{day: d, whole: w.Whole, state: Complete, note: w.Note, rows: int64(counts[d])}
		if !w.Whole {
			o.state = Partial
		} else if why := w.JudgeRows.judge(counts[d], known[d], w.Confirmed); why != "" {
			o.state, o.whole, o.note = Suspect, false, why
			result.Why = cmp.Or(result.Why, why)
			result.Suspect = append(result.Suspect, d)
		}
		o.markUnusable(w.Unusable)
		outcomes[i] = o
	}
	if w.daily() && w.Whole && !w.Confirmed {
		markLateDays(outcomes, have.before)
	}
	return outcomes, nil
}

// markLateDays marks the newest days without rows as partial, if the day before them has some.
func markLateDays(outcomes []dayOutcome, before bool) {
	last := -1
	for i := range outcomes {
		if outcomes[i].rows > 0 {
			last = i
		}
	}
	if last < 0 && !before {
		return
	}
	for i := last + 1; i < len(outcomes); i++ {
		if o := &outcomes[i]; o.state == Complete {
			o.state, o.whole, o.note = Partial, false, "the platform has no row of this day yet"
		}
	}
}

func writeFundRows(d *sqldb.DB, tx *gorm.DB, w *FundWrite, now time.Time, have fundTables, result *ReportResult) error {
	var raw, public [][]any
	for i := range w.Rows {
		r := &w.Rows[i]
		k := fundKey{day: r.Day, name: r.FundType}
		if row, ok := have.raw[k]; slices.Contains(result.Fenced, r.Day) || ok && row.equals(r) {
			continue
		}
		raw = append(raw, append(append(w.keyArgs(k), r.Raw...), r.JSON, w.Version))
	}
	if !w.Whole {
		return d.Upsert(tx, sqldb.UpsertOf(w.Raw), raw)
	}
	for _, s := range w.Sums {
		k := fundKey{day: s.Day, name: string(s.Kind)}
		if values, ok := have.public[k]; slices.Contains(result.Fenced, s.Day) || w.lacksRows(s.Day) || ok &&
			w.same(values, s.Values) {
			continue
		}
		row := append(w.keyArgs(k), w.Media, w.Currency)
		if w.daily() {
			row = append(row, w.Zone)
		}
		for _, f := range w.fields() {
			row = append(row, s.Values[f].Arg())
		}
		public = append(public, append(row, sqldb.At(now), w.Version))
	}
	result.Written = len(public)
	if err := d.Upsert(tx, sqldb.UpsertOf(w.Raw), raw); err != nil {
		return err
	}
	return d.Upsert(tx, w.table(), public)
}

// deleteStaleFunds deletes the stored rows that a whole pull lacks, of the days that are not suspect.
func deleteStaleFunds(d *sqldb.DB, tx *gorm.DB, w *FundWrite, now time.Time, have fundTables,
	result *ReportResult) error {
	for _, r := range w.Rows {
		delete(have.raw, fundKey{day: r.Day, name: r.FundType})
	}
	for _, s := range w.Sums {
		delete(have.public, fundKey{day: s.Day, name: string(s.Kind)})
	}
	var raw, public [][]any
	for k := range have.raw {
		if !slices.Contains(result.Suspect, k.day) && !w.lacksRows(k.day) {
			raw = append(raw, w.keyArgs(k))
		}
	}
	for k := range have.public {
		if !slices.Contains(result.Suspect, k.day) && !w.lacksRows(k.day) {
			public = append(public, w.keyArgs(k))
		}
	}
	result.Deleted = len(public)
	if err := d.DeleteStale(tx, w.Raw.Name, w.Raw.Key(), raw, w.Version); err != nil {
		return err
	}
	return DeletePublic(d, tx, w.table(), public, w.Version, now)
}
