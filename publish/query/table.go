package query

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
)

// table is a view with the scope's conditions.
type table struct {
	View
	derived string // the derived table in brackets; "" if the scope and the view restrict nothing
	refused string // why the view cannot be limited to the scope; "" if it can
}

// limitViews returns the views by their names, limited to the scope.
func limitViews(views []View, s Scope) (map[string]*table, error) {
	for _, list := range [][]string{s.Games, s.Media} {
		for _, value := range list {
			if !isPlain(value) {
				return nil, fmt.Errorf("the scope contains %q: want UTF-8 without backslashes and control characters", value)
			}
		}
	}
	tables := map[string]*table{}
	for _, v := range views {
		tables[v.Name] = limitView(v, s)
	}
	return tables, nil
}

func limitView(v View, s Scope) *table {
	t := &table{View: v}
	var conditions []string
	restrict := func(column, to string, values []string) {
		switch {
		case len(values) == 0:
		case column == "":
			t.refused = "cannot be limited to " + to
		default:
			conditions = append(conditions, quoteName(column)+" IN ("+strings.Join(values, ",")+")")
		}
	}
	restrict(v.Game, "games", quoteTexts(s.Games))
	restrict(v.Account, "accounts", decimals(s.Accounts))
	restrict(v.Media, "media", quoteTexts(s.Media))
	if len(conditions) == 0 && v.Columns == nil {
		return t
	}
	columns := "*"
	if v.Columns != nil {
		quoted := make([]string, len(v.Columns))
		for i, column := range v.Columns {
			quoted[i] = quoteName(column)
		}
		columns = strings.Join(quoted, ",")
	}
	t.derived = "(SELECT " + columns + " FROM " + quoteName(v.Name)
	if len(conditions) > 0 {
		t.derived += " WHERE " + strings.Join(conditions, " AND ")
	}
	t.derived += ")"
	return t
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func quoteTexts(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return quoted
}

func decimals(numbers []int64) []string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return texts
}

// limited stands in the tree for a view's derived table.
type limited struct {
	ast.ResultSetNode // the view's name
	derived           string
}

// Restore implements ast.Node.
func (l *limited) Restore(ctx *format.RestoreCtx) error {
	ctx.WritePlain(l.derived)
	return nil
}

// tableSource checks a table of a FROM clause, and replaces a view by its derived table.
func (c *checker) tableSource(ts *ast.TableSource) error {
	if ts.Lateral {
		return c.at("lateral", "LATERAL is refused: want a join")
	}
	tn, isTable := ts.Source.(*ast.TableName)
	if !isTable {
		if ts.AsName.O == "" {
			return c.at("from", "a derived table has no name: want AS and a name")
		}
		return nil
	}
	if c.references++; c.references > tablesMax {
		return c.at(tn.Name.O, "the query reads more than %d tables", tablesMax)
	}
	called := tn.Name.O
	switch {
	case tn.Schema.O != "":
		return c.at(called, "the table %q.%q is refused: want a view's name without a database", tn.Schema.O, called)
	case len(tn.PartitionNames) > 0 || len(tn.IndexHints) > 0 || tn.TableSample != nil || tn.AsOf != nil:
		return c.at(called, "the table %q has a partition, an index hint, a sample or a time: want its name alone", called)
	}
	if ts.AsName.O == "" {
		ts.AsName = ast.NewCIStr(called)
	}
	if name, isCTE := c.ctes[tn.Name.L]; isCTE {
		ts.Source = &ast.TableName{Name: ast.NewCIStr(name)}
		return nil
	}
	t, known := c.tables[called]
	switch {
	case !known:
		return c.at(called, "the table %q is unknown: want one of %s", called, sortedNames(c.tables))
	case t.refused != "":
		return c.at(called, "the table %s %s: want a view that can", called, t.refused)
	}
	c.read[ts] = t
	if t.derived != "" {
		ts.Source = &limited{ResultSetNode: tn, derived: t.derived}
	}
	return nil
}

// cte checks a common table expression before its query is checked.
func (c *checker) cte(e *ast.CommonTableExpression) error {
	for view := range c.tables {
		if strings.EqualFold(view, e.Name.O) {
			return c.at(e.Name.O, "the common table expression %q has the name of a view: want another name", e.Name.O)
		}
	}
	if _, known := c.ctes[e.Name.L]; known {
		return c.at(e.Name.O, "the common table expression %q is defined twice", e.Name.O)
	}
	return nil
}

// nameCTE makes a common table expression known to what follows it. It gets a name that no table has, so that its
// scope in the database cannot decide which table a reference reads.
func (c *checker) nameCTE(e *ast.CommonTableExpression) {
	internal := "cte " + strconv.Itoa(len(c.ctes)+1)
	c.ctes[e.Name.L] = internal
	e.Name = ast.NewCIStr(internal)
}

// viewNames returns the names of the views that the query reads, sorted, each once.
func (c *checker) viewNames() []string {
	names := map[string]bool{}
	for _, t := range c.read {
		if t != nil {
			names[t.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
