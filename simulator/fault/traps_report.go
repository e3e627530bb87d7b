package fault

import (
	"slices"
	"strconv"
	"time"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

const (
	// morningEnds is the second of a day from which yesterday is complete.
	morningEnds = 8 * world.HourLength

	// justBegun is the second of a day up to which the day before counts as just ended.
	justBegun = 20 * 60

	// The lag of figures, in seconds.
	lagOlder  = 90 * 60
	lagLevels = 20 * 60

	// partialUntil is the second at which a partial yesterday ends, and lateQuarter the second of a late hour.
	partialUntil = 15 * world.HourLength
	lateQuarter  = 45 * 60
)

// Rows returns the rows of a report for a call, in order of day, hour and object.
func (t *Traps) Rows(c *platform.Call, a *world.Account, s world.Scope) []world.Row {
	c.View.Fell, c.View.Grew = false, false
	rows := c.View.Rows(a, s)
	if !t.IsAny() {
		return rows
	}
	if c.View.Fell {
		t.Meet(trap.FiguresFall)
	}
	if c.View.Grew {
		t.Meet(trap.CohortGrows)
	}
	today := a.Calendar.DayOf(c.Now)
	if slices.ContainsFunc(rows, func(r world.Row) bool { return a.Calendar.Length(r.Day) != world.DayLength }) {
		t.Meet(trap.OddDay)
	}
	isYesterday := func(r world.Row) bool { return r.Day == today-1 }
	isToday := func(r world.Row) bool { return r.Day == today }
	at := func(moment int64, s world.Scope) []world.Row {
		v := c.View
		v.Now, v.Scratch = moment, nil
		return v.Rows(a, s)
	}
	if c.Now < a.Calendar.Start(today)+justBegun && slices.ContainsFunc(rows, isYesterday) {
		t.Meet(trap.DayEnded)
	}
	if c.Now < a.Calendar.Start(today)+morningEnds && slices.ContainsFunc(rows, isYesterday) {
		yesterday := world.Scope{Level: s.Level, Hourly: s.Hourly, From: today - 1, To: today - 1}
		switch {
		case t.misleads(c, trap.YesterdayEmpty, a, yesterday):
			return instead(rows, isYesterday, nil)
		case t.misleads(c, trap.YesterdayPartial, a, yesterday):
			return instead(rows, isYesterday, at(a.Calendar.Start(today-1)+partialUntil, yesterday))
		}
	}
	if !slices.ContainsFunc(rows, isToday) {
		return rows
	}
	if s.Hourly {
		if more, changed := t.hours(c, a, rows, at, s); changed {
			return more
		}
	}
	switch {
	case t.misleads(c, trap.OlderFigures, a, s):
		return at(c.Now-lagOlder, s)
	case s.Level != world.LevelAccount && t.misleads(c, trap.LevelsApart, a, s):
		return at(c.Now-lagLevels, s)
	}
	return rows
}

// hours applies the traps of the last completed hour.
func (t *Traps) hours(c *platform.Call, a *world.Account, rows []world.Row, at func(int64, world.Scope) []world.Row,
	s world.Scope) (_ []world.Row, changed bool) {
	today := a.Calendar.DayOf(c.Now)
	hours := a.Calendar.Hours(today)
	now := slices.IndexFunc(hours, func(h world.Hour) bool { return c.Now-a.Calendar.Start(today) < h.To })
	if now < 1 {
		return rows, false
	}
	last := hours[now-1]
	is := func(h world.Hour) func(world.Row) bool {
		return func(r world.Row) bool { return r.Day == today && r.Hour == h.Name }
	}
	if !slices.ContainsFunc(rows, is(last)) {
		return rows, false
	}
	ofToday := world.Scope{Level: s.Level, Hourly: true, From: today, To: today}
	switch {
	case slices.ContainsFunc(rows, is(hours[now])) && t.misleads(c, trap.HourMissing, a, ofToday):
		return instead(rows, is(last), nil), true
	case t.misleads(c, trap.HourLate, a, ofToday):
		before := at(a.Calendar.Start(today)+last.From+lateQuarter, ofToday)
		before = slices.DeleteFunc(before, func(r world.Row) bool { return r.Hour != last.Name })
		return instead(rows, is(last), before), true
	}
	return rows, false
}

// Misled is a query with a wrong answer that the client cannot recognise.
type Misled struct {
	Trap    string    `json:"trap"`
	Media   string    `json:"media"`
	Account string    `json:"account"`
	Kind    string    `json:"kind"`  // the report in the truth: report_daily or report_hourly
	Level   string    `json:"level"` // the level in the truth; ads also for reports by project
	From    string    `json:"from"`  // days, both included
	To      string    `json:"to"`
	At      time.Time `json:"at"` // the world's time of its first page
}

// misledMax bounds the recorded ones.
const misledMax = 10_000

// misleads is Holds for a trap of an account's figures, and records the query. Of a query of several accounts it
// changes the figures of one, on all pages.
func (t *Traps) misleads(c *platform.Call, id trap.ID, a *world.Account, s world.Scope) bool {
	if !t.Holds(c, id) {
		return false
	}
	kind := map[bool]string{false: "report_daily", true: "report_hourly"}[s.Hourly]
	t.mu.Lock()
	defer t.mu.Unlock()
	q := c.QueryKey()
	struck := t.struck[q]
	if !c.IsFirstPage() {
		return struck.account == a.ID
	}
	struck.account = a.ID
	t.struck[q] = struck
	t.misled = append(t.misled, Misled{
		Trap: trap.Catalogue[id].Name, Media: c.Spec.Name, Account: strconv.FormatInt(a.ID, 10), Kind: kind,
		Level: s.Level.String(),
		From:  world.FormatDay(s.From), To: world.FormatDay(s.To), At: time.Unix(c.Now, 0).UTC(),
	})
	if len(t.misled) > misledMax {
		t.misled = slices.Delete(t.misled, 0, misledMax/10)
	}
	return true
}

// instead replaces neighbouring rows by others. It does not change rows in place: they belong to the view.
func instead(rows []world.Row, gone func(world.Row) bool, others []world.Row) []world.Row {
	from := slices.IndexFunc(rows, gone)
	to := from
	for to < len(rows) && gone(rows[to]) {
		to++
	}
	return slices.Concat(rows[:from], others, rows[to:])
}

// Misleadings lists the latest queries with wrong figures, the oldest first.
func (t *Traps) Misleadings() []Misled {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Misled{}, t.misled...)
}
