package field

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/media"
	"adsync/media/wire"
)

// Filled is the result of Backfill for one report of one day.
type Filled struct {
	Report string
	Day    day.Day
	results.ColumnFilled
}

// Backfill fills the columns of a figure of the platform's package from the JSON of rows that were pulled before the
// package had the figure. It does so for all accounts and levels, day by day from the first to the last, with
// Store.FillColumn, and calls done after each report of each day. It may be interrupted and restarted: filled values
// stay as they are.
func Backfill(ctx context.Context, s *store.Store, platform media.Platform, name string, from, to day.Day,
	done func(Filled)) error {
	fills := map[string]map[string]results.ColumnFill{} // by report, then level
	var reports, known []string
	for _, r := range platform.Reports() {
		known = append(known, r.Figures.Fields()...)
		f, ok := fillOf(r, name)
		if !ok {
			continue
		}
		if fills[r.Name] == nil {
			fills[r.Name] = map[string]results.ColumnFill{}
			reports = append(reports, r.Name)
		}
		fills[r.Name][r.Level] = f
	}
	if len(reports) == 0 {
		return &RowError{"field", name, "a figure of the package of " + platform.Name() + ": one of " + list(known)}
	}
	for d := from; d <= to; d = d.Add(1) {
		for _, report := range reports {
			filled, err := fillDay(ctx, s, fills[report], d)
			if err != nil {
				return err
			}
			done(Filled{Report: report, Day: d, ColumnFilled: filled})
		}
	}
	return nil
}

func fillDay(ctx context.Context, s *store.Store, fills map[string]results.ColumnFill,
	d day.Day) (filled results.ColumnFilled, err error) {
	var tables []rawtable.Table
	for _, f := range fills {
		if !slices.ContainsFunc(tables, func(t rawtable.Table) bool { return t.Name == f.Raw.Name }) {
			tables = append(tables, f.Raw)
		}
	}
	for _, t := range tables {
		levels, err := s.RawLevels(ctx, t, d)
		if err != nil {
			return filled, err
		}
		for _, of := range levels {
			if f, ok := fills[of.Level]; ok && f.Raw.Name == t.Name {
				n, err := s.FillColumn(ctx, f, of, d)
				if filled.Add(n); err != nil {
					return filled, err
				}
			}
		}
	}
	return filled, nil
}

// fillOf returns how a figure of a report is read, and false if the report has no such figure.
func fillOf(r media.Report, name string) (results.ColumnFill, bool) {
	at := slices.IndexFunc(r.Figures, func(f wire.Figure) bool { return f.Field == name })
	if at < 0 {
		return results.ColumnFill{}, false
	}
	figure := r.Figures[at : at+1]
	index := metric.Index(figure[0].Metric)
	return results.ColumnFill{
		Report: r.Name, Hourly: r.Hourly, Raw: r.Table, Column: figure.Columns()[0].Name, Metric: figure[0].Metric,
		Read: func(text string) (kept, value int64, ok bool, err error) {
			if !strings.Contains(text, name) {
				return 0, 0, false, nil // most rows from before it was requested
			}
			rows, err := rowsOf(r, text)
			for _, row := range rows {
				fields, err := r.Values(row)
				if err != nil {
					return 0, 0, false, fmt.Errorf("read its JSON: %w", err)
				}
				raw, metrics, bad := figure.Read(fields)
				if len(bad) > 0 { // An unusable value stays unset, as in a pull.
					return 0, 0, false, fmt.Errorf("%w: %s", results.ErrUnusableValue, bad[0].Why)
				}
				more, has := metrics.Get(index)
				if !has {
					return 0, 0, false, nil
				}
				part, _ := raw[0].(int64)
				kept, value = kept+part, value+more
			}
			return kept, value, err == nil, err
		},
	}, true
}

// rowsOf returns the platform's rows in a row's JSON. An hour that occurs twice has two: see media.Report.RepeatsHours.
func rowsOf(r media.Report, text string) (rows []json.RawMessage, err error) {
	if r.RepeatsHours && strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &rows); err != nil {
			return nil, fmt.Errorf("read its JSON: %w", err)
		}
		return rows, nil
	}
	return []json.RawMessage{json.RawMessage(text)}, nil
}
