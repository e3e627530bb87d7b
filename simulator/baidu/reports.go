package baidu

import (
	"fmt"
	"slices"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// reportType is a kind of reports. Each is of search or of feed advertising.
type reportType struct {
	level  level
	isFeed bool
	daily  bool // it has no hours
}

// reportTypes are the kinds of reports by their numbers (pages 100140 to 100142). Of the others, this world has no
// figures.
var reportTypes = map[int64]*reportType{
	170_026: {level: levelAccount, daily: true}, 2_172_649: {level: levelAccount, isFeed: true},
	2_208_157: {level: levelAccount}, 2_149_145: {level: levelAccount, isFeed: true},
	2_290_316: {level: levelCampaign}, 2_276_038: {level: levelCampaign, isFeed: true},
	2_284_618: {level: levelAdgroup}, 2_330_652: {level: levelAdgroup, isFeed: true},
	2_665_235: {level: levelCreative}, 2_094_816: {level: levelCreative, isFeed: true},
}

// scopes are the world's levels of the rows, and groupings what they are added up by.
var (
	scopes    = [...]world.Level{world.LevelAccount, world.LevelAd, world.LevelAd, world.LevelCreative}
	groupings = [...]platform.Grouping{{}, {Project: true}, {Object: true, Ad: true}, {Object: true, Ad: true}}
)

// daysMax is the largest range of a report (page 100140).
const daysMax = 731

// subject is an account of a report.
type subject struct {
	account  *world.Account
	silence  world.Silence
	projects []world.Project
}

// campaign returns a campaign of the account.
func (s *subject) campaign(id int64) world.Project {
	at := slices.IndexFunc(s.projects, func(x world.Project) bool { return x.ID == id })
	if at < 0 {
		return world.Project{ID: id}
	}
	return s.projects[at]
}

// row is a row of a report.
type row struct {
	*world.Row
	on *subject
}

// query is the parameters of a report.
type query struct {
	c        *platform.Call
	kind     *reportType
	subjects []*subject
	problems []problem // of accounts
	columns  []*column
	sorts    []reportSort
	scope    world.Scope
	summed   bool // all days are one
}

// newQuery reads the parameters that reports and tasks share. It returns nil if one is wrong.
func newQuery(c *platform.Call, by caller, p *platform.Params) *query {
	kind := reportTypes[p.Whole("reportType")]
	if kind == nil {
		wrong(p, "reportType %s is unknown", c.Query.Get("reportType"))
		return nil
	}
	q := &query{c: c, kind: kind, scope: world.Scope{Level: scopes[kind.level]}}
	switch p.TextOf("timeUnit", "", "DAY", "HOUR", "SUMMARY") {
	case "":
		wrong(p, "timeUnit is missing")
	case "HOUR":
		q.scope.Hourly = true
		if kind.daily {
			wrong(p, "the report has no timeUnit HOUR")
		}
	case "SUMMARY":
		q.summed = true
	}
	q.readDays(p)
	q.readColumns(p)
	q.readSorts(p)
	refuseUnserved(p, "filters")
	q.readAccounts(by, p)
	if p.Failure != nil {
		return nil
	}
	return q
}

func (q *query) readDays(p *platform.Params) {
	var failed [2]error
	q.scope.From, failed[0] = world.ParseDay(q.c.Query.Get("startDate"))
	q.scope.To, failed[1] = world.ParseDay(q.c.Query.Get("endDate"))
	switch {
	case failed != [2]error{}:
		wrong(p, "startDate and endDate are given, as days like 2026-11-15")
	case q.scope.To < q.scope.From:
		wrong(p, "endDate is before startDate")
	case q.scope.To-q.scope.From >= daysMax:
		wrong(p, "a report has at most %d days", daysMax)
	}
}

// readColumns reads the columns, of which one at least is a figure.
func (q *query) readColumns(p *platform.Params) {
	hasFigure := false
	for _, name := range p.Texts("columns", len(attributes)+len(feedFigures)+len(searchFigures)) {
		x := q.kind.columnNamed(q.c, name)
		if x == nil {
			wrong(p, "column %s is not one of the report", name)
			return
		}
		q.columns, hasFigure = append(q.columns, x), hasFigure || x.isFigure
	}
	if !hasFigure {
		wrong(p, "columns has no figure")
	}
}

// readAccounts reads the accounts: those of userIds, otherwise that of the user's name. A refused one of several is
// a problem of its own.
func (q *query) readAccounts(by caller, p *platform.Params) {
	c := q.c
	ids := p.Numbers("userIds", int(c.Assumed(userIDsMax)))
	if p.Failure != nil {
		return
	}
	if len(ids) == 0 && by.account != nil {
		ids = []int64{by.account.ID}
	}
	for i, id := range ids {
		a, err := account(c, by.login, id)
		if by.account != nil && by.account.ID != id {
			err = c.Refusal(codeForbidden, "account %d is not that of userName", id)
		}
		if err == nil && len(ids) > 1 && i == len(ids)-1 && c.Sim.Traps.Springs(c, trap.ForbiddenID) {
			err = c.Refusal(codeForbidden, "the token has no permission for account %d", id)
		}
		if err != nil {
			if len(ids) > 1 {
				c.Sim.Switches.Meet(trap.ForbiddenID)
			}
			q.problems = append(q.problems, problem{err, fmt.Sprintf("userIds[%d]", i), "userIds", id})
			continue
		}
		q.subjects = append(q.subjects, &subject{account: a, silence: a.Silence(), projects: a.Projects(c.Now)})
	}
	if len(q.problems) > 0 && (len(q.subjects) == 0 || c.Assumed(refusedPart) != 1) {
		p.Failure = q.problems[0].Failure
	}
}

// report answers a page of a report.
func (b *baidu) report(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
	q := newQuery(c, by, p)
	start, size := int(p.Whole("startRow")), p.Integer("rowCount", 0, int(c.Assumed(rowsMax)))
	if start < 0 {
		wrong(p, "startRow is below 0")
	}
	sums := p.TextOf("needSum", "false", "true") == "true"
	if p.Failure != nil {
		return nil
	}
	c.View.Now -= c.Assumed(reportDelay)
	rows := q.rows(c.Rows)
	from, to, total := min(start, len(rows)), min(start+size, len(rows)), len(rows)
	if start%size == 0 {
		from, to, total = c.PageOf(start/size+1, size, len(rows))
	}
	asObject := c.Assumed(dataObject) == 1 || c.Sim.Faults.Takes(c, platform.FormOther)
	status := int64(statusGood)
	if len(q.problems) > 0 {
		status = statusPart
	}
	w := b.begin(c, status, q.problems...)
	openData(&w, asObject)
	w.Open('{')
	w.NumberField("rowCount", int64(to-from))
	w.NumberField("totalRowCount", int64(total))
	w.OpenArray("rows")
	for i := range rows[from:to] {
		w.Open('{')
		q.write(&w, &rows[from+i])
		c.CountTraits(&w, rows[from+i].on.account, nil)
		w.Close('}')
	}
	w.Close(']')
	if sums {
		w.Key("summary")
		q.writeSum(&w, rows)
	}
	w.Close('}')
	closeData(&w, asObject)
	b.end(c, &w)
	for _, s := range q.subjects {
		c.CountSilence(&s.silence)
	}
	return nil
}

// openData begins data that are usually an array with one object, and an object in some answers.
func openData(w *platform.Writer, asObject bool) {
	if !asObject {
		w.Open('[')
	}
}

func closeData(w *platform.Writer, asObject bool) {
	if !asObject {
		w.Close(']')
	}
}

// rows returns the rows of a report, from a function that returns an account's rows.
func (q *query) rows(of func(a *world.Account, s world.Scope) []world.Row) (list []row) {
	by := groupings[q.kind.level]
	by.Day, by.Hour = !q.summed, q.scope.Hourly
	for _, s := range q.subjects {
		if isSearch(s.account) == q.kind.isFeed {
			continue
		}
		// The rows of the next account take the place of these.
		rows := by.Apply(slices.Clone(of(s.account, q.scope)), q.scope.Level)
		for i := range rows {
			list = append(list, row{&rows[i], s})
		}
	}
	q.sort(list)
	return list
}

// date returns the date of a row: a day, an hour, or all days (page 100140).
func (q *query) date(r *world.Row) string {
	switch {
	case q.summed:
		return world.FormatDay(q.scope.From) + "至" + world.FormatDay(q.scope.To)
	case r.Hour != world.NoHour:
		return fmt.Sprintf("%s %02d:00", world.FormatDay(r.Day), r.Hour)
	}
	return world.FormatDay(r.Day)
}

// write writes the requested columns of a row.
func (q *query) write(w *platform.Writer, r *row) {
	for _, x := range q.columns {
		if x.of != nil && platform.LeavesOut(&r.on.silence, w, x.name, *x.of, &r.Figures) {
			continue
		}
		w.Key(x.name)
		x.write(w, q, r)
	}
}

// writeSum writes the sums of the requested figures.
func (q *query) writeSum(w *platform.Writer, rows []row) {
	total := row{Row: &world.Row{}}
	for _, r := range rows {
		total.Add(&r.Figures)
	}
	w.Open('{')
	for _, x := range q.columns {
		if x.isFigure {
			w.Key(x.name)
			x.write(w, q, &total)
		}
	}
	w.Close('}')
}
