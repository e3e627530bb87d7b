package bilibili

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

const (
	reportCall = "report/v3/custom"
	// reportSizeMax is the largest page of a report (GUIDE).
	reportSizeMax = 100
	// filterValues is how many values a filter has at most.
	filterValues = 100
)

// The dimensions of reports (GUIDE). date is another name of date_time.
const (
	dimDay, dimDate, dimHour                      = "date_time", "date", "hour"
	dimAccount, dimCampaign, dimUnit, dimCreative = "account_id", "campaign_id", "unit_id", "creative_id"
)

// query is the parameters of a report.
type query struct {
	c          *platform.Call
	account    *world.Account
	scope      world.Scope
	dimensions []string
	columns    []column
	filters    []filter
	silence    world.Silence
}

// filter selects rows by an id. Its form is chosen.
type filter struct {
	Field    string  `json:"field"`
	Operator string  `json:"operator"`
	Values   []int64 `json:"values"`
}

// report answers the custom report (自定义报表), whose path and keys are partly chosen. It has at most one day (GUIDE).
func (b *bilibili) report(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
	q := &query{c: c, account: by.account, silence: by.account.Silence()}
	q.dimensions = p.TextsOf("dimensions", dimDay, dimDate, dimHour, dimAccount, dimCampaign, dimUnit, dimCreative)
	page, size := p.Integer("page", 1, 999_999), p.Integer("size", 20, reportSizeMax)
	if err := cmp.Or(q.read(p), p.Failure); err != nil {
		return err
	}
	q.write(q.rows(), page, size)
	c.CountSilence(&q.silence)
	return nil
}

// read reads the columns, the days and the filters, and finds the level.
func (q *query) read(p *platform.Params) (err *platform.Failure) {
	c := q.c
	if len(q.dimensions) == 0 {
		return wrong(c, "dimensions is missing")
	}
	if q.columns, err = columnsOf(p); err != nil {
		return err
	}
	if q.scope.From, q.scope.To, err = readDays(c); err != nil {
		return err
	}
	if days := int(c.Assumed(reportDays)); q.scope.To-q.scope.From >= days {
		return wrong(c, "the time range is at most %d day(s)", days)
	}
	if text := c.Query.Get("filters"); text != "" && json.Unmarshal([]byte(text), &q.filters) != nil {
		return wrong(c, `filters is a list like [{"field":"unit_id","operator":"IN","values":[1]}]`)
	}
	q.scope.Hourly = q.has(dimHour)
	deepest := slices.Clone(q.dimensions)
	for _, x := range q.filters {
		if x.Operator != "IN" || len(x.Values) == 0 || len(x.Values) > filterValues ||
			!slices.Contains([]string{dimCampaign, dimUnit, dimCreative}, x.Field) {
			return wrong(c, "a filter has campaign_id, unit_id or creative_id, IN, and 1 to %d values", filterValues)
		}
		deepest = append(deepest, x.Field)
	}
	switch {
	case slices.Contains(deepest, dimCreative):
		q.scope.Level = world.LevelCreative
	case slices.Contains(deepest, dimUnit) || slices.Contains(deepest, dimCampaign):
		q.scope.Level = world.LevelAd
	}
	return nil
}

func (q *query) has(dimension string) bool { return slices.Contains(q.dimensions, dimension) }

// rows returns the rows of the report in order of day, hour and id.
func (q *query) rows() []world.Row {
	c := q.c
	if c.View.Now -= c.Assumed(reportDelay); c.Assumed(todayReported) == 0 {
		q.scope.To = min(q.scope.To, q.account.Calendar.DayOf(c.Now)-1)
	}
	rows := slices.DeleteFunc(c.Rows(q.account, q.scope), func(r world.Row) bool {
		return slices.ContainsFunc(q.filters, func(x filter) bool { return !slices.Contains(x.Values, idOf(&r, x.Field)) })
	})
	by := platform.Grouping{
		Day: q.has(dimDay) || q.has(dimDate) || q.scope.Hourly, Hour: q.scope.Hourly,
		Object: q.has(dimCreative) || q.has(dimUnit) && q.scope.Level == world.LevelAd,
		Ad:     q.has(dimUnit), Project: q.has(dimCampaign),
	}
	return by.Apply(rows, q.scope.Level)
}

// idOf returns a row's id of a dimension.
func idOf(r *world.Row, dimension string) int64 {
	switch dimension {
	case dimCampaign:
		return r.Ad.Project
	case dimUnit:
		return r.AdID()
	}
	return r.Object
}

// write writes a page. Clients read a row's values from two groups or from the row itself (READER).
func (q *query) write(rows []world.Row, page, size int) {
	c := q.c
	var from, to, total int
	hasTotal := c.Assumed(reportTotal) == 1
	if hasTotal {
		from, to, total = c.PageOf(page, size, len(rows))
	} else {
		from, to = c.PageWithoutTotal(page, size, len(rows))
	}
	w := begin(c)
	w.Open('{')
	w.OpenArray("rows")
	for i := from; i < to; i++ {
		w.Open('{')
		q.writeRow(&w, &rows[i])
		c.CountTraits(&w, q.account, nil)
		w.Close('}')
	}
	w.Close(']')
	w.NumberField("page", int64(page))
	w.NumberField("size", int64(size))
	if hasTotal {
		w.NumberField("total", int64(total))
	}
	w.Close('}')
	end(c, &w)
}

func (q *query) writeRow(w *platform.Writer, r *world.Row) {
	group := func(name string, write func()) {
		if q.c.Assumed(flatRows) == 1 {
			write()
			return
		}
		w.OpenObject(name)
		write()
		w.Close('}')
	}
	group("dimensions", func() { q.writeDimensions(w, r) })
	group("metrics", func() {
		for i := range q.columns {
			x := &q.columns[i]
			if x.of == nil || !platform.LeavesOut(&q.silence, w, x.name, *x.of, &r.Figures) {
				w.NumberField(x.name, x.value(&r.Figures))
			}
		}
	})
}

func (q *query) writeDimensions(w *platform.Writer, r *world.Row) {
	for _, name := range q.dimensions {
		w.Key(name)
		switch name {
		case dimDay, dimDate:
			w.Text(q.day(r))
		case dimHour:
			w.Number(int64(r.Hour))
		case dimAccount:
			w.Number(q.account.ID)
		default:
			w.Number(idOf(r, name))
		}
	}
}

// day returns a row's day, with a time if that is assumed (READER takes both).
func (q *query) day(r *world.Row) string {
	day := world.FormatDay(r.Day)
	if q.c.Assumed(dayTimes) == 0 {
		return day
	}
	hour := strconv.Itoa(max(r.Hour, 0) + 100)[1:]
	return day + " " + hour + ":00:00"
}
