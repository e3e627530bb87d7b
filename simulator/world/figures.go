package world

// Metric is one figure of a report.
type Metric uint8

// The figures of an ad.
const (
	Cost Metric = iota
	Impressions
	Clicks
	Downloads
	Installs
	Activations
	Registrations
	Conversions
	DeepConversions
	FirstPays
	Pays
	PayAmount
	PayAmountD1
	PayAmountD3
	PayAmountD7
	NextDayRetained
	DownloadStarts
	KeyActions
	PaysD1
	Orders
	OrderAmount
	Forms
	metricCount
)

// MetricNames holds the names of the figures in the truth.
var MetricNames = [metricCount]string{
	"cost", "impressions", "clicks", "downloads", "installs", "activations", "registrations", "conversions",
	"deep_conversions", "first_pays", "pays", "pay_amount", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7",
	"next_day_retained", "download_starts", "key_actions", "pays_d1", "orders", "order_amount", "forms",
}

func (m Metric) String() string { return MetricNames[m] }

// IsMoney reports whether a figure is an amount and not a count.
func (m Metric) IsMoney() bool {
	return m == Cost || m == PayAmount || m == PayAmountD1 || m == PayAmountD3 || m == PayAmountD7 || m == OrderAmount
}

// MicrosPerFen converts amounts in fen, or in cents, to those of the truth.
const MicrosPerFen = 10_000

// Figures are the metrics of one row. Money is in the smallest amount of the account's currency: in fen, in yen.
type Figures [metricCount]int64

// Add adds other figures to these.
func (f *Figures) Add(g *Figures) {
	for i := range f {
		f[i] += g[i]
	}
}

func (f *Figures) minus(g *Figures) (d Figures) {
	for i := range f {
		d[i] = f[i] - g[i]
	}
	return d
}

// publishEvery is how often figures of the present day change, in seconds of the world.
const publishEvery = 180

// Figures of a past day change at lateHour of the days after it. All of them may change for lateStages days. The
// payments of users' first days grow for a week, as those days pass. For up to cohortStages days, users who saw an ad
// on that day arrive late.
const (
	lateStages   = 3
	weekStages   = 7
	cohortStages = 30
	lateHour     = 2 * HourLength
)

// lateStage returns the number of nights on which figures of a day have changed.
func (c *Calendar) lateStage(day int, now int64) int {
	since := now - c.Start(day+1) - lateHour
	if since < 0 {
		return 0
	}
	return int(min(since/DayLength+1, cohortStages))
}

// PublishedSecond returns the second of a day up to which figures are published: 0 for a day that has not begun, its
// length for one that is over.
func (c *Calendar) PublishedSecond(day int, now int64) int64 {
	second := now - c.Start(day)
	return max(0, min(second-second%publishEvery, c.Length(day)))
}

// weights are the curves of a day: how many of 2^weightBits impressions come before each hour.
const weightBits = 20

var shapes = func() (list [16][25]int64) {
	// Mobile players are active from 7 to 1, with peaks at noon and in the evening.
	usual := [24]int64{30, 14, 6, 3, 2, 3, 8, 20, 32, 36, 40, 46, 58, 52, 44, 42, 44, 50, 60, 72, 84, 90, 76, 52}
	for n := range list {
		k := Key(n).Sub(77)
		var hours [24]int64
		var sum int64
		for h := range hours {
			hours[h] = usual[h] * k.Sub(uint64(h)).between(60, 140)
			if n%3 == 0 && h >= 1 && h <= 6 {
				hours[h] = 0 // these ads have no impressions at night, whatever their status is
			}
			sum += hours[h]
		}
		var before int64
		for h := range hours {
			list[n][h] = before << weightBits / sum
			before += hours[h]
		}
		list[n][24] = 1 << weightBits
	}
	return list
}()

// A rate is figures per impression, times 2^rateBits.
const rateBits = 24

// adDay computes the figures of an ad on a day.
//
// It computes sums since midnight: the impressions up to a second follow from the day's curve, and every other figure
// is a whole-number function of the impressions so far. An hour is the difference of two such sums. So hours add up
// to their day exactly, and an hour without impressions has no other figures either.
type adDay struct {
	full     int64 // impressions if the ad ran all day
	shape    *[25]int64
	hours    []Hour  // for a day without 24 hours, otherwise nil
	spans    [4]span // when the ad ran
	spanN    int
	rate     Figures
	price    int64 // the price of a payment, in fen
	shares   cohortShares
	grown    cohortShares // growth since the day was a week old
	fell     bool         // spend was refunded
	corrects []int64      // ordered corrections of the day, in percent to add
}

type span struct{ from, to int64 }

// cohortShares is the part of their payments, per mille, that users make within 1, 3 and 7 days of arrival.
type cohortShares [3]int64

func (x *Ad) day(day int, now int64, corrects []CorrectedDays) adDay {
	start, length := x.calendar.Start(day), x.calendar.Length(day)
	d := adDay{}
	for _, c := range corrects {
		if c.ad == 0 || c.ad == x.ID {
			d.corrects = append(d.corrects, c.Percent)
		}
	}
	if length != DayLength {
		d.hours = x.calendar.Hours(day)
	}
	x.running(start, start+length, func(from, to int64) {
		if d.spanN < len(d.spans) {
			d.spans[d.spanN] = span{from - start, to - start}
			d.spanN++
		}
	})
	k := x.key.Sub(uint64(10_000 + day))
	// One day in fourteen an ad has no impressions.
	if d.spanN == 0 || k.Below(14) == 0 {
		d.spanN = 0
		return d
	}
	var usual int64
	size := x.key.Sub(50)
	switch x.class {
	case ClassLarge:
		usual = size.octaves(4_000, 6)
	case ClassMedium:
		usual = size.octaves(1_500, 5)
	default:
		usual = size.octaves(400, 4)
	}
	d.full = usual * k.Sub(1).between(60, 140) / 100
	if weekday := (day + 4) % 7; weekday == 0 || weekday == 6 {
		d.full += d.full / 5
	}
	d.shape = &shapes[k.Sub(2).Below(int64(len(shapes)))]
	d.setRates(x, k, x.calendar.lateStage(day, now))
	return d
}

