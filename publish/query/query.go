// Package query checks the query of a subscription, limits it to the subscription's scope, and runs it.
//
// A query is one SELECT in MySQL's dialect, which also runs on MariaDB and, where SQLite has its functions, on SQLite.
// Check parses it and writes it again from the parsed tree. It replaces each view in it by a derived table with the
// scope's rows alone, so that no condition of the query can return other rows. Everything that is not known to be
// harmless is refused: statements and clauses other than those of a plain SELECT, tables that are not views, variables,
// and functions that are not listed. A query depends on the rows and its parameters only, so two runs on equal rows
// return equal rows in the same order: functions of the time and of the session are refused, and the ORDER BY must be
// total.
//
// The rows outside the scope are not returned, but they may be computed with: a server may evaluate a condition of the
// query, such as one that overflows, before it removes them. So whether a run fails may depend on them.
//
// Check does not judge sums of floats, which may depend on the order of rows, the order of ties inside windows and
// GROUP_CONCAT, and the order of texts that a collation takes for equal.
package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
)

// The limits of a query.
const (
	textMax     = 64 << 10 // bytes of the query
	restoredMax = 4 << 20  // bytes of the rewritten query, with the scope of each table
	depthMax    = 400      // nested parts of the parsed tree
	digitsMax   = 30       // digits of a number before the point, and after it; the parser has no room for 82
	tablesMax   = 50       // references to views and to common table expressions; MySQL joins at most 61
)

// View is a table or view that queries may read.
type View struct {
	Name    string
	Game    string   // the column with the game's code; "" if the view has none
	Account string   // the column with adsync's account id; "" if the view has none
	Media   string   // the column with the media; "" if the view has none
	Columns []string // the columns that queries may read; nil for all
	Key     []string // the columns that identify a row; nil if none do
}

// Scope limits the rows that a query may read. An empty list is no restriction by it.
type Scope struct {
	Games    []string `json:"games,omitempty"`
	Accounts []int64  `json:"accounts,omitempty"`
	Media    []string `json:"media,omitempty"`
}

// Query is a checked query that is limited to a scope. It may be used concurrently.
type Query struct {
	text   string   // with ? for the parameters
	params []string // their names in the order of text
	views  []string // the names of the views that it reads, sorted
}

// Check parses the query of a subscription and limits it to the scope. The error names the line and column, and what
// would be right.
func Check(text string, views []View, s Scope) (*Query, error) {
	src, err := scan(text)
	if err != nil {
		return nil, err
	}
	tables, err := limitViews(views, s)
	if err != nil {
		return nil, err
	}
	statement, err := parse(src)
	if err != nil {
		return nil, err
	}
	c := &checker{source: src, tables: tables, read: map[*ast.TableSource]*table{}, ctes: map[string]string{}}
	if err = c.check(statement); err != nil {
		return nil, err
	}
	restored, err := restore(statement)
	if err != nil {
		return nil, fmt.Errorf("write the query with its scope: %w", err)
	}
	if len(restored) > restoredMax {
		return nil, fmt.Errorf("the query with its scope has %d bytes: want at most %d, so fewer tables or a smaller scope",
			len(restored), restoredMax)
	}
	q := &Query{views: c.viewNames()}
	if q.text, q.params, err = placeholders(restored); err != nil {
		return nil, err
	}
	if len(q.params) != len(src.params) {
		return nil, fmt.Errorf("%d parameters are where MySQL takes none", len(src.params)-len(q.params))
	}
	return q, nil
}

// Params returns the names of the parameters in the query, sorted, each once.
func (q *Query) Params() []string { return slices.Compact(slices.Sorted(slices.Values(q.params))) }

// Views returns the names of the views that the query reads, sorted. The caller must not change them.
func (q *Query) Views() []string { return q.views }

// SQL returns the limited statement with a ? for each parameter, and the values for them, in order. Values are texts,
// whole numbers and booleans. Values of other names are ignored.
func (q *Query) SQL(values map[string]any) (sql string, args []any, err error) {
	args = make([]any, 0, len(q.params))
	for _, p := range q.params {
		value, known := values[p]
		if !known {
			return "", nil, fmt.Errorf("the parameter :%s has no value: want one of %s", p,
				strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		switch value.(type) {
		case string, int, int64, bool:
			args = append(args, value)
		default:
			return "", nil, fmt.Errorf("the parameter :%s is a %T: want a text, a whole number or a boolean", p, value)
		}
	}
	return q.text, args, nil
}

// parse returns the tree of the one statement. It returns an error where the parser panics, which it is known to do for
// literals that only its own project reads.
func parse(src *source) (statement ast.StmtNode, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the parser failed: %v", cause)
		}
	}()
	statements, _, err := parser.New().ParseSQL(src.masked)
	if err != nil {
		return nil, syntaxError(src, err)
	}
	if len(statements) != 1 {
		return nil, fmt.Errorf("the query has %d statements: want one SELECT", len(statements))
	}
	return statements[0], nil
}

// syntaxError returns the parser's error with the place in the form of the other errors. The parser's own error ends
// with the rest of the text in quotes, or the beginning of the rest.
func syntaxError(src *source, err error) error {
	_, rest, _ := strings.Cut(err.Error(), `near "`)
	rest = rest[:max(0, strings.LastIndexByte(rest, '"'))]
	if at := strings.LastIndex(src.masked, rest); rest != "" && at >= 0 {
		return errorAt(src.text, at, "want a SELECT of MySQL, found %.40q", src.text[at:])
	}
	return fmt.Errorf("want a SELECT of MySQL: %.200s", err.Error())
}

// restore writes a part of a query as MySQL, MariaDB and SQLite read it: with backquoted names, with single quotes, and
// with brackets, because the operators' precedence differs.
func restore(n ast.Node) (string, error) {
	var b strings.Builder
	flags := format.RestoreStringSingleQuotes | format.RestoreKeyWordUppercase | format.RestoreNameBackQuotes |
		format.RestoreSpacesAroundBinaryOperation | format.RestoreBracketAroundBinaryOperation |
		format.RestoreStringWithoutCharset
	err := n.Restore(format.NewRestoreCtx(flags, &b))
	return b.String(), err
}
