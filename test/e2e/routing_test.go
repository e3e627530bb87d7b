package e2e

import (
	"fmt"
	"slices"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // makes the values of what is parsed
)

// router judges statements as a sharding proxy does: which of a statement's tables are reached by their shard's key.
type router struct {
	parser   *parser.Parser
	shardKey func(table string) string // "" of a table that is not sharded
}

// check returns what prevents the routing of a statement: its sharded tables that are not narrowed to values of their
// key, and assignments to the key. tables are the sharded ones in it.
func (r *router) check(text string) (tables, faults []string, err error) {
	nodes, _, err := r.parser.Parse(text, "", "")
	if err != nil {
		return nil, nil, err
	}
	for _, node := range nodes {
		s := &visit{router: r}
		switch node := node.(type) {
		case *ast.SelectStmt, *ast.SetOprStmt, *ast.DeleteStmt:
			s.read(node)
		case *ast.UpdateStmt:
			s.read(node)
			s.assign(node.List)
		case *ast.InsertStmt:
			s.insert(node)
		default: // transactions, settings, and tables that are made
		}
		t, f := s.verdict()
		tables, faults = append(tables, t...), append(faults, f...)
	}
	return tables, faults, nil
}

// source is a table in a statement.
type source struct {
	table, alias, key string
	routed            bool
}

type column struct{ alias, name string }

type visit struct {
	*router
	sources []*source
	values  []column    // that are equal to values, or among them
	equal   [][2]column // that are equal to each other
	nothing bool        // is read, as with 1 = 0
	faults  []string
}

// read gathers the tables of a statement and the conditions on their columns. Only conditions joined by AND narrow.
func (s *visit) read(node ast.Node) {
	node.Accept(s)
}

// Enter implements ast.Visitor.
func (s *visit) Enter(node ast.Node) (ast.Node, bool) {
	switch n := node.(type) {
	case *ast.TableSource:
		if name, ok := n.Source.(*ast.TableName); ok {
			alias := n.AsName.L
			if alias == "" {
				alias = name.Name.L
			}
			s.sources = append(s.sources, &source{table: name.Name.L, alias: alias, key: s.shardKey(name.Name.L)})
		}
	case *ast.SelectStmt:
		s.narrow(n.Where, only(n.From))
	case *ast.UpdateStmt:
		s.narrow(n.Where, only(n.TableRefs))
	case *ast.DeleteStmt:
		s.narrow(n.Where, only(n.TableRefs))
	case *ast.OnCondition:
		s.narrow(n.Expr, "")
	}
	return node, false
}

// Leave implements ast.Visitor.
func (s *visit) Leave(node ast.Node) (ast.Node, bool) { return node, true }

// only returns the alias of the table in FROM if it is the only one. Its columns need no prefix.
func only(refs *ast.TableRefsClause) string {
	if refs == nil || refs.TableRefs == nil || refs.TableRefs.Right != nil {
		return ""
	}
	t, ok := refs.TableRefs.Left.(*ast.TableSource)
	if !ok {
		return ""
	}
	if name, ok := t.Source.(*ast.TableName); ok && t.AsName.L == "" {
		return name.Name.L
	}
	return t.AsName.L
}

func (s *visit) narrow(condition ast.ExprNode, alias string) {
	switch c := condition.(type) {
	case *ast.ParenthesesExpr:
		s.narrow(c.Expr, alias)
	case *ast.BinaryOperationExpr:
		switch c.Op {
		case opcode.LogicAnd:
			s.narrow(c.L, alias)
			s.narrow(c.R, alias)
		case opcode.EQ:
			left, right := columnOf(c.L, alias), columnOf(c.R, alias)
			switch {
			case left != nil && right != nil:
				s.equal = append(s.equal, [2]column{*left, *right})
			case left != nil && isValue(c.R):
				s.values = append(s.values, *left)
			case right != nil && isValue(c.L):
				s.values = append(s.values, *right)
			default:
				s.nothing = s.nothing || differ(c.L, c.R)
			}
		}
	case *ast.PatternInExpr:
		if c.Not || c.Sel != nil || !slices.ContainsFunc(c.List, isList) &&
			slices.ContainsFunc(c.List, func(e ast.ExprNode) bool { return !isValue(e) }) {
			return
		}
		// A list of tuples narrows no column on its own: not every proxy looks into it.
		if of := columnOf(c.Expr, alias); of != nil {
			s.values = append(s.values, *of)
		}
	}
}

