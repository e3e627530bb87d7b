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
	"adsync/base/rawtable"
	"adsync/base/sqldb"
)

// costs reports whether a day with such values is not whole.
func (u Unusable) costs() bool { return u.Kind == rawtable.FigureFault || u.Kind == rawtable.KeyFault }

// UnusableOf returns the values of a day.
func UnusableOf(all []Unusable, d day.Day) []Unusable {
	var of []Unusable
	for _, u := range all {
		if u.Day == d || u.Day == "" {
			of = append(of, u)
		}
	}
	return of
}

// UnusableNote lists in one line the values that cannot be used, the costliest first, and reports whether they leave
// the day not whole; "" if there are none.
func UnusableNote(of []Unusable) (note string, costs bool) {
	if len(of) == 0 {
		return "", false
	}
	rank := []rawtable.FaultKind{rawtable.KeyFault, rawtable.FigureFault, rawtable.FutureFault, rawtable.AttributeFault}
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b Unusable) int {
		return cmp.Or(slices.Index(rank, a.Kind)-slices.Index(rank, b.Kind), strings.Compare(a.Field, b.Field))
	})
	parts := make([]string, len(of))
	for i, u := range of {
		parts[i] = fmt.Sprintf("%d × %s of %s", u.Number, u.Kind, u.Field)
		costs = costs || u.costs()
	}
	return "unusable values: " + strings.Join(parts, ", ") + "; " + of[0].Field + " " + of[0].Why, costs
}

// NoteMax is the width of coverage.note, in characters.
const NoteMax = 255

// markUnusable adds a day's unusable values to its outcome. If they cost figures or rows the day is not whole.
func (o *dayOutcome) markUnusable(all []Unusable) {
	o.unusable = UnusableOf(all, o.day)
	note, costs := UnusableNote(o.unusable)
	if costs {
		o.state, o.whole, o.opens = Partial, false, true
	}
	if note != "" && (costs || o.note == "") {
		o.note = note
	}
}

var unusableTable = sqldb.Table{
	Name: "unusable_value", Key: []string{"account_id", "report", "level", "day", "field", "kind"},
	Columns: []string{"media", "number", "why", "seen_at"},
}

// writeUnusable brings unusable_value in line with the pull. A pull of a part of its scope adds to the present rows.
func writeUnusable(d *sqldb.DB, tx *gorm.DB, c Claim, now time.Time, before []Coverage, days []dayOutcome) error {
	had := map[day.Day]int64{}
	for _, b := range before {
		had[b.Day] = b.Unusable
	}
	var stale []day.Day
	var rows [][]any
	for i := range days {
		o := &days[i]
		for _, u := range o.unusable {
			o.unusableNow += int64(u.Number)
			rows = append(rows, []any{c.AccountID, c.Report, c.Level, o.day, sqldb.Cut(u.Field, fieldMax), string(u.Kind),
				c.Media, u.Number, sqldb.Cut(u.Why, NoteMax), sqldb.At(now)})
		}
		switch {
		case o.adds:
			o.unusableNow = max(o.unusableNow, had[o.day])
		case had[o.day] > 0:
			stale = append(stale, o.day)
		}
		o.recount = o.unusableNow != had[o.day]
	}
	if len(stale) > 0 {
		err := tx.Exec("DELETE FROM unusable_value WHERE account_id = ? AND report = ? AND level = ? AND day IN ?",
			c.AccountID, c.Report, c.Level, stale).Error
		if err != nil {
			return fmt.Errorf("clear the unusable values of %s: %w", c.Report, err)
		}
	}
	return d.Upsert(tx, unusableTable, rows)
}

// UnusableValue is how many values of a field of a scope's day the last pull could not use.
type UnusableValue struct {
	Report string
	Level  string
	Day    day.Day
	Field  string
	Kind   rawtable.FaultKind
	Number int64
	Why    string // what is wrong with one of them
}

// UnusableValues returns the values that the last pulls of an account's days from from to to, both included, could
// not use, and those of its lists, whose day is day.Epoch.
func (s Results) UnusableValues(ctx context.Context, accountID int64, from, to day.Day) ([]UnusableValue, error) {
	var values []UnusableValue
	err := s.Data.Reader(ctx).Raw(
		"SELECT report, level, day, field, kind, number, why FROM unusable_value"+
			" WHERE account_id = ? AND (day BETWEEN ? AND ? OR day = ?)"+
			" ORDER BY report, level, day, field, kind", accountID, from, to, day.Epoch).Scan(&values).Error
	if err != nil {
		return nil, fmt.Errorf("read the unusable values of account %d: %w", accountID, err)
	}
	return values, nil
}

// PartnerReport is the partner's rows as a report of unusable values.
const PartnerReport = "partner_daily"

// Unusable is the values of one field of a pull's rows that cannot be used.
type Unusable struct {
	Day    day.Day // "" if their day of the scope is not known
	Field  string
	Kind   rawtable.FaultKind
	Number int
	Why    string // what is wrong with one of them
}
