package simulator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// The days of which rows are chosen for an alteration.
const (
	dailyDays  = 7 // with today
	hourlyDays = 2
)

var configFields = []string{"name", "budget", "bid", "status"}

// chooser completes an order for an alteration: what was not said is drawn, by the order's seed, from what exists.
type chooser struct {
	world *world
	view  view // of the truth
	rng   *rand.Rand
	x     *Alteration
	p     *spec
}

// chooseAlteration completes x so that it names something that exists now and that is served differently from then on.
func chooseAlteration(w *world, truth view, x *Alteration) error {
	c := &chooser{world: w, view: truth, rng: rand.New(rand.NewPCG(x.Seed, 0x5eed)), x: x}
	if err := c.plan(); err != nil {
		return err
	}
	if x.Of == ofConfig {
		return c.chooseConfig()
	}
	return c.chooseReport()
}

// plan settles the selectors that are not about rows.
func (c *chooser) plan() error {
	x := c.x
	if x.Media == "" {
		x.Media = draw(c.rng, c.world.names())
	}
	if c.p = c.world.spec(x.Media); c.p == nil {
		return fmt.Errorf("media %q is unknown", x.Media)
	}
	if x.Day != "" {
		if _, err := parseDay(x.Day); err != nil {
			return err
		}
	}
	if x.Hour != nil && (*x.Hour < 0 || *x.Hour > 23) {
		return fmt.Errorf("hour is 0 to 23, not %d", *x.Hour)
	}
	if !slices.Contains([]string{"", "account", "ad"}, x.Level) {
		return fmt.Errorf("level is account or ad, not %q", x.Level)
	}
	if !slices.Contains([]string{"", "daily", "hourly"}, x.Granularity) {
		return fmt.Errorf("granularity is daily or hourly, not %q", x.Granularity)
	}
	isConfigField := slices.Contains(configFields, x.Field)
	if x.Field != "" && !isConfigField && !slices.ContainsFunc(c.p.metrics, func(m metric) bool { return m.String() == x.Field }) {
		return fmt.Errorf("field %q is neither a metric of %s nor one of %v", x.Field, x.Media, configFields)
	}
	aboutReports := x.Level != "" || x.Granularity != "" || x.Day != "" || x.Hour != nil || (x.Field != "" && !isConfigField)
	switch x.What {
	case AlterValue, AlterRow, AlterPage:
		switch {
		case x.Of != "":
		case aboutReports:
			x.Of = ofReport
		case isConfigField:
			x.Of = ofConfig
		default:
			x.Of = draw(c.rng, []string{ofReport, ofReport, ofConfig})
		}
	case AlterAccount, AlterDay, AlterHour:
		x.Of = ofReport
	case AlterDeletion:
		x.Of = ofConfig
	default:
		return fmt.Errorf("what is value, row, page, account, day, hour or deletion, not %q", x.What)
	}
	if (x.Of == ofConfig && aboutReports) || (x.Of == ofReport && isConfigField) || (x.Of != ofConfig && x.Of != ofReport) {
		return fmt.Errorf("the selectors contradict each other: configuration has no level, granularity, day, hour or metric, and reports have no %v", configFields)
	}
	return nil
}

// eachAccount calls try with the chosen account, or with all accounts of the platform from a drawn one on, until it
// is satisfied.
func (c *chooser) eachAccount(try func(a *account) bool) error {
	if c.x.Account != "" {
		a, ok := c.world.lookupText(c.p, c.x.Account)
		if !ok {
			return fmt.Errorf("%s has no account %s", c.x.Media, c.x.Account)
		}
		if try(&a) {
			return nil
		}
		return fmt.Errorf("account %s has no row that fits now", c.x.Account)
	}
	n := c.world.count(c.p)
	if n == 0 {
		return fmt.Errorf("%s has no accounts", c.x.Media)
	}
	start := c.rng.IntN(n)
	for i := range n {
		a := c.world.account(c.p, (start+i)%n)
		if try(&a) {
			c.x.Account = strconv.FormatInt(a.id, 10)
			return nil
		}
	}
	return fmt.Errorf("no account of %s has a row that fits now", c.x.Media)
}

