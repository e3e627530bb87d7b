package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// This file returns what the tables must hold for a given truth, for tests that compare answers without a whole
// deployment.

// Kind returns the truth's name for the objects of a raw table, and whether they have their own name.
func Kind(table string) (kind string, named bool) {
	for _, w := range worlds {
		for _, o := range w.objects {
			if o.table == table {
				return o.kind, !o.nameless
			}
		}
	}
	return "", false
}

// Metrics returns figures of a report's truth by the columns of the public tables. A column that the platform does not
// have in that report is left out.
func Metrics(media, report string, truth map[string]int64) map[string]int64 {
	figures, w := map[string]int64{}, worldOf(media)
	for column, metric := range w.public {
		if report == reportName(true) && slices.Contains(w.daysOnly, metric) {
			continue
		}
		if value, ok := truth[metric]; ok {
			figures[column] = value
		}
	}
	return figures
}

// Field returns a platform's name for a metric of the truth in its reports.
func Field(media, metric string) string {
	columns := worldOf(media).report
	i := slices.IndexFunc(columns, func(c rawColumn) bool { return c.metric == metric })
	return columns[i].field()
}

// Money is a row of account_balance or fund_daily: its fund and its columns, in millionths. A column that is not
// named must be NULL.
type Money struct {
	Fund    string
	Columns map[string]int64
}

// Balance returns an account's rows of account_balance, from the lines of its truth.
func Balance(media string, truth []json.RawMessage) ([]Money, error) {
	return publicMoney(worldOf(media).money.balance, truth)
}

// Flow returns an account's rows of fund_daily on a day, from the lines of that day's truth.
func Flow(media string, truth []json.RawMessage) ([]Money, error) {
	return publicMoney(worldOf(media).money.daily, truth)
}

func publicMoney(table moneyTable, lines []json.RawMessage) ([]Money, error) {
	var truth moneyTruth
	for _, line := range lines {
		var r truthRow
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read the truth: %w", err)
		}
		if err := truth.add(r); err != nil {
			return nil, err
		}
	}
	var rows []Money
	for _, row := range table.public {
		m := Money{Fund: row.key, Columns: map[string]int64{}}
		for _, column := range row.columns {
			value, err := strconv.ParseInt(column.want(truth), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", column.name, row.key, err)
			}
			m.Columns[column.name] = value
		}
		rows = append(rows, m)
	}
	return rows, nil
}
