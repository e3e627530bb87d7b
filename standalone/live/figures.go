package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/money"
	"adsync/base/store"
	"adsync/media"
)

// ErrTotalsDiffer means that our totals of a live account differ from the platform's. The report shows them.
var ErrTotalsDiffer = errors.New("our totals differ from the platform's")

// Report is the result of `standalone --live`, as --output json prints it.
type Report struct {
	Media    string  `json:"media"`
	Account  string  `json:"account"`
	Name     string  `json:"name"`
	Zone     string  `json:"zone"`
	Currency string  `json:"currency"`
	From     day.Day `json:"from"`
	To       day.Day `json:"to"`
	// Levels are the levels below the account whose rows are summed up.
	Levels []string `json:"levels"`
	Days   []Day    `json:"days"`
	// Total is all days together. Its platform figures are the platform's own sum if TotalTold is true, otherwise the sum
	// of its days.
	Total     Day  `json:"total"`
	TotalTold bool `json:"total_told"`
	Figures   int  `json:"figures"`
	Different int  `json:"different"`
	// Rounds is how often the figures were compared: more than once if they changed during the run.
	Rounds int             `json:"rounds"`
	Failed []string        `json:"failed,omitempty"` // pulls that did not succeed, and why
	Calls  []EndpointCalls `json:"calls"`
}

// Day holds our figures and the platform's for a day.
type Day struct {
	Day     day.Day  `json:"day,omitempty"` // "" for all days together
	Figures []Figure `json:"figures"`
}

// Figure is one figure of a day. Money is in millionths of the account's currency; null means unknown.
type Figure struct {
	Metric   string            `json:"metric"`
	Ours     *int64            `json:"ours"` // the table's row of the account
	Sums     map[string]*int64 `json:"sums"` // of the table's rows of each level below
	Platform *int64            `json:"platform"`
}

// Equal reports whether both sides are equal. Null is not 0.
func (f Figure) Equal() bool {
	return (f.Ours == nil) == (f.Platform == nil) && f.difference() == 0
}

func (f Figure) difference() int64 { return orZero(f.Ours) - orZero(f.Platform) }

func orZero(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}

// different returns how many figures of the day differ.
func (d Day) different() (n int) {
	for _, f := range d.Figures {
		if !f.Equal() {
			n++
		}
	}
	return n
}

// count counts the compared figures, and those that differ.
func (r *Report) count() {
	r.Figures, r.Different = len(r.Total.Figures), r.Total.different()
	for _, d := range r.Days {
		r.Figures += len(d.Figures)
		r.Different += d.different()
	}
}

// Check returns an error for pulls that did not succeed, and ErrTotalsDiffer for a figure that differs.
func (r *Report) Check() error {
	switch {
	case len(r.Failed) > 0:
		return fmt.Errorf("%d of the pulls did not succeed, the first: %s", len(r.Failed), r.Failed[0])
	case r.Different > 0:
		return ErrTotalsDiffer
	}
	return nil
}

// comparedMetrics returns the figures that are compared: money, impressions, clicks and conversions, on the basis
// that the platform uses.
func comparedMetrics(report media.Report) []int {
	var chosen []int
	for _, wanted := range [][]string{{"cost"}, {"impressions"}, {"clicks"}, {"conversions", "conversions_event"}} {
		for _, f := range report.Figures {
			if slices.Contains(wanted, f.Metric) {
				chosen = append(chosen, metric.Index(f.Metric))
				break
			}
		}
	}
	return chosen
}

// daily holds the figures of the days of an account at one level. A missing day has no figures.
type daily map[day.Day]metric.Values

// sum returns the sum of all days.
func (t daily) sum() metric.Values {
	var sum metric.Values
	for _, v := range t {
		sum.Add(&v)
	}
	return sum
}

// ourFigures sums up the rows of report_daily of an account, by level and day.
func ourFigures(ctx context.Context, s *store.Store, accountID int64, levels []string, from,
	to day.Day) (map[string]daily, error) {
	sums := make([]string, metric.N)
	for i, name := range metric.Names() {
		sums[i] = "SUM(" + name + ")"
	}
	rows, err := s.Data.Writer(ctx).Raw("SELECT level, day, "+strings.Join(sums, ", ")+" FROM report_daily"+
		" WHERE day BETWEEN ? AND ? AND account_id = ? AND level IN ? GROUP BY level, day", from, to, accountID,
		levels).Rows()
	if err != nil {
		return nil, fmt.Errorf("read report_daily: %w", err)
	}
	defer rows.Close()
	all := map[string]daily{}
	for rows.Next() {
		var level string
		var d day.Day
		var columns metric.Columns
		if err := rows.Scan(columns.Dest([]any{&level, &d})...); err != nil {
			return nil, fmt.Errorf("read report_daily: %w", err)
		}
		if all[level] == nil {
			all[level] = daily{}
		}
		all[level][d] = columns.Values()
	}
	return all, rows.Err()
}

// compareFigures compares our figures with the platform's. total is the platform's own sum of all days, nil if it
// does not provide one.
func compareFigures(r *Report, metrics []int, ours map[string]daily, platform daily, total *metric.Values) {
	r.Days = nil
	for _, d := range day.Between(r.From, r.To) {
		have := dayOf(metrics, at(ours["account"], d), at(platform, d), func(level string) side { return at(ours[level], d) },
			r.Levels)
		have.Day = d
		r.Days = append(r.Days, have)
	}
	all := func(level string) side { return side{values: ours[level].sum(), known: len(ours[level]) > 0} }
	theirs := side{values: platform.sum(), known: len(platform) > 0}
	r.TotalTold = total != nil
	if r.TotalTold {
		theirs = side{values: *total, known: true}
	}
	r.Total = dayOf(metrics, all("account"), theirs, all, r.Levels)
	r.count()
}

