package pull

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/media"
	"adsync/media/wire"
)

// objectMax is the greatest length of an object's id.
const objectMax = 64

// fit makes a row fit the tables, whatever the platform's package put in it: texts become valid UTF-8, no longer than
// their column. A row whose id does not fit is lost.
func fit(row *media.Row) {
	if !row.Lost && (len(row.Object) > objectMax ||
		strings.ContainsFunc(row.Object, func(c rune) bool { return c > unicode.MaxASCII })) {
		row.Lost = true
		row.Faults = append(slices.Clip(row.Faults), wire.Fault{Field: "id", Kind: wire.KeyFault,
			Why: fmt.Sprintf("%.40q… is not an id of up to %d letters and digits", row.Object, objectMax)})
	}
	if !utf8.Valid(row.JSON) {
		row.JSON = bytes.ToValidUTF8(row.JSON, []byte("\uFFFD"))
		row.Faults = append(slices.Clip(row.Faults), wire.Fault{Field: "row_json", Kind: wire.AttributeFault,
			Why: "is not valid UTF-8, and was repaired"})
	}
	row.Name = fitText(row.Name)
	for i, value := range row.Raw {
		switch value := value.(type) {
		case string:
			row.Raw[i] = fitText(value)
		case sqldb.Time:
			if year := value.UTC().Year(); !value.IsZero() && (year < 1970 || year > 9999) {
				row.Raw[i] = sqldb.Time{}
				row.Faults = append(slices.Clip(row.Faults), wire.Fault{Field: "time", Kind: wire.AttributeFault,
					Why: "is not a time from 1970 to 9999"})
			}
		}
	}
}

func fitText(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return wire.Cut(text)
}

// gather counts the unusable values of a pull by day, field and kind. days are the requested days; for a list that is
// day.Epoch.
func gather(days []day.Day, rows, lost []media.Row, apart []wire.Fault) []results.Unusable {
	type place struct {
		day   day.Day
		field string
		kind  rawtable.FaultKind
	}
	at := map[place]int{}
	var all []results.Unusable
	add := func(d day.Day, faults []wire.Fault) {
		if !slices.Contains(days, d) {
			d = "" // Its day is unknown.
		}
		for _, f := range faults {
			p := place{day: d, field: f.Field, kind: f.Kind}
			i, known := at[p]
			if !known {
				i = len(all)
				at[p] = i
				all = append(all, results.Unusable{Day: d, Field: f.Field, Kind: f.Kind, Why: f.Why})
			}
			all[i].Number++
		}
	}
	for i := range rows {
		add(rows[i].Day, rows[i].Faults)
	}
	for i := range lost {
		add(lost[i].Day, lost[i].Faults)
	}
	add("", apart)
	return all
}

// lostNote returns the note for rows that were lost; "" when none were.
func lostNote(all []results.Unusable) string {
	note, costs := results.UnusableNote(all)
	if !costs {
		return ""
	}
	return note
}

// keepDays moves rows of days that were not requested to the lost rows.
func (f *fetched) keepDays(days []day.Day) {
	f.rows = slices.DeleteFunc(slices.Clone(f.rows), func(row media.Row) bool {
		if slices.Contains(days, row.Day) {
			return false
		}
		row.Faults = append(slices.Clip(row.Faults), wire.Fault{Field: "day", Kind: wire.KeyFault,
			Why: fmt.Sprintf("%s was not requested", row.Day)})
		f.lost = append(f.lost, row)
		return true
	})
}

// addFutureFaults adds a fault to each row whose modification is after latest. The time is kept as data and does not
// move the high-water mark.
func addFutureFaults(rows []media.Row, latest time.Time) {
	for i := range rows {
		if m := rows[i].Modified; m.After(latest) {
			rows[i].Faults = append(slices.Clip(rows[i].Faults), wire.Fault{
				Field: "modified", Kind: wire.FutureFault, Why: "is " + m.UTC().Format(time.RFC3339) + ", which is in the future",
			})
		}
	}
}

// reportUnusable counts a pull's unusable values and logs them by cause.
func (p *puller) reportUnusable(account media.Account, report, level string, all []results.Unusable) {
	for _, u := range all {
		p.metrics.unusable.Add(account.Media, report, u.Field, u.Kind, u.Number)
		// One key for all fields, whose number has no limit; each field is a cause under it.
		p.causes.Report(slog.LevelWarn, "unusable/"+account.Media+"/"+report,
			"values of the platform's rows cannot be used",
			fmt.Errorf("%s is unusable, as %s", u.Field, u.Kind), "media", account.Media, "account_id", account.ID, "report",
			report, "level", level,
			"field", u.Field, "kind", string(u.Kind), "number", u.Number, "why", u.Why)
	}
}
