package tiktok

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// level is a level of reports (data_level).
type level struct {
	depth int    // how many levels are above it
	id    string // its dimension
	scope world.Level
	by    platform.Grouping
}

var levels = map[string]*level{
	"AUCTION_ADVERTISER": {0, "advertiser_id", world.LevelAccount, platform.Grouping{}},
	"AUCTION_CAMPAIGN":   {1, "campaign_id", world.LevelAd, platform.Grouping{Project: true}},
	"AUCTION_ADGROUP":    {2, "adgroup_id", world.LevelAd, platform.Grouping{Object: true, Ad: true}},
	"AUCTION_AD":         {3, "ad_id", world.LevelCreative, platform.Grouping{Object: true, Ad: true}},
}

// How many days a report has, by its time dimension.
const (
	spanHours  = 1
	spanDays   = 30
	spanPlain  = 365
	metricsMax = 200
)

// query is the parameters of a report.
type query struct {
	c         *platform.Call
	accounts  []world.Account
	isSeveral bool // the call names several accounts
	isTask    bool
	level     *level
	by        platform.Grouping
	scope     world.Scope
	metrics   []metric
	ids       [3][]int64
	statuses  [3][]world.Status
	silences  []world.Silence
	projects  map[int64]world.Project
}

// line is a row of a report: of one of the call's accounts, or the sum of all rows.
type line struct {
	world.Row

	q       *query
	account *world.Account
	silence *world.Silence
	isTotal bool
}

// report answers report/integrated/get, of one account or of up to five.
func (t *tiktok) report(c *platform.Call, l *world.Login, p *platform.Params) *platform.Failure {
	q := &query{c: c, isSeveral: c.Query.Get("advertiser_ids") != "", projects: map[int64]world.Project{}}
	a, err := t.account(c, l, c.Query.Get("advertiser_id"))
	q.accounts = []world.Account{a}
	if q.isSeveral { // then advertiser_id is ignored
		q.accounts, err = t.several(p, l, reportAccountsMax, t.account)
	}
	if err != nil {
		return err
	}
	p.TextOf("query_mode", "REGULAR")
	utc := p.TextOf("multi_adv_report_in_utc_time", "false", "true") == "true" && q.isSeveral
	total := p.TextOf("enable_total_metrics", "false", "true") == "true"
	if err := q.read(p); err != nil || p.Failure != nil {
		return err
	}
	list := q.lines(c.Rows, utc)
	if err := q.order(p, list); err != nil {
		return err
	}
	writePage(t, p, pageUsual, list, func(w *platform.Writer, x *line) { x.write(w) }, func(w *platform.Writer) {
		if total && !q.by.Hour {
			q.writeTotal(w, list)
		}
	})
	for i := range q.silences {
		c.CountSilence(&q.silences[i])
	}
	return nil
}

// read reads the parameters that asynchronous reports have too.
func (q *query) read(p *platform.Params) *platform.Failure {
	for i := range q.accounts {
		q.silences = append(q.silences, q.accounts[i].Silence())
	}
	p.TextOf("service_type", "AUCTION")
	if p.TextOf("report_type", "", "BASIC") == "" {
		return cmp.Or(p.Failure, wrong("report_type: this platform has no figures for %q", q.c.Query.Get("report_type")))
	}
	var known bool
	if q.level, known = levels[q.c.Query.Get("data_level")]; !known {
		return wrong("data_level: one of %v", slices.Sorted(maps.Keys(levels)))
	}
	if err := cmp.Or(q.readDimensions(p), q.readMetrics(p), q.readDays(p)); err != nil {
		return err
	}
	return q.readConditions()
}

// readDimensions reads the dimensions: the level's id, and at most one of time.
func (q *query) readDimensions(p *platform.Params) *platform.Failure {
	q.by, q.scope.Level = q.level.by, q.level.scope
	given := p.Texts("dimensions", 2)
	slices.Sort(given)
	switch {
	case p.Failure != nil:
		return p.Failure
	case slices.Equal(given, []string{q.level.id}):
	case slices.Equal(given, []string{q.level.id, "stat_time_day"}):
		q.by.Day = true
	case slices.Equal(given, []string{q.level.id, "stat_time_hour"}):
		q.by.Day, q.by.Hour, q.scope.Hourly = true, true, true
	default:
		return wrong("dimensions: %s and at most one of stat_time_day and stat_time_hour", q.level.id)
	}
	return nil
}

