package query_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/stretchr/testify/require"
)

// tableFinder requires that a statement names tables only inside the derived tables of views, and common table
// expressions only by the names that Check gives them.
type tableFinder struct{ t require.TestingT }

// Enter implements ast.Visitor.
func (f tableFinder) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.TableSource:
		if _, isQuery := n.Source.(*ast.SelectStmt); isQuery {
			text := "(" + written(f.t, n.Source) + ")"
			return n, text == reportOfMine || text == accountsOfMine
		}
	case *ast.TableName:
		require.Regexp(f.t, `^cte \d+$`, n.Name.O)
	case *ast.SelectStmt:
		require.Nil(f.t, n.SelectIntoOpt)
		require.Nil(f.t, n.LockInfo)
		require.Empty(f.t, n.TableHints)
	case *ast.VariableExpr, *ast.TableNameExpr:
		require.Fail(f.t, "a variable or a table in an expression")
	}
	return n, false
}

// Leave implements ast.Visitor.
func (f tableFinder) Leave(n ast.Node) (ast.Node, bool) { return n, true }

// written returns a statement as the parser writes it, without spaces after commas.
func written(t require.TestingT, n ast.Node) string {
	var b strings.Builder
	require.NoError(t, n.Restore(format.NewRestoreCtx(format.RestoreStringSingleQuotes|format.RestoreKeyWordUppercase|
		format.RestoreNameBackQuotes|format.RestoreSpacesAroundBinaryOperation|format.RestoreStringWithoutCharset, &b)))
	return b.String()
}

func FuzzCheck(f *testing.F) {
	for _, test := range hostile {
		f.Add(test.text)
	}
	for _, test := range refused {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := check(text, mine)
		if err != nil {
			require.True(t, utf8.ValidString(err.Error()))
			require.NotContains(t, err.Error(), "the parser failed")
			return
		}
		values := map[string]any{}
		for _, p := range q.Params() {
			require.Regexp(t, "^[a-z_]+$", p)
			values[p] = p
		}
		sql, args, err := q.SQL(values)
		require.NoError(t, err)
		statements, _, err := parser.New().ParseSQL(sql)
		require.NoError(t, err, sql)
		require.Len(t, statements, 1, sql)
		statements[0].Accept(tableFinder{t})
		markers := 0
		statements[0].Accept(markerCounter{&markers})
		require.Len(t, args, markers, sql)
	})
}

// markerCounter counts the parameters of a statement.
type markerCounter struct{ n *int }

// Enter implements ast.Visitor.
func (m markerCounter) Enter(n ast.Node) (ast.Node, bool) {
	if _, isMarker := n.(ast.ParamMarkerExpr); isMarker {
		*m.n++
	}
	return n, false
}

// Leave implements ast.Visitor.
func (m markerCounter) Leave(n ast.Node) (ast.Node, bool) { return n, true }
