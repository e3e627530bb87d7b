// Package dictionary writes the page for analysts: what each column of the result tables holds, and its source on each
// platform.
package dictionary

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"adsync/base/metric"
	"adsync/media"
	"adsync/media/wire"
)

// Write writes the page, in Markdown. The platforms' figures are those of their reports.
func Write(w io.Writer, platforms []media.Platform) error {
	p := &printer{w: w}
	p.print("%s", head)
	p.reports(platforms)
	p.figures(platforms)
	p.wide()
	p.funds(platforms)
	return p.err
}

// reports writes a row for each raw table of reports.
func (p *printer) reports(platforms []media.Platform) {
	p.print("## Reports\n\nThe pulled reports, and how far back each platform keeps them.\n\n")
	p.print("| platform | levels | raw table | look-back |\n|---|---|---|---|\n")
	for _, platform := range platforms {
		var tables []string
		levels, lookBack := map[string][]string{}, map[string]int{}
		for _, r := range platform.Reports() {
			if name := r.Table.Name; !slices.Contains(levels[name], r.Level) {
				if levels[name] == nil {
					tables = append(tables, name)
				}
				levels[name], lookBack[name] = append(levels[name], r.Level), r.LookBack
			}
		}
		for _, name := range tables {
			p.print("| %s | %s | `%s` | %d days |\n", platform.Name(), strings.Join(levels[name], ", "), name, lookBack[name])
		}
	}
}

// figures writes what each figure means, and where the platforms have it from.
func (p *printer) figures(platforms []media.Platform) {
	p.print("\n## Figures\n\n| figure | meaning |\n|---|---|\n")
	for _, m := range metric.All {
		p.print("| `%s` | %s.%s |\n", m.Name, capital(m.Meaning), money(m.Unit))
	}
	p.print("\n## Sources\n\nA platform without a row for a figure does not have it: NULL.\n\n")
	p.print("| figure | platform | field | unit there | counted | whole |\n|---|---|---|---|---|---|\n")
	for _, m := range metric.All {
		for _, platform := range platforms {
			for _, f := range figuresOf(platform, m.Name) {
				p.print("| %s | %s | `%s`%s | %s | %s | %s |\n", m.Name, platform.Name(), f.Field, days(platform, f), f.Unit,
					f.Basis, whole(f))
			}
		}
	}
}

var head = ticked(`# Data dictionary

<!-- Written by ^adsync dictionary^: change the platforms' figures in the code, then run ^make generate^. -->

The figures of ^report_daily^, ^report_hourly^, ^summary_daily^ and ^summary_hourly^. All of them are counters that
can be added up over accounts, objects and days; rates are computed when they are read. NULL means that the platform
has no such figure, or that its answer lacked it. 0 is a figure that the platform reported.

A row's ^day^ (and ^hour^) is the account's own, in ^day_zone^. Money is in millionths of the row's ^currency^. Never
add up several levels of one account: each holds all of its spend. The views ^report_daily_account^ and so on hold one
level each.

*unit there* is the platform's unit of money: a yuan is one unit of the account's currency, a fen is a hundredth of it,
and a li a thousandth.

*counted* is the day to which a platform counts the result of an ad; the first start is that of the app. Figures of one
metric that are counted differently cannot be compared between platforms. *whole* is the day from whose 08:00 on a
figure no longer grows by actions of users; platforms also correct figures later.

`)

// ticked returns a text with a backtick for each ^.
func ticked(text string) string { return strings.ReplaceAll(text, "^", "`") }

// figuresOf returns the fields of a platform's reports for a metric, each once.
func figuresOf(platform media.Platform, name string) wire.Figures {
	var all wire.Figures
	for _, r := range platform.Reports() {
		for _, f := range r.Figures {
			if f.Metric == name && !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// days returns a note for a figure that hourly reports of the platform do not have.
func days(platform media.Platform, f wire.Figure) string {
	hasHours := func(r media.Report) bool { return r.Hourly && slices.Contains(r.Figures, f) }
	if slices.ContainsFunc(platform.Reports(), hasHours) {
		return ""
	}
	return ", not by hour"
}

// whole returns from which day's morning on a figure no longer grows. A day is whole on the morning after it: until
// 08:00 in the account's zone platforms may answer with a part of it, or nothing.
func whole(f wire.Figure) string {
	return fmt.Sprintf("day + %d", f.Grows+1)
}

func money(u metric.Unit) string {
	if u == metric.Micros {
		return " Money."
	}
	return ""
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// printer writes text and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