func (q *query) readMetrics(p *platform.Params) *platform.Failure {
	names := p.Texts("metrics", metricsMax)
	if len(names) == 0 {
		names = []string{"spend", "impressions"}
	}
	if q.isSeveral {
		names = append(slices.DeleteFunc(names, func(name string) bool {
			return name == "currency" || name == "timezone" || name == "advertiser_id"
		}), "currency", "timezone", "advertiser_id")
	}
	for _, name := range names {
		m, known := metricsByName[name]
		switch q.c.Sim.Faults.Field(q.c, name) {
		case platform.FieldRetired:
			known = false
		case platform.FieldAdded:
			m, known = count(name, world.Clicks), true
		default:
		}
		if !known || m.above > q.level.depth || m.byDay && (q.level.depth > 0 || !q.by.Day || q.by.Hour) {
			return wrong("metrics: %s is not supported", name)
		}
		q.metrics = append(q.metrics, m)
	}
	return p.Failure
}

// readDays reads the days, both included and in the account's zone, or the whole life.
func (q *query) readDays(p *platform.Params) *platform.Failure {
	if p.TextOf("query_lifetime", "false", "true") == "true" {
		if q.by.Day {
			return wrong("query_lifetime: no time dimension")
		}
		q.scope.From, q.scope.To = world.DayOf(world.FirstMoment.Unix()), world.DayOf(q.c.Now)+1
		return nil
	}
	var failed [2]error
	q.scope.From, failed[0] = world.ParseDay(q.c.Query.Get("start_date"))
	q.scope.To, failed[1] = world.ParseDay(q.c.Query.Get("end_date"))
	span := spanPlain
	if q.by.Hour {
		span = spanHours
	} else if q.by.Day {
		span = spanDays
	}
	switch {
	case failed != [2]error{}:
		return wrong("start_date and end_date: days like 2026-11-15")
	case q.scope.To < q.scope.From:
		return wrong("end_date is before start_date")
	case q.scope.To-q.scope.From >= span:
		return wrong("The time span of the report is at most %d days", span)
	}
	return nil
}

// lines returns the rows of a report, from a function that returns an account's rows.
func (q *query) lines(of func(a *world.Account, s world.Scope) []world.Row, utc bool) (list []line) {
	for i := range q.accounts {
		a := &q.accounts[i]
		var rows []world.Row
		if utc {
			rows = q.inUTC(a, of)
		} else {
			rows = of(a, q.scope)
		}
		rows = slices.DeleteFunc(rows, func(r world.Row) bool { return !q.fits(a, &r) })
		rows = q.by.Apply(rows, q.scope.Level)
		switch {
		case !q.by.Day && q.c.Assumed(idleRows) == 1:
			rows = q.withIdle(a, rows)
		case q.by.Hour && !utc && q.c.Assumed(repeatedHours) == 1:
			rows = q.apart(a, rows)
		}
		for _, r := range rows {
			list = append(list, line{Row: r, q: q, account: a, silence: &q.silences[i]})
		}
	}
	return q.newest(list)
}

// id returns the id of a row's object.
func (q *query) id(a *world.Account, r *world.Row) int64 {
	if q.level.depth == 0 {
		return a.ID
	}
	return idOf(q.level.depth-1, r)
}

// newest leaves out the oldest objects of a report with too many.
func (q *query) newest(list []line) []line {
	if q.level.depth == 0 {
		return list
	}
	made := map[int64]int64{}
	for i := range list {
		x := &list[i]
		made[q.id(x.account, &x.Row)] = x.Ad.Created
		if x.Creative != nil {
			made[x.Object] = x.Creative.Created
		}
	}
	most := int(q.c.Assumed(idsMax))
	if len(made) <= most {
		return list
	}
	q.c.Sim.Switches.Meet(trap.RowsOverCap)
	ids := slices.SortedFunc(maps.Keys(made), func(a, b int64) int {
		return cmp.Or(cmp.Compare(made[b], made[a]), cmp.Compare(b, a))
	})
	for _, id := range ids[most:] {
		delete(made, id)
	}
	return slices.DeleteFunc(list, func(x line) bool { _, isKept := made[q.id(x.account, &x.Row)]; return !isKept })
}

// withIdle adds rows of the level's objects without figures, which only reports without a time dimension have.
func (q *query) withIdle(a *world.Account, rows []world.Row) []world.Row {
	seen := map[int64]bool{}
	for i := range rows {
		seen[q.id(a, &rows[i])] = true
	}
	add := func(r world.Row) {
		r.Hour = world.NoHour
		if !seen[q.id(a, &r)] && q.fits(a, &r) {
			rows = append(rows, r)
		}
	}
	switch q.level.depth {
	case 0:
		add(world.Row{})
	case 1:
		for _, x := range a.Projects(q.c.Now) {
			add(world.Row{Ad: &world.Ad{Project: x.ID}})
		}
	case 2:
		a.Ads(q.c.Now, true, func(x world.Ad) { add(world.Row{Object: x.ID, Ad: &x}) })
	default:
		for _, x := range a.Creatives(q.c.Now) {
			add(world.Row{Object: x.ID, Ad: x.Ad, Creative: &x.Creative})
		}
	}
	return rows
}