// running calls yield with each span between from and to in which the ad runs.
func (x *Ad) running(from, to int64, yield func(from, to int64)) {
	from, to = max(from, x.Created), min(to, x.Deleted)
	if from >= to {
		return
	}
	if x.class == ClassQuiet {
		if from = max(from, x.woken); x.woken != 0 && from < to {
			yield(from, to)
		}
		return
	}
	cycle, on := x.pauses()
	n := (from - x.Created + cycle.phase) / cycle.period
	for start := x.Created + n*cycle.period - cycle.phase; start < to; start += cycle.period {
		if a, b := max(start, from), min(start+on, to); a < b {
			yield(a, b)
		}
	}
}

// setRates sets the figures per impression. Figures far from the impression are known later: stage is the number of
// late corrections so far.
func (d *adDay) setRates(x *Ad, k Key, stage int) {
	const one = 1 << rateBits
	quality := x.key.Sub(51)
	part := func(of int64, child uint64, lo, hi int64) int64 { // lo to hi per mille
		return of * k.Sub(child).between(lo, hi) / 1000
	}
	r := &d.rate
	r[Impressions] = one
	r[Cost] = one * quality.between(120, 650) / 100 // fen
	if stage > 0 && k.Sub(20).Chance(25) {
		r[Cost] -= part(r[Cost], 21, 1, 15) // invalid clicks are refunded
		d.fell = true
	}
	late := int64(1000)
	if k.Sub(22).Chance(75) {
		for n := range min(stage, lateStages) {
			late += k.Sub(uint64(23+n)).between(0, 40>>n)
		}
	}
	r[Clicks] = one * quality.Sub(1).between(8, 40) / 1000
	r[Downloads] = part(r[Clicks], 3, 350, 600)
	r[DownloadStarts] = part(r[Clicks], 13, 600, 800)
	r[Installs] = part(r[Downloads], 4, 820, 880)
	r[Activations] = part(r[Installs], 5, 800, 900) * late / 1000
	r[Registrations] = part(r[Activations], 6, 550, 800)
	r[Conversions] = part(r[Activations], 7, 900, 1000)
	r[FirstPays] = part(r[Activations], 8, 50, 150)
	r[DeepConversions] = part(r[FirstPays], 9, 800, 1000)
	r[Pays] = part(r[FirstPays], 10, 1500, 2600)
	r[KeyActions] = part(r[Activations], 14, 300, 600)
	r[Orders] = part(r[Clicks], 15, 20, 60)
	r[Forms] = part(r[Clicks], 16, 10, 40)
	if stage >= 2 { // users who return on the next day are counted when that day is over
		r[NextDayRetained] = part(r[Activations], 11, 220, 480)
	}
	d.price = pick(quality.Sub(2), []int64{600, 1200, 3000, 6800, 9801, 12_833})
	// Amounts of the first days grow as the days pass, and then as late users arrive.
	first := k.Sub(12).between(300, 500)
	late3, late7 := 45*int64(min(stage, 2)), 45*int64(min(stage, weekStages))
	d.shares = cohortShares{first, first + late3, first + late7}
	if days := int64(stage - weekStages); days > 0 {
		d.grown = cohortShares{0, 4 * days, 8 * days}
	}
}

// weight returns the part of the full day that the ad has run up to a second, of 2^weightBits.
func (d *adDay) weight(second int64) (sum int64) {
	for _, s := range d.spans[:d.spanN] {
		if s.from >= second {
			break
		}
		sum += d.curve(min(s.to, second)) - d.curve(s.from)
	}
	return sum
}

func (d *adDay) curve(second int64) int64 {
	if d.hours != nil {
		return d.unusualCurve(second)
	}
	h := second / HourLength
	if h >= 24 {
		return d.shape[24]
	}
	return d.shape[h] + (d.shape[h+1]-d.shape[h])*(second%HourLength)/HourLength
}

// unusualCurve omits the part of a missing hour, and spreads the part of a repeated hour over two hours.
func (d *adDay) unusualCurve(second int64) (sum int64) {
	for _, h := range d.hours {
		if second <= h.From {
			break
		}
		sum += (d.shape[h.Name+1] - d.shape[h.Name]) * (min(second, h.To) - h.From) / (h.To - h.From)
	}
	return sum
}

// until returns the figures from midnight up to a second.
func (d *adDay) until(second int64) (f Figures) {
	if d.spanN == 0 {
		return f
	}
	seen := d.full * d.weight(second) >> weightBits
	for _, percent := range d.corrects {
		seen = seen * (100 + percent) / 100
	}
	if seen == 0 {
		return f
	}
	for m := range f {
		f[m] = seen * d.rate[m] >> rateBits
	}
	f[PayAmount], f[OrderAmount] = f[Pays]*d.price, f[Orders]*d.price
	f[PaysD1] = f[Pays] * d.shares[0] / 1000
	for i, m := range [...]Metric{PayAmountD1, PayAmountD3, PayAmountD7} {
		f[m] = f[Pays] * (d.shares[i] + d.grown[i]) / 1000 * d.price
	}
	return f
}

// grew reports whether amounts of a day have grown since the day was a week old.
func (d *adDay) grew(f *Figures) bool {
	return f[PayAmountD7] > f[Pays]*d.shares[2]/1000*d.price
}
