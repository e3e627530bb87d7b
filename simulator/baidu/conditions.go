package baidu

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"adsync/simulator/platform"
)

const (
	filtersMax = 5
	valuesMax  = 500
	sortsMax   = 2
)

// reportFilter is a condition on a column: on a number or a text as it is written.
type reportFilter struct {
	Column   string   `json:"column"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
	of       *column
}

// reportSort is an order by a column.
type reportSort struct {
	Column   string `json:"column"`
	SortRule string `json:"sortRule"`
	of       *column
}

// operators tell whether a comparison with a value fits.
var operators = map[string]func(order int) bool{
	"GT": func(n int) bool { return n > 0 }, "GTE": func(n int) bool { return n >= 0 },
	"LT": func(n int) bool { return n < 0 }, "LTE": func(n int) bool { return n <= 0 },
	"EQ": func(n int) bool { return n == 0 }, "NOT_EQ": func(n int) bool { return n != 0 },
	"IN": func(n int) bool { return n == 0 }, "NOT_IN": func(n int) bool { return n == 0 },
}

// readConditions reads the filters and the orders, whose columns are known ones and requested ones.
func (q *query) readConditions(p *platform.Params) {
	for name, to := range map[string]any{"filters": &q.filters, "sorts": &q.sorts} {
		if text := p.Call.Query.Get(name); text != "" && json.Unmarshal([]byte(text), to) != nil {
			wrong(p, "%s is a list of objects", name)
		}
	}
	if len(q.filters) > filtersMax || len(q.sorts) > sortsMax {
		wrong(p, "a report has at most %d filters and %d sorts", filtersMax, sortsMax)
	}
	for i := range q.filters {
		x := &q.filters[i]
		isList := strings.HasSuffix(x.Operator, "IN")
		x.of = q.kind.columnNamed(p.Call, x.Column)
		if x.of == nil || operators[x.Operator] == nil || len(x.Values) == 0 || len(x.Values) > valuesMax ||
			!isList && len(x.Values) > 1 {
			wrong(p, "filters[%d] is %v", i, *x)
		}
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

// choose returns the rows that fit all filters, in the requested order.
func (q *query) choose(rows []row) []row {
	for _, f := range q.filters {
		rows = slices.DeleteFunc(rows, func(r row) bool {
			value := q.cell(f.of, &r)
			fits := slices.ContainsFunc(f.Values, func(v string) bool { return operators[f.Operator](compareCells(value, v)) })
			return fits == (f.Operator == "NOT_IN")
		})
	}
	if len(q.sorts) == 0 {
		return rows
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, s := range q.sorts {
			if order := compareCells(q.cell(s.of, &a), q.cell(s.of, &b)); order != 0 {
				return order * map[string]int{"ASC": 1, "DESC": -1}[s.SortRule]
			}
		}
		return 0
	})
	return rows
}