func columnOf(e ast.ExprNode, alias string) *column {
	c, ok := e.(*ast.ColumnNameExpr)
	if !ok {
		return nil
	}
	if c.Name.Table.L != "" {
		alias = c.Name.Table.L
	}
	return &column{alias, c.Name.Name.L}
}

// differ reports whether two values are known to be different.
func differ(a, b ast.ExprNode) bool {
	left, ok := a.(ast.ValueExpr)
	right, both := b.(ast.ValueExpr)
	return ok && both && left.GetValue() != right.GetValue()
}

func isValue(e ast.ExprNode) bool {
	switch e := e.(type) {
	case ast.ValueExpr: // placeholders too
		return true
	case *ast.UnaryOperationExpr:
		return isValue(e.V)
	default:
		return false
	}
}

func isList(e ast.ExprNode) bool {
	_, ok := e.(*ast.RowExpr)
	return ok
}

func (s *visit) assign(list []*ast.Assignment) {
	for _, a := range list {
		for _, t := range s.sources {
			if t.key != "" && a.Column.Name.L == t.key && (a.Column.Table.L == "" || a.Column.Table.L == t.alias) {
				s.faults = append(s.faults, fmt.Sprintf("%s.%s is updated", t.table, t.key))
			}
		}
	}
}

// insert checks that the rows name their shards: each by a value, or by a column of a list of values.
func (s *visit) insert(n *ast.InsertStmt) {
	into := n.Table.TableRefs.Left.(*ast.TableSource).Source.(*ast.TableName).Name.L
	if n.Select != nil {
		s.read(n.Select)
	}
	key := s.shardKey(into)
	if key == "" {
		return
	}
	at := slices.IndexFunc(n.Columns, func(c *ast.ColumnName) bool { return c.Name.L == key })
	named := at >= 0
	for _, row := range n.Lists {
		named = named && isValue(row[at])
	}
	if sel, ok := n.Select.(*ast.SelectStmt); ok && named {
		e := sel.Fields.Fields[at].Expr
		of := columnOf(e, "")
		// The list of values is no table.
		named = isValue(e) || of != nil && !slices.ContainsFunc(s.sources,
			func(t *source) bool { return t.alias == of.alias })
	}
	s.sources = append(s.sources, &source{table: into, alias: into, key: key, routed: named})
	s.assign(n.OnDuplicate)
}

// verdict follows the columns that are equal to each other.
func (s *visit) verdict() (tables, faults []string) {
	routed := func(c column) bool {
		return slices.Contains(s.values, c) || slices.ContainsFunc(s.sources,
			func(t *source) bool { return t.routed && c == column{t.alias, t.key} })
	}
	for again := true; again; {
		again = false
		for _, t := range s.sources {
			c := column{t.alias, t.key}
			by := slices.ContainsFunc(s.equal, func(e [2]column) bool {
				return e[0] == c && routed(e[1]) || e[1] == c &&
					routed(e[0])
			})
			if !t.routed && (slices.Contains(s.values, c) || by) {
				t.routed, again = true, true
			}
		}
	}
	for _, t := range s.sources {
		if t.key == "" {
			continue
		}
		tables = append(tables, t.table)
		if !t.routed && !s.nothing {
			s.faults = append(s.faults, fmt.Sprintf("%s is not narrowed by %s", t.table, t.key))
		}
	}
	return tables, s.faults
}