func (c *chooser) chooseReport() error {
	x := c.x
	if x.Level == "" {
		x.Level = draw(c.rng, []string{"account", "ad"})
		if x.What == AlterPage || x.Object != "" {
			x.Level = "ad"
		}
	}
	if x.What == AlterHour || x.Hour != nil {
		x.Granularity = "hourly"
	}
	if x.Granularity == "" && x.What != AlterAccount {
		x.Granularity = draw(c.rng, []string{"daily", "hourly"})
	}
	if x.What == AlterPage {
		// A page is best cut from where there are several.
		if c.eachAccount(func(a *account) bool { return c.cutIfMore(a, pageRows) }) == nil {
			return nil
		}
	}
	return c.eachAccount(func(a *account) bool { return c.cutIfMore(a, 0) })
}

// cutIfMore completes the order with rows of an account if it has more than some.
func (c *chooser) cutIfMore(a *account, some int) bool {
	rows := c.rowsOf(a)
	if len(rows) > some {
		c.cut(a, rows)
	}
	return len(rows) > some
}

// rowsOf lists the rows of an account that fit the selectors.
func (c *chooser) rowsOf(a *account) []row {
	x := c.x
	today := a.calendar.dayOf(c.view.now)
	s := scope{hourly: x.Granularity == "hourly", from: today - dailyDays + 1, to: today}
	if s.hourly {
		s.from = today - hourlyDays + 1
	}
	if x.Level == "ad" {
		s.level = levelAd
	}
	if x.Day != "" {
		s.from, _ = parseDay(x.Day)
		s.to = s.from
	}
	return slices.DeleteFunc(c.view.trueRows(a, s), func(r row) bool {
		return (x.Hour != nil && r.hour != *x.Hour) || (x.Object != "" && strconv.FormatInt(r.object, 10) != x.Object)
	})
}

// cut completes the order with rows of an account, of which there is at least one.
func (c *chooser) cut(a *account, rows []row) {
	x := c.x
	r := draw(c.rng, rows)
	name := func() {
		x.Day = formatDay(r.day)
		if r.hour != noHour {
			x.Hour = new(r.hour)
		}
	}
	x.Effect, x.RowCount = effectMissing, 1
	switch x.What {
	case AlterValue:
		name()
		c.changeMetric(a, &r)
	case AlterRow:
		name()
		if r.object != 0 {
			x.Object = strconv.FormatInt(r.object, 10)
			if c.rng.IntN(2) == 0 {
				x.Effect, x.OtherObject = effectDuplicated, strconv.FormatInt(ghostID(a, r.ad), 10)
			}
		}
	case AlterPage:
		if r.hour != noHour {
			// An hourly report is asked for by the day.
			rows = slices.DeleteFunc(rows, func(o row) bool { return o.day != r.day })
		}
		pages := (len(rows) + pageRows - 1) / pageRows
		page := c.rng.IntN(pages)
		rows = rows[page*pageRows : min((page+1)*pageRows, len(rows))]
		x.RowCount = len(rows)
		for _, r := range rows {
			k := AlterKey{Day: formatDay(r.day), Object: objectText(r.object)}
			if r.hour != noHour {
				k.Hour = new(r.hour)
			}
			x.Rows = append(x.Rows, k)
		}
	case AlterAccount:
		x.RowCount = len(rows)
		if c.rng.IntN(2) == 0 {
			if partner, ok := c.partner(a); ok {
				x.Effect, x.OtherAccount = effectSwapped, strconv.FormatInt(partner.id, 10)
			}
		}
	case AlterDay:
		x.Day = formatDay(r.day)
		x.RowCount = countRows(rows, func(o row) bool { return o.day == r.day })
	case AlterHour:
		name()
		x.RowCount = countRows(rows, func(o row) bool { return o.day == r.day && o.hour == r.hour })
	}
}

