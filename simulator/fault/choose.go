package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"adsync/simulator/world"
)

// The days from which rows are chosen for an alteration.
const (
	dailyDays  = 7 // with today
	hourlyDays = 2
)

// configFields are the fields of an ad that an alteration changes.
func (c *chooser) configFields() []string {
	if c.p.Unbudgeted {
		return []string{"name", "bid", "status"}
	}
	return []string{"name", "budget", "bid", "status"}
}

// chooser completes an order for an alteration: empty selectors are drawn, by the order's seed, from existing rows.
type chooser struct {
	world *world.World
	view  world.View // the truth
	rng   *rand.Rand
	x     *Alteration
	p     *world.Spec
}

// ChooseAlteration completes x so that it names rows that exist now and are served differently from then on.
func ChooseAlteration(w *world.World, truth world.View, x *Alteration) error {
	c := &chooser{world: w, view: truth, rng: rand.New(rand.NewPCG(x.Seed, 0x5eed)), x: x}
	if err := c.plan(); err != nil {
		return err
	}
	if x.Of == OfConfig {
		return c.chooseConfig()
	}
	return c.chooseReport()
}

// plan completes the selectors that do not concern rows.
func (c *chooser) plan() error {
	x := c.x
	if x.Media == "" {
		x.Media = draw(c.rng, c.world.Names())
	}
	if c.p = c.world.Spec(x.Media); c.p == nil {
		return fmt.Errorf("media %q is unknown", x.Media)
	}
	if x.Day != "" {
		if _, err := world.ParseDay(x.Day); err != nil {
			return err
		}
	}
	if x.Hour != nil && (*x.Hour < 0 || *x.Hour > 23) {
		return fmt.Errorf("hour must be 0 to 23, not %d", *x.Hour)
	}
	if !slices.Contains([]string{"", "account", "ad"}, x.Level) {
		return fmt.Errorf("level must be account or ad, not %q", x.Level)
	}
	if !slices.Contains([]string{"", "daily", "hourly"}, x.Granularity) {
		return fmt.Errorf("granularity must be daily or hourly, not %q", x.Granularity)
	}
	isConfigField := slices.Contains(c.configFields(), x.Field)
	if x.Field != "" && !isConfigField && !slices.ContainsFunc(c.p.Metrics,
		func(m world.Metric) bool { return m.String() == x.Field }) {
		return fmt.Errorf("field %q is neither a metric of %s nor one of %v", x.Field, x.Media,
			c.configFields())
	}
	aboutReports := x.Level != "" || x.Granularity != "" || x.Day != "" || x.Hour != nil ||
		(x.Field != "" && !isConfigField)
	switch x.What {
	case AlterValue, AlterRow, AlterPage:
		switch {
		case x.Of != "":
		case aboutReports:
			x.Of = OfReport
		case isConfigField:
			x.Of = OfConfig
		default:
			x.Of = draw(c.rng, []string{OfReport, OfReport, OfConfig})
		}
	case AlterAccount, AlterDay, AlterHour, AlterUnit:
		x.Of = OfReport
	case AlterDeletion:
		x.Of = OfConfig
	default:
		return fmt.Errorf("what must be value, row, page, account, day, hour, unit or deletion, not %q", x.What)
	}
	if (x.Of == OfConfig && aboutReports) || (x.Of == OfReport && isConfigField) ||
		(x.Of != OfConfig && x.Of != OfReport) {
		return fmt.Errorf(
			"the selectors contradict each other: configuration has no level, granularity, day, hour or metric, and reports "+
				"have no %v", c.configFields())
	}
	return nil
}

