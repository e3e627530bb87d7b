package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"adsync/base/metric"
	"adsync/base/money"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

func distance(d *client.Difference) int64 {
	return max(d.AccountValue-d.SumValue, d.SumValue-d.AccountValue)
}

// figure returns a value of a figure in words: money in units of the currency.
func figure(d *client.Difference, value int64) string {
	if i := metric.Index(d.Metric); i >= 0 && metric.All[i].Unit == metric.Micros {
		return strings.TrimSpace(table.Plain(d.Currency) + " " + money.Format(value, d.Currency))
	}
	return strconv.FormatInt(value, 10)
}

// differentDay is one day of an account with the figures that differ.
type differentDay struct {
	levels, metrics []string
	worst           *client.Difference // the cost that differs most, or another figure if no cost differs
}

// foldDifferences groups the rows by account and day, in their order. A day that is missing from a level has many rows.
func foldDifferences(rows []client.Difference) []differentDay {
	var days []differentDay
	place := map[[4]string]int{}
	for i := range rows {
		d := &rows[i]
		key := [4]string{d.Media, d.Account, d.Day, d.State}
		at, known := place[key]
		if !known {
			at = len(days)
			place[key] = at
			days = append(days, differentDay{worst: d})
		}
		of := &days[at]
		if !slices.Contains(of.levels, d.Level) {
			of.levels = append(of.levels, d.Level)
		}
		if !slices.Contains(of.metrics, d.Metric) {
			of.metrics = append(of.metrics, d.Metric)
		}
		isCost, had := d.Metric == "cost", of.worst.Metric == "cost"
		if isCost && !had || isCost == had && distance(d) > distance(of.worst) {
			of.worst = d
		}
	}
	return days
}

// Differences prints the days of accounts whose figures are not the sums of their levels.
func Differences(w io.Writer, a *client.DifferenceList) error {
	if len(a.Differences) == 0 {
		_, err := fmt.Fprintln(w, "Nothing differs.")
		return err
	}
	if err := differentDays.print(w, foldDifferences(a.Differences)); err != nil || a.Next == "" {
		return err
	}
	_, err := fmt.Fprintln(w, thereAreMore)
	return err
}

var differentDays = columns[differentDay]{
	{"ACCOUNT", func(d *differentDay) any { return d.worst.Media + "/" + d.worst.Account }},
	{"DAY", func(d *differentDay) any { return d.worst.Day }},
	{"LEVELS", func(d *differentDay) any { return few(d.levels) }},
	{"FIGURES", func(d *differentDay) any { return few(d.metrics) }},
	{"MOST", func(d *differentDay) any { return d.worst.Metric + " of " + d.worst.Level }},
	{"ACCOUNT SAYS", func(d *differentDay) any { return figure(d.worst, d.worst.AccountValue) }},
	{"LEVEL SAYS", func(d *differentDay) any { return figure(d.worst, d.worst.SumValue) }},
	{"DIFFERENCE", func(d *differentDay) any { return figure(d.worst, d.worst.AccountValue-d.worst.SumValue) }},
	{"STATE", func(d *differentDay) any { return d.worst.State }},
	{"FIRST SEEN", func(d *differentDay) any { return d.worst.FirstSeenAt }},
	{"CONFIRMED", func(d *differentDay) any { return d.worst.ConfirmedAt }},
}
