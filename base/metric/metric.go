// Package metric defines the figures to which every platform's reports are mapped: the columns of report_daily,
// report_hourly, summary_daily and summary_hourly.
package metric

import "adsync/base/money"

// Unit defines how a metric's integer is to be read.
type Unit string

// The units.
const (
	Count Unit = "count"
	// Micros is an amount of money in millionths of the row's currency.
	Micros Unit = "micros"
)

// Metric is one column. All metrics are additive counters; rates are computed when read.
type Metric struct {
	Name    string // the column
	Unit    Unit
	Meaning string
}

// Differ reports whether two figures of a metric that should be equal differ, such as an account's and the sum of its
// objects'. Counts may not differ at all; money may by the smallest amount of its currency, to which platforms round.
func (m Metric) Differ(a, b int64, currency string) bool {
	tolerance := int64(0)
	if m.Unit == Micros {
		tolerance = money.Smallest(currency)
	}
	return a-b > tolerance || b-a > tolerance
}

// All is every metric in the order of the columns. Names never change: they are columns.
var All = []Metric{
	{"cost", Micros, "money spent"},
	{"impressions", Count, "times an ad was shown"},
	{"clicks", Count, "clicks on an ad"},
	{"downloads", Count, "downloads finished"},
	{"installs", Count, "installations finished"},
	{"activations", Count, "first starts of the app"},
	{"registrations", Count, "registrations"},
	{"conversions", Count, "conversions, at the time the ad was shown"},
	{"conversions_event", Count, "conversions, at the time they happened"},
	{"deep_conversions", Count, "deep conversions"},
	{"first_pays", Count, "first payments"},
	{"pays", Count, "payments"},
	{"pay_amount", Micros, "money paid"},
	{"pay_amount_d1", Micros, "money paid on the day of activation"},
	{"pay_amount_d3", Micros, "money paid within 3 days of activation"},
	{"pay_amount_d7", Micros, "money paid within 7 days of activation"},
	{"pay_amount_d14", Micros, "money paid within 14 days of activation"},
	{"pay_amount_d30", Micros, "money paid within 30 days of activation"},
	{"next_day_retained", Count, "users who came back the day after activation"},
	{"download_starts", Count, "downloads begun"},
	{"key_actions", Count, "key actions of users, which the advertiser defines"},
	{"pays_d1", Count, "payments on the day of activation"},
	{"orders", Count, "orders of goods"},
	{"order_amount", Micros, "money of orders"},
	{"forms", Count, "forms sent in"},
}

// N is the number of metrics.
const N = 25

// Index returns the position of a metric in All, or -1.
func Index(name string) int {
	for i := range All {
		if All[i].Name == name {
			return i
		}
	}
	return -1
}

// Cost is the position of the cost, by which answers are checked.
var Cost = Index("cost")

// Names returns the columns in order.
func Names() []string {
	names := make([]string, len(All))
	for i := range All {
		names[i] = All[i].Name
	}
	return names
}

// Values holds one row's metrics in the order of All. What a platform lacks is not set and becomes NULL, never 0.
type Values struct {
	values [N]int64
	set    uint32
}

// Set stores a metric by its position.
func (v *Values) Set(i int, value int64) {
	v.values[i] = value
	v.set |= 1 << i
}

// Get returns a metric and whether the row has it.
func (v *Values) Get(i int) (int64, bool) { return v.values[i], v.set&(1<<i) != 0 }

// Add adds the metrics that o has. A metric that neither has stays unset.
func (v *Values) Add(o *Values) {
	for i := range v.values {
		v.values[i] += o.values[i]
	}
	v.set |= o.set
}

// Args appends the values for an SQL statement: int64, or nil for a metric that is not set.
func (v *Values) Args(args []any) []any {
	for i := range v.values {
		if v.set&(1<<i) != 0 {
			args = append(args, v.values[i])
		} else {
			args = append(args, nil)
		}
	}
	return args
}

// Columns receives the metrics of a scanned row, in the order of Names; nil is NULL.
type Columns [N]*int64

// Dest appends the destinations of the columns for Scan.
func (c *Columns) Dest(dest []any) []any {
	for i := range c {
		dest = append(dest, &c[i])
	}
	return dest
}

// Values returns the columns as metrics. NULL is not set.
func (c *Columns) Values() Values {
	var v Values
	for i, value := range c {
		if value != nil {
			v.Set(i, *value)
		}
	}
	return v
}
