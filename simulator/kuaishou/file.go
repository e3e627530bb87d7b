package kuaishou

import (
	"slices"
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// file returns the file of a task. The documents do not state its format: it is assumed to be a table with the names of
// real-time reports.
func (t task) file(c *platform.Call, a *world.Account) []byte {
	q, err := t.query(c, a)
	if err != nil {
		return nil // the same parameters were read when the task was created
	}
	if t.IsBare() {
		q.columns = q.columns[1:]
	}
	names := q.header()
	lines := [][]string{names}
	// The rows are those of the moment of creation: a trap of the present call does not change them.
	view := q.c.View
	view.Scratch = nil
	rows := q.rows(view.Rows)
	for i := range rows {
		if line := q.line(&rows[i], names); line != nil {
			lines = append(lines, line)
		}
	}
	c.MeetRows(&view)
	c.CountSilence(&q.silence)
	return platform.Table(c.Assumed(fileMark) == 1, c.Assumed(fileReturn) == 1, lines)
}

// header returns the names of a file's columns.
func (q *query) header() []string {
	names := []string{"stat_date"}
	if q.scope.Hourly {
		names = append(names, "stat_hour")
	}
	names = append(names, q.level.names...)
	if q.by.Union {
		names = append(names, "placement_type")
	}
	for _, x := range q.columns {
		names = append(names, x.name)
	}
	return names
}

// line returns a line of a file with columns; nil if the status of the row's object does not fit.
func (q *query) line(r *world.Row, names []string) []string {
	line := make([]string, 0, len(names))
	for _, x := range q.keys(r) {
		if x.name == "status" && q.status != 0 && q.status != x.number {
			return nil
		}
		switch {
		case !slices.Contains(names, x.name):
		case x.isText:
			line = append(line, x.text)
		default:
			line = append(line, strconv.FormatInt(x.number, 10))
		}
	}
	for i := range q.columns {
		x := &q.columns[i]
		line = append(line, q.figure(x, r))
	}
	return line
}

// figure returns a figure as text. An omitted one is empty, or a dash.
func (q *query) figure(x *column, r *world.Row) string {
	if x.of != nil {
		if text, left := platform.LeavesOutText(&q.silence, *x.of, &r.Figures); left {
			return text
		}
	}
	return string(x.append(nil, &r.Figures))
}
