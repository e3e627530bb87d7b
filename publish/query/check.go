package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
)

// checker walks over the tree of one query. It refuses every kind of node that it does not know, and rewrites the rest.
type checker struct {
	*source
	tables map[string]*table
	read   map[*ast.TableSource]*table // the views that the query reads
	ctes   map[string]string           // the internal names of common table expressions by their names in lower case

	with       *ast.WithClause // the one at the query's beginning
	references int
	depth      int
	inOrder    int // ORDER BY clauses around the current node
	fault      error
}

// at returns an error at the first place of a word in the query.
func (c *checker) at(w, message string, args ...any) error {
	return errorAt(c.text, c.words[strings.ToLower(w)], message, args...)
}

// in returns an error at an expression.
func (c *checker) in(n ast.ExprNode, message string, args ...any) error {
	return errorAt(c.text, n.OriginTextPosition(), message, args...)
}

func (c *checker) check(statement ast.StmtNode) error {
	var order *ast.OrderByClause
	switch s := statement.(type) {
	case *ast.SelectStmt:
		c.with, order, s.IsInBraces = s.With, s.OrderBy, false
	case *ast.SetOprStmt:
		c.with, order, s.IsInBraces = s.With, s.OrderBy, false
	default:
		return errorAt(c.text, 0, "want one SELECT, with or without a WITH before it")
	}
	if statement.Accept(c); c.fault != nil {
		return c.fault
	}
	if err := c.header(arms(statement)); err != nil {
		return err
	}
	if order == nil {
		return errorAt(c.text, len(c.text), "the query has no order: want a total ORDER BY")
	}
	return c.total(statement, order)
}

// Enter implements ast.Visitor.
func (c *checker) Enter(n ast.Node) (ast.Node, bool) {
	if c.depth++; c.depth > depthMax && c.fault == nil {
		c.fault = fmt.Errorf("the query is nested too deeply: want at most %d levels", depthMax)
	}
	if c.fault != nil {
		return n, true
	}
	if m, isMarker := n.(ast.ParamMarkerExpr); isMarker {
		return c.param(m), true
	}
	if e, isExpression := n.(ast.ExprNode); isExpression {
		c.fault = c.expression(e)
	} else {
		c.fault = c.clause(n)
	}
	ts, isSource := n.(*ast.TableSource)
	return n, c.fault != nil || isSource && isLeaf(ts)
}

// isLeaf reports whether a checked source is a table and no query.
func isLeaf(ts *ast.TableSource) bool {
	switch ts.Source.(type) {
	case *limited, *ast.TableName:
		return true
	}
	return false
}

// Leave implements ast.Visitor.
func (c *checker) Leave(n ast.Node) (ast.Node, bool) {
	c.depth--
	if c.fault != nil {
		return n, false
	}
	switch n := n.(type) {
	case *ast.OrderByClause:
		c.inOrder--
	case *ast.CommonTableExpression:
		c.nameCTE(n)
	case *ast.RowExpr:
		return &row{RowExpr: n}, true
	case *ast.SelectStmt:
		if c.fault = c.grouped(n); c.fault == nil && n.Limit != nil {
			c.fault = c.limitOrder(n, n.OrderBy)
		}
	case *ast.SetOprStmt:
		if n.Limit != nil {
			c.fault = c.limitOrder(n, n.OrderBy)
		}
	}
	return n, c.fault == nil
}

// limitOrder checks the order of a query with a LIMIT, which otherwise would not determine its rows.
func (c *checker) limitOrder(n ast.Node, order *ast.OrderByClause) error {
	if order == nil {
		return c.at("limit", "a LIMIT needs a total ORDER BY")
	}
	return c.total(n, order)
}

// clause checks a node that is no expression.
func (c *checker) clause(n ast.Node) error {
	switch n := n.(type) {
	case *ast.SelectStmt:
		return c.selection(n)
	case *ast.SetOprStmt:
		if n.With != nil && n.With != c.with {
			return c.misplacedWith()
		}
	case *ast.SetOprSelectList:
		return c.setOperation(n)
	case *ast.WithClause:
		if n.IsRecursive {
			return c.at("recursive", "WITH RECURSIVE is refused: want WITH")
		}
	case *ast.CommonTableExpression:
		return c.cte(n)
	case *ast.Join:
		return c.join(n)
	case *ast.TableSource:
		return c.tableSource(n)
	case *ast.SelectField:
		if w := n.WildCard; w != nil && w.Schema.O != "" {
			return c.at(w.Schema.O, "%s.%s.* is refused: want it without a database", w.Schema.O, w.Table.O)
		}
	case *ast.ColumnName:
		if n.Schema.O != "" {
			return c.at(n.Schema.O, "the column %s is refused: want it without a database", n.OrigColName())
		}
	case *ast.GroupByClause:
		if n.Rollup {
			return c.at("rollup", "WITH ROLLUP is refused: want a UNION ALL with the sums")
		}
	case *ast.OrderByClause:
		c.inOrder++
	case *ast.ByItem:
		if _, isParam := n.Expr.(ast.ParamMarkerExpr); isParam {
			return c.in(n.Expr, "a parameter cannot name a column: want a column's name")
		}
	case *ast.Limit:
		for _, e := range []ast.ExprNode{n.Count, n.Offset} {
			if _, isParam := e.(ast.ParamMarkerExpr); isParam {
				return c.at("limit", "a parameter in LIMIT is refused: want a number")
			}
		}
	case *ast.WindowSpec:
		if n.Name.O != "" || n.Ref.O != "" {
			return c.at("over", "a named window is refused: want OVER (…)")
		}
	case *ast.FieldList, *ast.TableRefsClause, *ast.OnCondition, *ast.HavingClause, *ast.WhenClause,
		*ast.PartitionByClause, *ast.FrameClause, *ast.FrameBound:
	default:
		return errorAt(c.text, 0, "a clause of the query is refused: want a plain SELECT")
	}
	return nil
}

