package verify

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

// This file defines what the tables must hold, from the platforms' documents and not from the adapters: a wrong unit
// in an adapter must show as a difference here.

// rawColumn is what a raw column must hold for a row of the truth, as text.
type rawColumn struct {
	name string
	want func(truthRow) string
	// metric is the truth's, of a column that holds a figure of a report.
	metric string
	// asText also reads instants as seconds since 1970 and everything else unchanged.
	instant bool
}

const microsPerFen = 10_000

// counted returns the column of a field that counts, fens the column of an amount. A metric that the truth does not
// have is NULL.
func counted(field, metric string) rawColumn { return figure(field, metric, 1) }

func fens(field, metric string) rawColumn { return figure(field+"_fen", metric, microsPerFen) }

// field returns the platform's name of a figure's field: that of its column without the unit.
func (c rawColumn) field() string {
	for _, unit := range []string{"_fen", "_li", "_millifen", "_micros"} {
		if field, ok := strings.CutSuffix(c.name, unit); ok {
			return field
		}
	}
	return c.name
}

func figure(name, metric string, unit int64) rawColumn {
	return rawColumn{name: name, metric: metric, want: func(r truthRow) string {
		value, ok := r.Metrics[metric]
		return number(sql.NullInt64{Int64: value / unit, Valid: ok})
	}}
}

func unix(get func(truthRow) int64) func(truthRow) string {
	return func(r truthRow) string { return dated(get(r)) }
}

// dated returns a moment for comparison. No moment and the one of 1970 are equal: some platforms write one for the
// other.
func dated(unix int64) string {
	if unix <= 0 {
		return ""
	}
	return strconv.FormatInt(unix, 10)
}

func created(r truthRow) int64  { return r.Created }
func modified(r truthRow) int64 { return r.Modified }

func pick(words map[string]string) func(truthRow) string {
	return func(r truthRow) string { return words[r.Status] }
}

// assetColumns are the columns of an image or a video: name, width, height, size, signature and time of upload.
func assetColumns(name, size, created string) []rawColumn {
	return []rawColumn{
		{name: name, want: func(r truthRow) string { return r.Name }},
		{name: "width", want: func(r truthRow) string { return strconv.FormatInt(r.Width, 10) }},
		{name: "height", want: func(r truthRow) string { return strconv.FormatInt(r.Height, 10) }},
		{name: size, want: func(r truthRow) string { return strconv.FormatInt(r.Size, 10) }},
		{name: "signature", want: func(r truthRow) string { return r.Signature }},
		{name: created, want: unix(func(r truthRow) int64 { return r.Created }), instant: true},
	}
}

// objects is a configuration level: its raw table, and its kind in the truth.
type objects struct {
	table, kind string
	columns     []rawColumn
	// level is the name of the objects' level in wide_daily, above that of their parents'; "" where there is none.
	level, above string
	// nameless means that the platform's objects have no names, idNamesParent that their ids hold those of their parents.
	nameless, idNamesParent bool
	// modified is the column with the time by which changes are pulled, status one that may change without it; "" where
	// changes are not pulled so.
	modified, status string
}

// deep reports whether the objects are below the ad group.
func (o objects) deep() bool { return slices.Contains([]string{"creative", "image", "video"}, o.kind) }

const creativeLevel = "creative"

// level is a level of the reports, and its name in the truth.
type level struct{ name, truth string }

// world defines what is compared for one platform.
type world struct {
	media      string
	accounts   string // raw table of accounts, and its column that holds their name
	nameColumn string
	company    string // the column of the accounts' details that a login may be forbidden, "" where there is none
	objects    []objects
	levels     []level
	daily      string // raw tables
	hourly     string
	report     []rawColumn
	// public maps a column of the public tables to the truth's metric; columns that are not named must be NULL.
	public map[string]string
	// daysOnly are the truth's metrics that only daily reports have. Hourly raw tables have no columns for them.
	daysOnly []string
	money    moneySpec
	// assetless means that no pulled list of the platform returns what creatives show.
	assetless bool
}

// worldOf returns the world of a platform; an empty one when its rows are not compared.
func worldOf(media string) world {
	if i := slices.IndexFunc(worlds, func(w world) bool { return w.media == media }); i >= 0 {
		return worlds[i]
	}
	return world{}
}

// columns returns the columns of a raw table of reports.
func (w world) columns(hourly bool) []rawColumn {
	if !hourly {
		return w.report
	}
	isDaily := func(c rawColumn) bool { return slices.Contains(w.daysOnly, c.metric) }
	return slices.DeleteFunc(slices.Clone(w.report), isDaily)
}

// Platforms are the platforms whose rows are compared.
func Platforms() []string {
	names := make([]string, len(worlds))
	for i, w := range worlds {
		names[i] = w.media
	}
	return names
}

func same(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[n] = n
	}
	return m
}

func with(m map[string]string, column, metric string) map[string]string {
	m[column] = metric
	return m
}

// Days that the seeded tasks pull, today included.
const (
	dailyDays  = 7
	hourlyDays = 2
)

// accountLevel is the level from which summaries are built.
const accountLevel = "account"

// rawTable returns the raw table of a platform's reports.
func (w world) rawTable(hourly bool) string {
	if hourly {
		return w.hourly
	}
	return w.daily
}
