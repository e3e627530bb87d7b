package simulator

import (
	"slices"
	"strconv"
	"time"
)

const (
	// morningEnds is the second of a day at which yesterday is told in full.
	morningEnds = 8 * hourLength

	// justBegun is the second of a day up to which the one before has only just ended.
	justBegun = 20 * 60

	// By how much figures lag, in seconds.
	lagOlder  = 90 * 60
	lagLevels = 20 * 60

	// partialUntil is the second of the day at which a partial yesterday ends, and lateQuarter that of an hour.
	partialUntil = 15 * hourLength
	lateQuarter  = 45 * 60
)

// Rows are those of a report as a call is told them, in the order of day, hour, object.
func (t *traps) Rows(c *call, a *account, s scope) []row {
	c.view.fell, c.view.grew = false, false
	rows := c.view.rows(a, s)
	if !t.isAny() {
		return rows
	}
	if c.view.fell {
		t.meet(trapFiguresFall)
	}
	if c.view.grew {
		t.meet(trapCohortGrows)
	}
	today := a.calendar.dayOf(c.now)
	if slices.ContainsFunc(rows, func(r row) bool { return a.calendar.length(r.day) != dayLength }) {
		t.meet(trapOddDay)
	}
	isYesterday := func(r row) bool { return r.day == today-1 }
	isToday := func(r row) bool { return r.day == today }
	at := func(moment int64, s scope) []row {
		v := c.view
		v.now, v.scratch = moment, nil
		return v.rows(a, s)
	}
	if c.now < a.calendar.start(today)+justBegun && slices.ContainsFunc(rows, isYesterday) {
		t.meet(trapDayEnded)
	}
	if c.now < a.calendar.start(today)+morningEnds && slices.ContainsFunc(rows, isYesterday) {
		yesterday := scope{level: s.level, hourly: s.hourly, from: today - 1, to: today - 1}
		switch {
		case t.misleads(c, trapYesterdayEmpty, a, yesterday):
			return instead(rows, isYesterday, nil)
		case t.misleads(c, trapYesterdayPartial, a, yesterday):
			return instead(rows, isYesterday, at(a.calendar.start(today-1)+partialUntil, yesterday))
		}
	}
	if !slices.ContainsFunc(rows, isToday) {
		return rows
	}
	if s.hourly {
		if more, changed := t.hours(c, a, rows, at, s); changed {
			return more
		}
	}
	switch {
	case t.misleads(c, trapOlderFigures, a, s):
		return at(c.now-lagOlder, s)
	case s.level != levelAccount && t.misleads(c, trapLevelsApart, a, s):
		return at(c.now-lagLevels, s)
	}
	return rows
}

// hours springs the traps of the last hour that is over.
func (t *traps) hours(c *call, a *account, rows []row, at func(int64, scope) []row, s scope) (_ []row, changed bool) {
	today := a.calendar.dayOf(c.now)
	hours := a.calendar.hours(today)
	now := slices.IndexFunc(hours, func(h hour) bool { return c.now-a.calendar.start(today) < h.to })
	if now < 1 {
		return rows, false
	}
	last := hours[now-1]
	is := func(h hour) func(row) bool { return func(r row) bool { return r.day == today && r.hour == h.name } }
	if !slices.ContainsFunc(rows, is(last)) {
		return rows, false
	}
	ofToday := scope{level: s.level, hourly: true, from: today, to: today}
	switch {
	case slices.ContainsFunc(rows, is(hours[now])) && t.misleads(c, trapHourMissing, a, ofToday):
		return instead(rows, is(last), nil), true
	case t.misleads(c, trapHourLate, a, ofToday):
		before := at(a.calendar.start(today)+last.from+lateQuarter, ofToday)
		before = slices.DeleteFunc(before, func(r row) bool { return r.hour != last.name })
		return instead(rows, is(last), before), true
	}
	return rows, false
}

// Misled is a query that was answered otherwise than the truth, in a way that no answer shows.
type Misled struct {
	Trap    string    `json:"trap"`
	Media   string    `json:"media"`
	Account string    `json:"account"`
	Kind    string    `json:"kind"`  // as the truth calls it: report_daily or report_hourly
	Level   string    `json:"level"` // likewise; that of ads also for reports by project
	From    string    `json:"from"`  // days, both included
	To      string    `json:"to"`
	At      time.Time `json:"at"` // the world's time of its first page
}

// misledMax bounds what is remembered of them.
const misledMax = 10_000

// misleads is holds for a trap of an account's figures, and notes whose they are.
func (t *traps) misleads(c *call, id trapID, a *account, s scope) bool {
	if !t.Holds(c, id) {
		return false
	}
	if !c.isFirstPage() {
		return true
	}
	kind := map[bool]string{false: "report_daily", true: "report_hourly"}[s.hourly]
	t.mu.Lock()
	defer t.mu.Unlock()
	t.misled = append(t.misled, Misled{
		Trap: trapCatalogue[id].name, Media: c.p.name, Account: strconv.FormatInt(a.id, 10), Kind: kind, Level: s.level.String(),
		From: formatDay(s.from), To: formatDay(s.to), At: time.Unix(c.now, 0).UTC(),
	})
	if len(t.misled) > misledMax {
		t.misled = slices.Delete(t.misled, 0, misledMax/10)
	}
	return true
}

// instead puts other rows in the place of some that stand together. Rows are not changed: they are the view's.
func instead(rows []row, gone func(row) bool, others []row) []row {
	from := slices.IndexFunc(rows, gone)
	to := from
	for to < len(rows) && gone(rows[to]) {
		to++
	}
	return slices.Concat(rows[:from], others, rows[to:])
}

// misleadings lists the latest queries whose figures were not as they were published, the oldest first.
func (t *traps) misleadings() []Misled {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Misled{}, t.misled...)
}