func (c *chooser) changeMetric(a *account, r *row) {
	x := c.x
	x.Effect = effectChanged
	if x.Field == "" {
		x.Field = draw(c.rng, a.p.metrics).String()
	}
	x.Object = objectText(r.object)
	m := metric(slices.Index(metricNames[:], x.Field))
	was := r.figures[m]
	x.Delta = 1 + c.rng.Int64N(50)
	if m.isMoney() {
		x.Delta = (1 + c.rng.Int64N(9999)) * microsPerFen
		was *= microsPerFen
	}
	x.Was, x.Served = strconv.FormatInt(was, 10), strconv.FormatInt(was+x.Delta, 10)
}

// partner finds another account that has rows to swap with.
func (c *chooser) partner(a *account) (account, bool) {
	n := c.world.count(c.p)
	start := c.rng.IntN(n)
	for i := range n {
		b := c.world.account(c.p, (start+i)%n)
		if b.index != a.index && len(c.rowsOf(&b)) > 0 {
			return b, true
		}
	}
	return account{}, false
}

func (c *chooser) chooseConfig() error {
	x := c.x
	wanted := status(0)
	if x.What == AlterDeletion {
		wanted = draw(c.rng, []status{statusActive, statusDeleted})
	}
	fits := func(o object) bool {
		switch {
		case x.Object != "" && strconv.FormatInt(o.id, 10) != x.Object:
			return false
		case x.Object != "" && x.What == AlterDeletion:
			return true
		case x.What == AlterDeletion:
			return (o.status == statusDeleted) == (wanted == statusDeleted)
		default:
			// Clients that never saw a deleted object need not have it, so altering one would show nothing.
			return o.status != statusDeleted
		}
	}
	return c.eachAccount(func(a *account) bool {
		list := slices.DeleteFunc(c.view.trueObjects(a), func(o object) bool { return !fits(o) })
		if len(list) == 0 {
			return false
		}
		c.alterConfig(a, list)
		return true
	})
}

func (c *chooser) alterConfig(a *account, list []object) {
	x := c.x
	o := draw(c.rng, list)
	x.Effect, x.RowCount = effectMissing, 1
	if x.What == AlterPage {
		page := c.rng.IntN((len(list) + pageRows - 1) / pageRows)
		list = list[page*pageRows : min((page+1)*pageRows, len(list))]
		x.RowCount = len(list)
		for _, o := range list {
			x.Rows = append(x.Rows, AlterKey{Object: strconv.FormatInt(o.id, 10)})
		}
		return
	}
	x.Object = strconv.FormatInt(o.id, 10)
	switch x.What {
	case AlterRow:
		if c.rng.IntN(2) == 0 {
			x.Effect, x.OtherObject = effectDuplicated, strconv.FormatInt(ghostID(a, &o.ad), 10)
		}
	case AlterDeletion:
		x.Effect = effectDeleted
		if o.status == statusDeleted {
			x.Effect = effectLive
		}
	case AlterValue:
		c.changeProperty(&o)
	}
}

func (c *chooser) changeProperty(o *object) {
	x := c.x
	x.Effect = effectChanged
	if x.Field == "" {
		x.Field = draw(c.rng, configFields)
	}
	money := func(was int64) {
		x.Delta = (1 + c.rng.Int64N(999)) * microsPerFen
		x.Was = strconv.FormatInt(was*microsPerFen, 10)
		x.Served = strconv.FormatInt(was*microsPerFen+x.Delta, 10)
	}
	switch x.Field {
	case "name":
		x.Was, x.Served = o.name, o.name+"_改"
	case "budget":
		money(o.budget)
	case "bid":
		money(o.bid)
	case "status":
		x.Was, x.Served = statusActive.String(), statusPaused.String()
		if o.status == statusPaused {
			x.Was, x.Served = x.Served, x.Was
		}
	}
}

// ghostID is an id in the slot of an ad that no ad will ever have: that of the last generation.
func ghostID(a *account, x *ad) int64 {
	number := x.number - x.number%generationsMax + generationsMax - 1
	return a.p.objectBase + number*a.p.objectStep
}

func countRows(rows []row, matches func(row) bool) (n int) {
	for _, r := range rows {
		if matches(r) {
			n++
		}
	}
	return n
}

func draw[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
