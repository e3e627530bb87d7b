package query

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/test_driver" // makes the values of what is parsed
)

// arity is the minimum and the maximum number of a function's arguments.
type arity struct{ min, max int }

// functions are the functions that a query may call, by their names in lower case. Their results depend on their
// arguments only, and on none of the session's settings that adsync leaves open. Those that make long texts from short
// ones (REPEAT, SPACE, LPAD, RPAD) are not listed.
var functions = map[string]arity{
	// Numbers.
	"abs": {1, 1}, "ceil": {1, 1}, "ceiling": {1, 1}, "floor": {1, 1}, "round": {1, 2}, "truncate": {2, 2},
	"sign": {1, 1}, "sqrt": {1, 1}, "power": {2, 2}, "pow": {2, 2}, "exp": {1, 1}, "ln": {1, 1}, "log10": {1, 1},
	"log2": {1, 1}, "greatest": {2, math.MaxInt}, "least": {2, math.MaxInt},
	// Choices.
	"coalesce": {1, math.MaxInt}, "ifnull": {2, 2}, "nullif": {2, 2}, "if": {3, 3}, "isnull": {1, 1},
	// Texts.
	"concat": {1, math.MaxInt}, "concat_ws": {2, math.MaxInt}, "lower": {1, 1}, "upper": {1, 1}, "lcase": {1, 1},
	"ucase": {1, 1}, "length": {1, 1}, "char_length": {1, 1}, "character_length": {1, 1}, "left": {2, 2},
	"right": {2, 2}, "substr": {2, 3}, "substring": {2, 3}, "mid": {3, 3}, "substring_index": {3, 3}, "trim": {1, 3},
	"ltrim": {1, 1}, "rtrim": {1, 1}, "replace": {3, 3}, "instr": {2, 2}, "locate": {2, 3}, "position": {2, 2},
	"json_extract": {2, math.MaxInt}, "json_unquote": {1, 1},
	// Days and times. SQLite's DATE has a special argument, see dateArgument.
	"date": {1, 1}, "year": {1, 1}, "quarter": {1, 1}, "month": {1, 1}, "day": {1, 1}, "dayofmonth": {1, 1},
	"dayofweek": {1, 1}, "dayofyear": {1, 1}, "weekday": {1, 1}, "week": {2, 2}, "yearweek": {2, 2}, "hour": {1, 1},
	"minute": {1, 1}, "second": {1, 1}, "last_day": {1, 1}, "to_days": {1, 1}, "datediff": {2, 2}, "date_format": {2, 2},
	"str_to_date": {2, 2}, "date_add": {3, 3}, "date_sub": {3, 3}, "adddate": {3, 3}, "subdate": {3, 3},
	"timestampadd": {3, 3}, "timestampdiff": {3, 3}, "extract": {2, 2}, "unix_timestamp": {1, 1},
	"from_unixtime": {1, 2}, ast.DateLiteral: {1, 1}, ast.TimestampLiteral: {1, 1},
}

// aggregates are the aggregate functions that a query may call. It may also call them as window functions, except for
// GROUP_CONCAT.
var aggregates = []string{
	"count", "sum", "avg", "min", "max", "group_concat", "std", "stddev", "stddev_pop", "stddev_samp", "var_pop",
	"var_samp", "variance",
}

// ordered are the window functions whose results depend on the order of rows in the window, and unordered are those
// without that dependence.
var (
	ordered   = []string{"row_number", "ntile", "lead", "lag", "first_value", "last_value", "nth_value"}
	unordered = []string{"rank", "dense_rank", "percent_rank", "cume_dist"}
)

// expression checks one expression without its parts.
func (c *checker) expression(e ast.ExprNode) error {
	switch e := e.(type) {
	case *test_driver.ValueExpr:
		return c.value(e)
	case *ast.SubqueryExpr:
		if c.inOrder > 0 {
			return c.in(e, "a query inside ORDER BY is refused: want a column")
		}
	case *ast.PatternLikeOrIlikeExpr:
		if !e.IsLike || e.EscapeExplicit && (e.Escape == '\\' || e.Escape >= utf8.RuneSelf) {
			return c.in(e, "ILIKE and this ESCAPE are refused: want LIKE, and another ESCAPE such as '|'")
		}
	case *ast.UnaryOperationExpr:
		// Two signs without a space would begin a comment of SQLite.
		if _, bracketed := e.V.(*ast.ParenthesesExpr); !bracketed {
			e.V = &ast.ParenthesesExpr{Expr: e.V}
		}
	case *ast.FuncCallExpr:
		return c.function(e)
	case *ast.FuncCastExpr:
		if e.FunctionType != ast.CastFunction || e.ExplicitCharSet || e.Tp.IsArray() {
			return c.in(e, "this cast is refused: want CAST(… AS type) without a character set")
		}
	case *ast.AggregateFuncExpr:
		called := strings.ToLower(e.F)
		if !slices.Contains(aggregates, called) {
			return c.unlisted(e, called)
		}
		if called == "group_concat" && e.Order == nil {
			return c.in(e, "GROUP_CONCAT has no order: want GROUP_CONCAT(… ORDER BY …)")
		}
	case *ast.WindowFuncExpr:
		return c.window(e)
	case *ast.VariableExpr:
		return c.in(e, "a variable is refused: want a parameter such as :day")
	case *ast.SetCollationExpr:
		return c.in(e, "COLLATE is refused: the databases have different collations")
	case *ast.PatternRegexpExpr:
		return c.in(e, "REGEXP is refused: want LIKE")
	case *ast.BetweenExpr, *ast.BinaryOperationExpr, *ast.CaseExpr, *ast.ColumnNameExpr, *ast.CompareSubqueryExpr,
		*ast.ExistsSubqueryExpr, *ast.IsNullExpr, *ast.IsTruthExpr, *ast.ParenthesesExpr, *ast.PatternInExpr,
		*ast.PositionExpr, *ast.RowExpr, *ast.TimeUnitExpr, *ast.TrimDirectionExpr:
	default:
		return c.in(e, "this expression is refused: want columns, parameters, operators and functions")
	}
	return nil
}

