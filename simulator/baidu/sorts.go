package baidu

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"adsync/simulator/platform"
)

const sortsMax = 2

// reportSort is an order by a column.
type reportSort struct {
	Column   string `json:"column"`
	SortRule string `json:"sortRule"`
	of       *column
}

// readSorts reads the orders, which are by requested columns.
func (q *query) readSorts(p *platform.Params) {
	if text := q.c.Query.Get("sorts"); text != "" && json.Unmarshal([]byte(text), &q.sorts) != nil {
		wrong(p, "sorts is a list of objects")
	}
	if len(q.sorts) > sortsMax {
		wrong(p, "a report has at most %d sorts", sortsMax)
	}
	for i := range q.sorts {
		x := &q.sorts[i]
		at := slices.IndexFunc(q.columns, func(c *column) bool { return c.name == x.Column })
		if at < 0 || x.SortRule != "ASC" && x.SortRule != "DESC" {
			wrong(p, "sorts[%d] has a requested column, and ASC or DESC", i)
			return
		}
		x.of = q.columns[at]
	}
}

// cell returns a value of a row as text.
func (q *query) cell(x *column, r *row) string {
	var w platform.Writer
	x.write(&w, q, r)
	return strings.Trim(string(w.Bytes), `"`)
}

// compareCells compares numbers as numbers.
func compareCells(a, b string) int {
	x, err := strconv.ParseFloat(a, 64)
	y, errToo := strconv.ParseFloat(b, 64)
	if err == nil && errToo == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

// sort puts rows in the requested order. Rows that are equal keep theirs.
func (q *query) sort(rows []row) {
	if len(q.sorts) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, s := range q.sorts {
			if order := compareCells(q.cell(s.of, &a), q.cell(s.of, &b)); order != 0 {
				return order * map[string]int{"ASC": 1, "DESC": -1}[s.SortRule]
			}
		}
		return 0
	})
}