func (c *checker) misplacedWith() error {
	return c.at("with", "WITH inside the query is refused: want it at the query's beginning")
}

// selection checks the options of a SELECT. What it refuses is not visited.
func (c *checker) selection(s *ast.SelectStmt) error {
	switch o := s.SelectStmtOpts; {
	case s.Kind != ast.SelectStmtKindSelect:
		return c.at(s.Kind.String(), "%s is refused: want SELECT", s.Kind.String())
	case s.With != nil && s.With != c.with:
		return c.misplacedWith()
	case s.SelectIntoOpt != nil:
		return c.at("into", "SELECT … INTO is refused: want a SELECT that returns its rows")
	case s.LockInfo != nil:
		return c.at("for", "a locking SELECT is refused: want it without FOR and LOCK IN")
	case len(s.WindowSpecs) > 0:
		return c.at("window", "WINDOW is refused: want OVER (…)")
	case len(s.TableHints) > 0 || o != nil && (o.Priority != mysql.NoPriority || o.SQLSmallResult || o.SQLBigResult ||
		o.SQLBufferResult || !o.SQLCache || o.CalcFoundRows || o.StraightJoin):
		return c.at("select", "an option of SELECT is refused: want DISTINCT or none")
	}
	return nil
}

// setOperation checks the arms of UNION, INTERSECT or EXCEPT. MySQL's INTERSECT binds tighter than the others, SQLite's
// does not.
func (c *checker) setOperation(list *ast.SetOprSelectList) error {
	if list.With != nil {
		return c.misplacedWith()
	}
	if list.OrderBy != nil || list.Limit != nil {
		return c.at("union", "an ORDER BY and a LIMIT inside brackets are refused: want them at the end of the query")
	}
	intersections := 0
	for _, arm := range list.Selects[1:] {
		var operator *ast.SetOprType
		switch arm := arm.(type) {
		case *ast.SelectStmt:
			operator = arm.AfterSetOperator
		case *ast.SetOprSelectList:
			operator = arm.AfterSetOperator
		}
		if operator != nil && (*operator == ast.Intersect || *operator == ast.IntersectAll) {
			intersections++
		}
	}
	if intersections > 0 && intersections < len(list.Selects)-1 {
		return c.at("intersect", "INTERSECT next to UNION or EXCEPT is refused: want one of them in a derived table")
	}
	return nil
}

// join checks a join. A side that is one table becomes this table: the parser's own form of it would be written as a
// list with a comma, which has no ON.
func (c *checker) join(j *ast.Join) error {
	if j.StraightJoin {
		return c.at("straight_join", "STRAIGHT_JOIN is refused: want JOIN")
	}
	for _, side := range []*ast.ResultSetNode{&j.Left, &j.Right} {
		for {
			inner, isJoin := (*side).(*ast.Join)
			if !isJoin || inner.Right != nil {
				break
			}
			*side = inner.Left
		}
	}
	return nil
}

// arms returns the SELECTs whose rows a query returns.
func arms(n ast.Node) []*ast.SelectStmt {
	switch n := n.(type) {
	case *ast.SelectStmt:
		return []*ast.SelectStmt{n}
	case *ast.SetOprStmt:
		return arms(n.SelectList)
	case *ast.SetOprSelectList:
		var all []*ast.SelectStmt
		for _, arm := range n.Selects {
			all = append(all, arms(arm)...)
		}
		return all
	}
	return nil
}

// header checks the names of the columns that the query returns, which are those of its first SELECT.
func (c *checker) header(selects []*ast.SelectStmt) error {
	for _, s := range selects {
		for _, f := range s.Fields.Fields {
			if f.WildCard != nil {
				return errorAt(c.text, f.Offset, "* is refused: name the columns, so that a release does not change the header")
			}
		}
	}
	known := map[string]bool{}
	for i, f := range selects[0].Fields.Fields {
		of := nameOf(f)
		if of == "" {
			return errorAt(c.text, f.Offset, "column %d has no name: want AS and a name", i+1)
		}
		if known[strings.ToLower(of)] {
			return errorAt(c.text, f.Offset, "two columns have the name %s: want AS and another name", of)
		}
		known[strings.ToLower(of)] = true
	}
	return nil
}

// nameOf returns the name of a column that a SELECT returns, or "" if only the database would name it.
func nameOf(f *ast.SelectField) string {
	if f.AsName.O != "" {
		return f.AsName.O
	}
	if column, isColumn := f.Expr.(*ast.ColumnNameExpr); isColumn {
		return column.Name.Name.O
	}
	return ""
}

func sortedNames[V any](m map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