// eachAccount calls try with the chosen account, or with all accounts of the platform from a drawn one on, until try
// returns true.
func (c *chooser) eachAccount(try func(a *world.Account) bool) error {
	if c.x.Account != "" {
		a, ok := c.world.LookupText(c.p, c.x.Account)
		if !ok {
			return fmt.Errorf("%s has no account %s", c.x.Media, c.x.Account)
		}
		if try(&a) {
			return nil
		}
		return fmt.Errorf("account %s has no row that fits now", c.x.Account)
	}
	n := c.world.Count(c.p)
	if n == 0 {
		return fmt.Errorf("%s has no accounts", c.x.Media)
	}
	start := c.rng.IntN(n)
	for i := range n {
		a := c.world.Account(c.p, (start+i)%n)
		if try(&a) {
			c.x.Account = strconv.FormatInt(a.ID, 10)
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
	if x.Granularity == "" && x.What != AlterAccount && x.What != AlterUnit {
		x.Granularity = draw(c.rng, []string{"daily", "hourly"})
	}
	if x.What == AlterPage {
		// A page is best cut from an account with several.
		if c.eachAccount(func(a *world.Account) bool { return c.cutIfMore(a, pageRows) }) == nil {
			return nil
		}
	}
	return c.eachAccount(func(a *world.Account) bool { return c.cutIfMore(a, 0) })
}

// cutIfMore completes the order with rows of an account if the account has more than some.
func (c *chooser) cutIfMore(a *world.Account, some int) bool {
	rows := c.rowsOf(a)
	if len(rows) > some {
		c.cut(a, rows)
	}
	return len(rows) > some
}

// rowsOf lists the rows of an account that fit the selectors.
func (c *chooser) rowsOf(a *world.Account) []world.Row {
	x := c.x
	today := a.Calendar.DayOf(c.view.Now)
	s := world.Scope{Hourly: x.Granularity == "hourly", From: today - dailyDays + 1, To: today}
	if s.Hourly {
		s.From = today - hourlyDays + 1
	}
	if x.Level == "ad" {
		s.Level = world.LevelAd
	}
	if x.Day != "" {
		s.From, _ = world.ParseDay(x.Day)
		s.To = s.From
	}
	return slices.DeleteFunc(c.view.TrueRows(a, s), func(r world.Row) bool {
		return (x.Hour != nil && r.Hour != *x.Hour) || (x.Object != "" && strconv.FormatInt(r.Object, 10) != x.Object)
	})
}

// cut completes the order with rows of an account; rows has at least one.
func (c *chooser) cut(a *world.Account, rows []world.Row) {
	x := c.x
	r := draw(c.rng, rows)
	name := func() {
		x.Day = world.FormatDay(r.Day)
		if r.Hour != world.NoHour {
			x.Hour = new(r.Hour)
		}
	}
	x.Effect, x.RowCount = EffectMissing, 1
	switch x.What {
	case AlterValue:
		name()
		c.changeMetric(a, &r)
	case AlterRow:
		name()
		if r.Object != 0 {
			x.Object = strconv.FormatInt(r.Object, 10)
			if c.rng.IntN(2) == 0 {
				x.Effect, x.OtherObject = effectDuplicated, strconv.FormatInt(ghostID(a, r.Ad), 10)
			}
		}
	case AlterPage:
		if r.Hour != world.NoHour {
			// Hourly reports are requested by day.
			rows = slices.DeleteFunc(rows, func(o world.Row) bool { return o.Day != r.Day })
		}
		pages := (len(rows) + pageRows - 1) / pageRows
		page := c.rng.IntN(pages)
		rows = rows[page*pageRows : min((page+1)*pageRows, len(rows))]
		x.RowCount = len(rows)
		for _, r := range rows {
			k := AlterKey{Day: world.FormatDay(r.Day), Object: world.ObjectText(r.Object)}
			if r.Hour != world.NoHour {
				k.Hour = new(r.Hour)
			}
			x.Rows = append(x.Rows, k)
		}
	case AlterAccount:
		x.RowCount = len(rows)
		if c.rng.IntN(2) == 0 {
			if partner, ok := c.partner(a); ok {
				x.Effect, x.OtherAccount = effectSwapped, strconv.FormatInt(partner.ID, 10)
			}
		}
	case AlterUnit:
		x.Effect, x.RowCount = EffectChanged, len(rows)
	case AlterDay:
		x.Day = world.FormatDay(r.Day)
		x.RowCount = countRows(rows, func(o world.Row) bool { return o.Day == r.Day })
	case AlterHour:
		name()
		x.RowCount = countRows(rows, func(o world.Row) bool { return o.Day == r.Day && o.Hour == r.Hour })
	}
}

func (c *chooser) changeMetric(a *world.Account, r *world.Row) {
	x := c.x
	x.Effect = EffectChanged
	if x.Field == "" {
		x.Field = draw(c.rng, a.Platform.Metrics).String()
	}
	x.Object = world.ObjectText(r.Object)
	m := world.Metric(slices.Index(world.MetricNames[:], x.Field))
	was := r.Figures[m]
	x.Delta = 1 + c.rng.Int64N(50)
	if m.IsMoney() {
		x.Delta = (1 + c.rng.Int64N(9999)) * a.Calendar.Smallest()
		was *= a.Calendar.Smallest()
	}
	x.Was, x.Served = strconv.FormatInt(was, 10), strconv.FormatInt(was+x.Delta, 10)
}

// partner finds another account that has rows to swap with.
func (c *chooser) partner(a *world.Account) (world.Account, bool) {
	n := c.world.Count(c.p)
	start := c.rng.IntN(n)
	for i := range n {
		b := c.world.Account(c.p, (start+i)%n)
		if b.Index != a.Index && len(c.rowsOf(&b)) > 0 {
			return b, true
		}
	}
	return world.Account{}, false
}

func (c *chooser) chooseConfig() error {
	x := c.x
	wanted := world.Status(0)
	if x.What == AlterDeletion {
		wanted = draw(c.rng, []world.Status{world.StatusActive, world.StatusDeleted})
	}
	fits := func(o world.Object) bool {
		switch {
		case x.Object != "" && strconv.FormatInt(o.ID, 10) != x.Object:
			return false
		case x.Object != "" && x.What == AlterDeletion:
			return true
		case x.What == AlterDeletion:
			return (o.Status == world.StatusDeleted) == (wanted == world.StatusDeleted)
		default:
			// Clients that never saw a deleted object need not have it, so an alteration of it would have no effect.
			return o.Status != world.StatusDeleted
		}
	}
	return c.eachAccount(func(a *world.Account) bool {
		list := slices.DeleteFunc(c.view.TrueObjects(a), func(o world.Object) bool { return !fits(o) })
		if len(list) == 0 {
			return false
		}
		c.alterConfig(a, list)
		return true
	})
}

func (c *chooser) alterConfig(a *world.Account, list []world.Object) {
	x := c.x
	o := draw(c.rng, list)
	x.Effect, x.RowCount = EffectMissing, 1
	if x.What == AlterPage {
		page := c.rng.IntN((len(list) + pageRows - 1) / pageRows)
		list = list[page*pageRows : min((page+1)*pageRows, len(list))]
		x.RowCount = len(list)
		for _, o := range list {
			x.Rows = append(x.Rows, AlterKey{Object: strconv.FormatInt(o.ID, 10)})
		}
		return
	}
	x.Object = strconv.FormatInt(o.ID, 10)
	switch x.What {
	case AlterRow:
		if c.rng.IntN(2) == 0 {
			x.Effect, x.OtherObject = effectDuplicated, strconv.FormatInt(ghostID(a, &o.Ad), 10)
		}
	case AlterDeletion:
		x.Effect = effectDeleted
		if o.Status == world.StatusDeleted {
			x.Effect = effectLive
		}
	case AlterValue:
		c.changeProperty(a, &o)
	}
}

func (c *chooser) changeProperty(a *world.Account, o *world.Object) {
	x := c.x
	x.Effect = EffectChanged
	if x.Field == "" {
		x.Field = draw(c.rng, c.configFields())
	}
	money := func(was int64) {
		was *= a.Calendar.Smallest()
		x.Delta = (1 + c.rng.Int64N(999)) * a.Calendar.Smallest()
		x.Was, x.Served = strconv.FormatInt(was, 10), strconv.FormatInt(was+x.Delta, 10)
	}
	switch x.Field {
	case "name":
		x.Was, x.Served = o.Name, o.Name+"_改"
	case "budget":
		money(o.Budget)
	case "bid":
		money(o.Bid)
	case "status":
		x.Was, x.Served = world.StatusActive.String(), world.StatusPaused.String()
		if o.Status == world.StatusPaused {
			x.Was, x.Served = x.Served, x.Was
		}
	}
}

// ghostID returns an id in the slot of an ad that no ad will ever have: that of the last generation.
func ghostID(a *world.Account, x *world.Ad) int64 {
	number := x.Number - x.Number%world.GenerationsMax + world.GenerationsMax - 1
	return a.Platform.ObjectBase + number*a.Platform.ObjectStep
}

func countRows(rows []world.Row, matches func(world.Row) bool) (n int) {
	for _, r := range rows {
		if matches(r) {
			n++
		}
	}
	return n
}

func draw[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