// side is one side's row of a day; known is false if it has none.
type side struct {
	values metric.Values
	known  bool
}

func at(t daily, d day.Day) side {
	v, known := t[d]
	return side{values: v, known: known}
}

// figure returns a metric of a side: nil if its row lacks the metric, and 0 if there is no row.
func (s side) figure(i int) *int64 {
	value, set := s.values.Get(i)
	if s.known && !set {
		return nil
	}
	return &value
}

func dayOf(metrics []int, ours, platform side, sums func(level string) side, levels []string) Day {
	var d Day
	for _, i := range metrics {
		f := Figure{Metric: metric.All[i].Name, Ours: ours.figure(i), Platform: platform.figure(i), Sums: map[string]*int64{}}
		// A missing row is equal to a row that lacks the figure.
		if !ours.known && f.Platform == nil {
			f.Ours = nil
		}
		if !platform.known && f.Ours == nil {
			f.Platform = nil
		}
		for _, level := range levels {
			f.Sums[level] = sums(level).figure(i)
		}
		d.Figures = append(d.Figures, f)
	}
	return d
}

// Print prints the report for people.
func (r *Report) Print(out io.Writer) {
	fmt.Fprintf(out, "\n%s account %s", r.Media, r.Account)
	if r.Name != "" {
		fmt.Fprintf(out, " (%s)", r.Name)
	}
	fmt.Fprintf(out, ", days of %s, money in %s\n\n", r.Zone, r.Currency)
	fmt.Fprintf(out, "%-10s  %-17s %18s", "DAY", "FIGURE", "OURS")
	for _, level := range r.Levels {
		fmt.Fprintf(out, " %18s", "SUM OF "+strings.ToUpper(level)+"S")
	}
	fmt.Fprintf(out, " %18s %14s\n", "PLATFORM SAYS", "DIFFERENCE")
	for _, d := range append(slices.Clone(r.Days), r.Total) {
		r.printDay(out, d)
	}
	if !r.TotalTold {
		fmt.Fprintf(out, "\n%s returns no sum of all days: its total is the sum of its days.\n", r.Media)
	}
	for _, level := range r.Levels {
		if r.apart(level) {
			fmt.Fprintf(out,
				"\nThe %ss do not add up to the account: platforms do not tell every figure of an account by %s. That is no "+
					"difference.\n", level, level)
		}
	}
	fmt.Fprintf(out, "\n%-36s %6s  %s\n", "ENDPOINT", "CALLS", "QUOTA LEFT")
	total := 0
	for _, c := range r.Calls {
		total += c.Calls
		left := c.QuotaLeft
		if left == "" {
			left = "unknown"
		}
		fmt.Fprintf(out, "%-36s %6d  %s\n", c.Endpoint, c.Calls, left)
	}
	fmt.Fprintf(out, "%-36s %6d\n\n", "all", total)
	if r.Rounds > 1 {
		fmt.Fprintf(out, "Figures differed at first, as they do while they move: they were pulled and compared %d times.\n",
			r.Rounds)
	}
	for _, failed := range r.Failed {
		fmt.Fprintf(out, "failed: %s\n", failed)
	}
	fmt.Fprintf(out, "%d of %d figures differ from what %s says.\n", r.Different, r.Figures, r.Media)
}

func (r *Report) printDay(out io.Writer, d Day) {
	label := d.Day.String()
	if label == "" {
		label = fmt.Sprintf("all %d", len(r.Days))
	}
	for _, f := range d.Figures {
		unit := metric.All[metric.Index(f.Metric)].Unit
		fmt.Fprintf(out, "%-10s  %-17s %18s", label, f.Metric, amount(f.Ours, unit, r.Currency))
		label = ""
		for _, level := range r.Levels {
			fmt.Fprintf(out, " %18s", amount(f.Sums[level], unit, r.Currency))
		}
		difference := f.difference()
		text := amount(&difference, unit, r.Currency)
		if difference == 0 && !f.Equal() {
			text = "null is not 0"
		}
		fmt.Fprintf(out, " %18s %14s\n", amount(f.Platform, unit, r.Currency), text)
	}
}

// apart reports whether the sum of a level's rows differs from the account's.
func (r *Report) apart(level string) bool {
	return slices.ContainsFunc(r.Days, func(d Day) bool {
		return slices.ContainsFunc(d.Figures, func(f Figure) bool { return orZero(f.Sums[level]) != orZero(f.Ours) })
	})
}

// amount formats a figure: money with its decimals, counts with separated thousands.
func amount(v *int64, unit metric.Unit, currency string) string {
	switch {
	case v == nil:
		return "null"
	case unit == metric.Micros && *v%money.Smallest(currency) == 0:
		return money.Format(*v, currency)
	case unit == metric.Micros:
		sign, micros := "", *v
		if micros < 0 {
			sign, micros = "-", -micros
		}
		return fmt.Sprintf("%s%d.%06d", sign, micros/1_000_000, micros%1_000_000)
	default:
		return strings.TrimSuffix(money.Format(*v*1_000_000, ""), ".00")
	}
}
