package kuaishou

import (
	"slices"
	"time"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// level is a level of reports.
type level struct {
	view  int64 // its number in asynchronous reports
	scope world.Level
	by    platform.Grouping
	rows  func(r *world.Row) bool // which rows of the scope it has; nil is all
	// ids are the conditions on ids.
	ids []string
	// names are the names of keys in files, and keys returns the ids, the names and the status of a row.
	names []string
	keys  func(q *query, r *world.Row) []value
}

// value is a field of a row that is no figure, as JSON or text.
type value struct {
	name   string
	text   string
	number int64
	isText bool
}

func textValue(name, text string) value           { return value{name: name, text: text, isText: true} }
func numberValue(name string, number int64) value { return value{name: name, number: number} }

// levels are the levels by their real-time report's path.
var levels = map[string]*level{
	"v1/report/account_report": {
		view: 1, scope: world.LevelAccount, keys: func(*query, *world.Row) []value { return nil },
	},
	"v1/report/campaign_report": {
		view: 2, scope: world.LevelAd, by: platform.Grouping{Project: true}, keys: campaignKeys,
		ids:   []string{"campaign_ids"},
		names: []string{"campaign_id", "campaign_name", "status"},
	},
	"v1/report/unit_report": {
		view: 3, scope: world.LevelAd, by: platform.Grouping{Object: true, Ad: true}, keys: unitKeys,
		names: []string{"campaign_id", "campaign_name", "unit_id", "unit_name", "status"},
		ids:   []string{"campaign_ids", "unit_ids"},
	},
	"v1/report/creative_report": {
		view: 4, scope: world.LevelCreative, by: platform.Grouping{Object: true, Ad: true},
		rows: func(r *world.Row) bool { return !r.Ad.Packed },
		ids:  []string{"campaign_ids", "unit_ids", "creative_ids"}, keys: creativeKeys, names: creativeNames,
	},
	"v1/report/program_creative_report": {
		view: 10, scope: world.LevelCreative, by: platform.Grouping{Object: true, Ad: true},
		rows: func(r *world.Row) bool { return r.Ad.Packed },
		ids:  []string{"campaign_ids", "unit_ids"}, keys: creativeKeys, names: creativeNames,
	},
}

var creativeNames = []string{"campaign_id", "campaign_name", "unit_id", "unit_name", "creative_id", "creative_name",
	"status"}

const (
	reportSizeMax = 2000
	reportIDsMax  = 5000
	// reportBack is how many days before today real-time reports have, and reportSpan how many days a call spans.
	reportBack = 7
	reportSpan = 7
)

// query is the parameters of a report.
type query struct {
	c        *platform.Call
	params   *platform.Params
	account  *world.Account
	level    *level
	by       platform.Grouping
	scope    world.Scope
	ids      map[string][]int64
	within   [2]int64 // the first and last hour, counted from 1970-01-01, in incremental queries
	photos   bool     // the rows have the fields of the video
	status   int64    // of the rows' objects; 0 is any. Only files have the condition
	none     bool     // a condition that no row fits
	columns  []column
	silence  world.Silence
	projects map[int64]world.Project
}

// report returns the handler of a level's real-time report.
func (k *kuaishou) report(l *level) func(*platform.Call, *world.Account, *platform.Params) *platform.Failure {
	return func(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
		q := newQuery(p, a, l)
		if err := q.read(); err != nil || p.Failure != nil {
			return err
		}
		c.View.Now -= c.Assumed(reportDelay)
		writePage(k, c, readPage(p, reportSizeMax), q.rows(c.Rows), func(w *platform.Writer, r *world.Row) {
			q.write(w, r)
			c.CountTraits(w, a, nil)
		})
		c.CountSilence(&q.silence)
		return nil
	}
}

func newQuery(p *platform.Params, a *world.Account, l *level) *query {
	q := &query{c: p.Call, params: p, account: a, level: l, by: l.by, scope: world.Scope{Level: l.scope},
		ids:     map[string][]int64{},
		columns: columnsOf(p.Call), silence: a.Silence()}
	q.by.Day = true
	return q
}

// read reads the parameters of a real-time report.
func (q *query) read() *platform.Failure {
	c, p := q.c, q.params
	q.readShape()
	for _, name := range q.level.ids {
		q.ids[name] = p.Numbers(name, reportIDsMax)
	}
	kind := p.Optional("campaign_type")
	q.none = kind != 0 && kind != campaignType
	if q.level.view == 10 { // all packages of this world are smart creatives
		q.none = q.none || p.OneOf("unit_type", 0, 7, unitSmart) == 7
	}
	extend := p.Texts("extend_info", 1)
	if len(extend) == 1 && extend[0] != "photo" {
		return wrong(c, `extend_info is ["photo"] or missing`)
	}
	q.photos = q.level.view == 10 || q.level.view == 4 && len(extend) == 1
	var err *platform.Failure
	if c.Query.Get("start_date_min") != "" || c.Query.Get("end_date_min") != "" {
		err = q.readMinutes()
	} else {
		err = q.readDays()
	}
	if err != nil {
		return err
	}
	today := q.account.Calendar.DayOf(c.Now)
	switch {
	case q.scope.To < q.scope.From:
		return wrong(c, "the end is before the start")
	case q.scope.From < today-reportBack:
		return wrong(c, "only the last %d days can be read: the first is %s", reportBack, world.FormatDay(today-reportBack))
	case q.scope.To-q.scope.From >= reportSpan:
		return wrong(c, "a report has at most %d days", reportSpan)
	}
	if c.Assumed(todayReported) == 0 {
		q.scope.To = min(q.scope.To, today-1)
	}
	return nil
}

// readShape reads the granularity and the dimensions, which asynchronous reports have too.
func (q *query) readShape() {
	if q.params.TextOf("temporal_granularity", "DAILY", "HOURLY") == "HOURLY" {
		q.scope.Hourly, q.by.Hour = true, true
		q.columns = slices.DeleteFunc(q.columns, func(x column) bool { return x.isDaily })
	}
	// All rows of this world are of the same scene.
	if slices.Contains(q.params.TextsOf("report_dims", "adScene", "placementType"), "placementType") {
		q.by.Union = true
		q.scope.Level = max(q.scope.Level, world.LevelAd)
	}
}

func (q *query) readDays() *platform.Failure {
	var failed [2]error
	q.scope.From, failed[0] = world.ParseDay(q.c.Query.Get("start_date"))
	q.scope.To, failed[1] = world.ParseDay(q.c.Query.Get("end_date"))
	if failed != [2]error{} {
		return wrong(q.c, "start_date and end_date are given, as days like 2026-11-15")
	}
	return nil
}

// readMinutes reads the incremental form of the days.
func (q *query) readMinutes() *platform.Failure {
	const layout = "2006-01-02 15:04"
	from, failed := time.Parse(layout, q.c.Query.Get("start_date_min"))
	to, failedToo := time.Parse(layout, q.c.Query.Get("end_date_min"))
	if failed != nil || failedToo != nil {
		return wrong(q.c, "start_date_min and end_date_min are given together, as times like 2026-11-15 09:30")
	}
	q.within = [2]int64{from.Unix() / world.HourLength, to.Unix() / world.HourLength}
	q.scope.From, q.scope.To = int(from.Unix()/world.DayLength), int(to.Unix()/world.DayLength)
	return nil
}

// rows returns the rows of a report, from a function that returns an account's rows.
func (q *query) rows(of func(a *world.Account, s world.Scope) []world.Row) []world.Row {
	if q.none || q.scope.To < q.scope.From {
		return nil
	}
	rows := slices.DeleteFunc(of(q.account, q.scope), func(r world.Row) bool { return !q.fits(&r) })
	return q.withZeros(q.by.Apply(rows, q.scope.Level))
}

func (q *query) fits(r *world.Row) bool {
	if hour := int64(r.Day)*24 + int64(r.Hour); r.Hour != world.NoHour && q.within[1] != 0 &&
		(hour < q.within[0] || hour > q.within[1]) {
		return false
	}
	if q.level.rows != nil && !q.level.rows(r) {
		return false
	}
	has := func(name string, id int64) bool { return len(q.ids[name]) == 0 || slices.Contains(q.ids[name], id) }
	return q.level.ids == nil || has("campaign_ids", r.Ad.Project) && has("unit_ids", r.AdID()) &&
		has("creative_ids", r.Object)
}

// withZeros adds the days of an account without figures, if the platform is assumed to report them.
func (q *query) withZeros(rows []world.Row) []world.Row {
	if q.c.Assumed(zeroRows) == 0 || q.level.scope != world.LevelAccount || q.scope.Hourly {
		return rows
	}
	var list []world.Row
	for day := q.scope.From; day <= min(q.scope.To, q.account.Calendar.DayOf(q.c.Now)); day++ {
		at := slices.IndexFunc(rows, func(r world.Row) bool { return r.Day == day })
		if at < 0 {
			list = append(list, world.Row{Day: day, Hour: world.NoHour})
		}
		for ; at >= 0 && at < len(rows) && rows[at].Day == day; at++ {
			list = append(list, rows[at])
		}
	}
	return list
}

// write writes a row of a real-time report.
func (q *query) write(w *platform.Writer, r *world.Row) {
	for _, x := range q.keys(r) {
		w.Key(x.name)
		if x.isText {
			w.Text(x.text)
		} else {
			w.Number(x.number)
		}
	}
	for i := range q.columns {
		x := &q.columns[i]
		if x.of != nil && platform.LeavesOut(&q.silence, w, x.name, *x.of, &r.Figures) {
			continue
		}
		w.Key(x.name)
		w.Sep()
		w.Bytes = x.append(w.Bytes, &r.Figures)
	}
}

// keys returns the fields of a row that are no figures.
func (q *query) keys(r *world.Row) []value {
	list := append([]value{
		textValue("stat_date", world.FormatDay(r.Day)), numberValue("stat_hour", int64(max(r.Hour, 0))),
	}, q.level.keys(q, r)...)
	return append(list, textValue("ad_scene", "全部"), textValue("placement_type", q.placement(r)))
}

// placement is where a row's impressions were: on Kuaishou, with other publishers, or on both.
func (q *query) placement(r *world.Row) string {
	switch {
	case !q.by.Union:
		return "全部"
	case r.Ad.InUnion():
		return "联盟"
	}
	return "快手"
}

func campaignKeys(q *query, r *world.Row) []value {
	if q.projects == nil {
		q.projects = map[int64]world.Project{}
		for _, x := range q.account.Projects(q.c.Now) {
			q.projects[x.ID] = x
		}
	}
	x := q.projects[r.Ad.Project]
	return []value{numberValue("campaign_id", x.ID), textValue("campaign_name", x.Name),
		numberValue("status", putStatus(x.Status))}
}

func unitKeys(q *query, r *world.Row) []value {
	x := r.Ad.At(q.c.Now)
	list := campaignKeys(q, r)
	return append(list[:2], numberValue("unit_id", r.AdID()), textValue("unit_name", x.Name),
		numberValue("status", putStatus(x.Status)))
}

// creativeKeys has the id of a custom creative's video as a number, where lists have a text.
func creativeKeys(q *query, r *world.Row) []value {
	x := r.Creative.At(q.c.Now)
	list := unitKeys(q, r)[:4]
	list = append(list, numberValue("creative_id", r.Object), textValue("creative_name", x.Name),
		numberValue("status", putStatus(x.Status)))
	if q.photos {
		assets := x.Assets(q.account)
		photo := textValue("photo_id", assets[0].ID)
		if !r.Ad.Packed {
			photo = numberValue("photo_id", assets[0].Material)
		}
		list = append(list, photo, textValue("photo_md5", assets[0].Signature),
			textValue("image_token", assets[1].ID), textValue("cover_url", ""))
	}
	return list
}
