package query

import "github.com/pingcap/tidb/pkg/parser/ast"

// grouped checks that a SELECT with groups reads columns only as MySQL's ONLY_FULL_GROUP_BY allows: outside aggregate
// functions a column must be grouped. Otherwise the database takes its value from any row of the group.
func (c *checker) grouped(s *ast.SelectStmt) error {
	g := &groupReader{fields: s.Fields.Fields}
	for _, f := range g.fields {
		if f.Expr != nil {
			f.Expr.Accept(&aggregateFinder{found: &g.isGrouped})
		}
	}
	if s.GroupBy != nil {
		g.isGrouped = true
		g.group(s.GroupBy.Items)
	}
	if !g.isGrouped {
		return nil
	}
	for _, f := range g.fields {
		if f.WildCard != nil {
			return errorAt(c.text, f.Offset, "* is refused in a SELECT with groups: name the columns")
		}
		f.Expr.Accept(g)
	}
	g.hasAliases = true
	if s.Having != nil {
		s.Having.Expr.Accept(g)
	}
	if s.OrderBy != nil {
		for _, item := range s.OrderBy.Items {
			item.Expr.Accept(g)
		}
	}
	if g.bare != nil {
		return c.in(g.bare, "the column %s is neither grouped nor aggregated: want it in GROUP BY, or MAX(…)",
			g.bare.Name.OrigColName())
	}
	return nil
}

// aggregateFinder finds an aggregate function in an expression.
type aggregateFinder struct{ found *bool }

// Enter implements ast.Visitor.
func (a *aggregateFinder) Enter(n ast.Node) (ast.Node, bool) {
	switch n.(type) {
	case *ast.AggregateFuncExpr:
		*a.found = true
		return n, true
	case *ast.SubqueryExpr:
		return n, true
	}
	return n, false
}

// Leave implements ast.Visitor.
func (*aggregateFinder) Leave(n ast.Node) (ast.Node, bool) { return n, true }

// groupReader finds a column of an expression that is neither grouped nor inside an aggregate function.
type groupReader struct {
	fields      []*ast.SelectField
	isGrouped   bool
	hasAliases  bool // whether a name may be that of a returned column
	columns     []*ast.ColumnName
	expressions map[string]bool // grouped expressions as restore writes them
	bare        *ast.ColumnNameExpr
}

// group reads a GROUP BY. A position and a returned column's name stand for the returned expression.
func (g *groupReader) group(items []*ast.ByItem) {
	g.expressions = map[string]bool{}
	add := func(e ast.ExprNode) {
		if column, isColumn := e.(*ast.ColumnNameExpr); isColumn {
			g.columns = append(g.columns, column.Name)
			return
		}
		if text, err := restore(e); err == nil {
			g.expressions[text] = true
		}
	}
	for _, item := range items {
		switch e := item.Expr.(type) {
		case *ast.PositionExpr:
			if e.N >= 1 && e.N <= len(g.fields) && g.fields[e.N-1].Expr != nil {
				add(g.fields[e.N-1].Expr)
			}
		case *ast.ColumnNameExpr:
			add(e)
			if i := returnedAs(e, g.fields); i >= 0 && g.fields[i].Expr != nil {
				add(g.fields[i].Expr)
			}
		default:
			add(e)
		}
	}
}

// Enter implements ast.Visitor.
func (g *groupReader) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.AggregateFuncExpr, *ast.SubqueryExpr:
		return n, true
	case *ast.ColumnNameExpr:
		isReturned := g.hasAliases && returnedAs(n, g.fields) >= 0
		if g.bare == nil && !isReturned && !g.isGroupedColumn(n) {
			g.bare = n
		}
		return n, true
	case ast.ExprNode:
		text, err := restore(n)
		return n, err == nil && g.expressions[text]
	}
	return n, false
}

// Leave implements ast.Visitor.
func (*groupReader) Leave(n ast.Node) (ast.Node, bool) { return n, true }

func (g *groupReader) isGroupedColumn(e *ast.ColumnNameExpr) bool {
	for _, of := range g.columns {
		if of.Name.L == e.Name.Name.L && (of.Table.L == e.Name.Table.L || of.Table.L == "" || e.Name.Table.L == "") {
			return true
		}
	}
	return false
}
