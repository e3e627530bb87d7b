package query

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// ordering is what an ORDER BY orders by. Items that are expressions do not count, because the databases resolve the
// names in them differently.
type ordering struct {
	returned map[int]bool    // the returned columns, by their index
	columns  map[string]bool // the columns of tables, see columnKey
}

// total checks that an ORDER BY determines the order of a query's rows. It does so if it contains
//   - each returned column, or
//   - each expression of GROUP BY, in a SELECT without DISTINCT, or
//   - each column of the key, in a SELECT of one view without GROUP BY and DISTINCT.
func (c *checker) total(n ast.Node, order *ast.OrderByClause) error {
	selects := arms(n)
	first := selects[0]
	only := c.onlyTable(first)
	if len(selects) > 1 {
		only = ""
	}
	by, err := c.ordering(order, first.Fields.Fields, only)
	if err != nil {
		return err
	}
	if first.Distinct && len(by.returned) < len(order.Items) {
		return c.at("order", "the ORDER BY of SELECT DISTINCT has another column, or one twice: want each returned one")
	}
	var missing []string
	for i, f := range first.Fields.Fields {
		if !by.returned[i] {
			missing = append(missing, nameOf(f))
		}
	}
	if len(missing) == 0 && !slices.ContainsFunc(first.Fields.Fields, isWildcard) {
		return nil
	}
	want := "every returned column (" + strings.Join(missing, ", ") + " missing)"
	if len(selects) > 1 || first.Distinct {
		return c.at("order", "the ORDER BY is not total: want %s", want)
	}
	if first.GroupBy != nil {
		lacks, err := c.lacksGroups(by, first, only)
		if err != nil || len(lacks) == 0 {
			return err
		}
		want += ", or every expression of GROUP BY, each as the column itself or by the position of a returned column (" +
			strings.Join(lacks, ", ") + " missing)"
		return c.at("order", "the ORDER BY is not total: want %s", want)
	}
	if t := c.onlyView(first); t != nil && len(t.Key) > 0 {
		var lacks []string
		for _, column := range t.Key {
			if !by.columns["."+strings.ToLower(column)] {
				lacks = append(lacks, column)
			}
		}
		if len(lacks) == 0 {
			return nil
		}
		want += ", or the key of " + t.Name + " (" + strings.Join(lacks, ", ") + " missing)"
	}
	return c.at("order", "the ORDER BY is not total: want %s", want)
}

func isWildcard(f *ast.SelectField) bool { return f.WildCard != nil }

// ordering reads an ORDER BY. Only is the name of the one table that the SELECT reads, or "".
func (c *checker) ordering(order *ast.OrderByClause, fields []*ast.SelectField, only string) (ordering, error) {
	by := ordering{returned: map[int]bool{}, columns: map[string]bool{}}
	for _, item := range order.Items {
		switch e := item.Expr.(type) {
		case *ast.PositionExpr:
			if e.N < 1 || e.N > len(fields) {
				return by, c.at("order", "ORDER BY %d: want a position from 1 to %d", e.N, len(fields))
			}
			by.returned[e.N-1] = true
		case *ast.ColumnNameExpr:
			// A name without a table is that of a returned column first.
			if i := returnedAs(e, fields); i >= 0 {
				by.returned[i] = true
				continue
			}
			by.columns[columnKey(e, only)] = true
		}
	}
	for i, f := range fields {
		if column, isColumn := f.Expr.(*ast.ColumnNameExpr); isColumn {
			key := columnKey(column, only)
			by.returned[i] = by.returned[i] || by.columns[key]
			by.columns[key] = by.returned[i]
		}
	}
	return by, nil
}

// returnedAs returns the index of the returned column that a name without a table means, or -1.
func returnedAs(e *ast.ColumnNameExpr, fields []*ast.SelectField) int {
	if e.Name.Table.O != "" {
		return -1
	}
	return slices.IndexFunc(fields, func(f *ast.SelectField) bool {
		return strings.EqualFold(nameOf(f), e.Name.Name.O)
	})
}

// columnKey returns a text that is equal for two names of one column of a table: the table's name, a dot, and the
// column's name, in lower case. The name of the only table is left out.
func columnKey(e *ast.ColumnNameExpr, only string) string {
	of := e.Name.Table.L
	if of == strings.ToLower(only) {
		of = ""
	}
	return of + "." + e.Name.Name.L
}

// lacksGroups returns the expressions of GROUP BY that the ORDER BY lacks. A name in GROUP BY is that of a table's
// column: whether it is also that of a returned expression is no matter, because the databases differ there.
func (c *checker) lacksGroups(by ordering, s *ast.SelectStmt, only string) (lacks []string, err error) {
	for _, item := range s.GroupBy.Items {
		text, err := restore(item.Expr)
		if err != nil {
			return nil, err
		}
		var covered bool
		switch e := item.Expr.(type) {
		case *ast.PositionExpr:
			covered = by.returned[e.N-1]
		case *ast.ColumnNameExpr:
			covered = by.columns[columnKey(e, only)]
		default:
			for i, f := range s.Fields.Fields {
				if f.Expr == nil || !by.returned[i] {
					continue
				}
				if returned, err := restore(f.Expr); err == nil && returned == text {
					covered = true
				}
			}
		}
		if !covered {
			lacks = append(lacks, text)
		}
	}
	return lacks, nil
}

// onlyTable returns the name by which a SELECT reads its one table, or "" if it reads several.
func (c *checker) onlyTable(s *ast.SelectStmt) string {
	if source := onlySource(s); source != nil {
		return source.AsName.O
	}
	return ""
}

// onlyView returns the view that a SELECT reads, or nil if it reads other tables.
func (c *checker) onlyView(s *ast.SelectStmt) *table { return c.read[onlySource(s)] }

func onlySource(s *ast.SelectStmt) *ast.TableSource {
	if s.From == nil || s.From.TableRefs.Right != nil {
		return nil
	}
	source, _ := s.From.TableRefs.Left.(*ast.TableSource)
	return source
}