// apart gives each of two hours with the same name a row, as soon as the second one has begun.
func (q *query) apart(a *world.Account, rows []world.Row) (list []world.Row) {
	for _, r := range rows {
		isRepeated := slices.ContainsFunc(a.Calendar.Hours(r.Day), func(h world.Hour) bool {
			return h.Name == r.Hour && h.To-h.From > world.HourLength &&
				q.c.Now >= a.Calendar.Start(r.Day)+h.From+world.HourLength
		})
		if isRepeated && r.Figures[world.Impressions] > 1 {
			first := r
			for m := range first.Figures {
				first.Figures[m] /= 2
				r.Figures[m] -= first.Figures[m]
			}
			list = append(list, first)
		}
		list = append(list, r)
	}
	return list
}

// inUTC returns the rows of an account whose days and hours are those of UTC. The account's own days overlap them.
func (q *query) inUTC(a *world.Account, of func(a *world.Account, s world.Scope) []world.Row) (list []world.Row) {
	type key struct {
		day, hour int
		object    int64
	}
	at := map[key]int{}
	for _, r := range of(a, world.Scope{Level: q.scope.Level, Hourly: true, From: q.scope.From - 1, To: q.scope.To + 1}) {
		hours := a.Calendar.Hours(r.Day)
		h := slices.IndexFunc(hours, func(h world.Hour) bool { return h.Name == r.Hour })
		begun := a.Calendar.Start(r.Day) + hours[h].From
		r.Day, r.Hour = int(begun/world.DayLength), int(begun%world.DayLength/world.HourLength)
		if !q.by.Hour {
			r.Hour = world.NoHour
		}
		k := key{r.Day, r.Hour, r.Object}
		n, known := at[k]
		switch {
		case r.Day < q.scope.From || r.Day > q.scope.To:
		case known:
			list[n].Add(&r.Figures)
		default:
			at[k] = len(list)
			list = append(list, r)
		}
	}
	return list
}

// order sorts the rows by a figure.
func (q *query) order(p *platform.Params, list []line) *platform.Failure {
	name, sign := q.c.Query.Get("order_field"), 1
	if p.TextOf("order_type", "DESC", "ASC") == "DESC" {
		sign = -1
	}
	if name == "" {
		return p.Failure
	}
	m, known := metricsByName[name]
	if !known || m.isAttribute || m.byDay {
		return wrong("order_field: %s is not supported", name)
	}
	value := func(x *line) float64 { f, _ := strconv.ParseFloat(m.text(x), 64); return f } // no value is 0
	slices.SortStableFunc(list, func(a, b line) int { return sign * cmp.Compare(value(&a), value(&b)) })
	return p.Failure
}

// dimensions returns the values of a row's dimensions, in order of dimensionNames.
func (x *line) dimensions() []string {
	values := []string{strconv.FormatInt(x.q.id(x.account, &x.Row), 10)}
	switch {
	case x.q.by.Hour:
		return append(values, fmt.Sprintf("%s %02d:00:00", world.FormatDay(x.Day), x.Hour))
	case x.q.by.Day:
		return append(values, world.FormatDay(x.Day)+" 00:00:00")
	}
	return values
}

func (q *query) dimensionNames() []string {
	switch {
	case q.by.Hour:
		return []string{q.level.id, "stat_time_hour"}
	case q.by.Day:
		return []string{q.level.id, "stat_time_day"}
	}
	return []string{q.level.id}
}

// write writes a row.
func (x *line) write(w *platform.Writer) {
	w.OpenObject("dimensions")
	values := x.dimensions()
	for i, name := range x.q.dimensionNames() {
		w.TextField(name, values[i])
	}
	w.Close('}')
	x.writeMetrics(w)
	x.q.c.CountTraits(w, x.account, nil)
}

func (x *line) writeMetrics(w *platform.Writer) {
	w.OpenObject("metrics")
	for _, m := range x.q.metrics {
		if m.of == nil || !platform.LeavesOut(x.silence, w, m.name, *m.of, &x.Figures) {
			w.TextField(m.name, m.text(x))
		}
	}
	w.Close('}')
}

// writeTotal writes the sums over all pages.
func (q *query) writeTotal(w *platform.Writer, list []line) {
	sum := &line{q: q, account: &world.Account{}, isTotal: true}
	for i := range list {
		sum.account = list[i].account
		sum.Add(&list[i].Figures)
	}
	w.OpenObject("total_metrics")
	for _, m := range q.metrics {
		w.TextField(m.name, m.text(sum))
	}
	w.Close('}')
}