// value checks a literal.
func (c *checker) value(v *test_driver.ValueExpr) error {
	switch v.Kind() {
	case test_driver.KindNull, test_driver.KindInt64, test_driver.KindUint64, test_driver.KindFloat64,
		test_driver.KindMysqlDecimal:
		return nil
	case test_driver.KindString:
		if !isPlain(v.GetString()) {
			return c.in(v, "a text with a backslash or a control character is refused: the databases read it differently")
		}
		if set := v.Type.GetCharset(); set == "" || set == "utf8mb4" {
			return nil
		}
	}
	return c.in(v, "this literal is refused: want a decimal number, or a text without a character set")
}

func (c *checker) function(f *ast.FuncCallExpr) error {
	takes, listed := functions[f.FnName.L]
	switch {
	case f.Schema.O != "":
		return c.in(f, "the function %s.%s is refused: want a function of MySQL", f.Schema.O, f.FnName.O)
	case !listed:
		return c.unlisted(f, f.FnName.L)
	case len(f.Args) < takes.min || len(f.Args) > takes.max:
		return c.in(f, "%s with %d arguments is refused", strings.ToUpper(f.FnName.L), len(f.Args))
	case f.FnName.L == "date" && !isDateArgument(f.Args[0]):
		return c.in(f, "DATE of an expression is refused: want DATE of a column or a parameter")
	}
	return nil
}

// isDateArgument reports whether DATE of an argument depends on the rows only. In SQLite DATE('now') is the current
// day.
func isDateArgument(e ast.ExprNode) bool {
	switch e.(type) {
	case *ast.ColumnNameExpr, ast.ParamMarkerExpr:
		return true
	}
	return false
}

// unlisted returns the error for a function that is not on a list.
func (c *checker) unlisted(f ast.ExprNode, called string) error {
	called = strings.TrimPrefix(called, "'tidb`.(") // The parser's mark of TIME '10:00:00'.
	return c.in(f, "the function %s is refused: want a function whose result depends on its arguments only; for the time "+
		"want :day, :from or :to", strings.ToUpper(called))
}

func (c *checker) window(w *ast.WindowFuncExpr) error {
	called := strings.ToLower(w.Name)
	isOrdered := slices.Contains(ordered, called)
	switch {
	case called == "group_concat",
		!isOrdered && !slices.Contains(unordered, called) && !slices.Contains(aggregates, called):
		return c.unlisted(w, called)
	case w.IgnoreNull || w.FromLast:
		return c.in(w, "IGNORE NULLS and FROM LAST are refused: MySQL has neither")
	case isOrdered && w.Spec.OrderBy == nil:
		return c.in(w, "%s has no order: want OVER (… ORDER BY …)", strings.ToUpper(called))
	}
	return nil
}

// param stands in the tree for a parameter. It is written with its name, so that the order of the parameters is that
// of the rewritten text.
type param struct {
	ast.ExprNode
	name string
}

func (c *checker) param(m ast.ParamMarkerExpr) ast.Node {
	marker, _ := m.(*test_driver.ParamMarkerExpr)
	return &param{ExprNode: marker, name: c.params[marker.Offset]}
}

// Restore implements ast.Node.
func (p *param) Restore(ctx *format.RestoreCtx) error {
	ctx.WritePlain(":" + p.name)
	return nil
}

// Accept implements ast.Node.
func (p *param) Accept(v ast.Visitor) (ast.Node, bool) {
	n, _ := v.Enter(p)
	return v.Leave(n)
}

// row stands in the tree for a row of values. It is written without the word ROW, which SQLite does not have.
type row struct{ *ast.RowExpr }

// Restore implements ast.Node.
func (r *row) Restore(ctx *format.RestoreCtx) error {
	ctx.WritePlain("(")
	for i, value := range r.Values {
		if i > 0 {
			ctx.WritePlain(", ")
		}
		if err := value.Restore(ctx); err != nil {
			return err
		}
	}
	ctx.WritePlain(")")
	return nil
}

// Accept implements ast.Node.
func (r *row) Accept(v ast.Visitor) (ast.Node, bool) {
	n, skip := v.Enter(r)
	for i := 0; i < len(r.Values) && !skip; i++ {
		if _, ok := r.Values[i].Accept(v); !ok {
			return n, false
		}
	}
	return v.Leave(n)
}
