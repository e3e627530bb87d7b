package vitess

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"
	"vitess.io/vitess/go/test/vschemawrapper"
	querypb "vitess.io/vitess/go/vt/proto/query"
	vschemapb "vitess.io/vitess/go/vt/proto/vschema"
	"vitess.io/vitess/go/vt/vtenv"
	"vitess.io/vitess/go/vt/vtgate/engine"
	"vitess.io/vitess/go/vt/vtgate/planbuilder"
	"vitess.io/vitess/go/vt/vtgate/vindexes"
)

type column struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Collation string `json:"collation"`
}

// table is a table of the data database, as base/store/shard.go places it.
type table struct {
	Key     string   `json:"key"`    // the column that selects a row's shard, if any
	Copied  bool     `json:"copied"` // to every shard
	Columns []column `json:"columns"`
}

// planner plans statements as a vtgate does.
type planner struct {
	vschema *vschemawrapper.VSchemaWrapper
}

// newPlanner returns a planner of two keyspaces: a sharded one, and main. main has all other tables, and the sources of
// the tables that are copied to every shard.
func newPlanner(t require.TestingT, tables map[string]table) *planner {
	main, sharded := map[string]*vschemapb.Table{}, map[string]*vschemapb.Table{}
	for name, of := range tables {
		v := &vschemapb.Table{Columns: columnsOf(of), ColumnListAuthoritative: true}
		switch {
		case of.Key != "":
			v.ColumnVindexes = []*vschemapb.ColumnVindex{{Column: of.Key, Name: "hash"}}
			sharded[name] = v
		case of.Copied:
			main[name] = v
			sharded[name] = &vschemapb.Table{Type: vindexes.TypeReference, Source: "main." + name, Columns: v.Columns,
				ColumnListAuthoritative: true}
		default:
			main[name] = v
		}
	}
	return planWith(t, map[string]*vschemapb.Keyspace{
		"main":    {Tables: main},
		"sharded": {Sharded: true, Vindexes: map[string]*vschemapb.Vindex{"hash": {Type: "xxhash"}}, Tables: sharded},
	})
}

// newWholePlanner returns a planner of one keyspace that is not sharded.
func newWholePlanner(t require.TestingT, tables map[string]table) *planner {
	main := map[string]*vschemapb.Table{}
	for name, of := range tables {
		main[name] = &vschemapb.Table{Columns: columnsOf(of), ColumnListAuthoritative: true}
	}
	return planWith(t, map[string]*vschemapb.Keyspace{"main": {Tables: main}})
}

func planWith(t require.TestingT, keyspaces map[string]*vschemapb.Keyspace) *planner {
	env := vtenv.NewTestEnv()
	vschema := vindexes.BuildVSchema(&vschemapb.SrvVSchema{Keyspaces: keyspaces}, env.Parser())
	wrapped, err := vschemawrapper.NewVschemaWrapper(env, vschema, planbuilder.TestBuilder)
	require.NoError(t, err)
	return &planner{wrapped}
}

func columnsOf(of table) []*vschemapb.Column {
	columns := make([]*vschemapb.Column, len(of.Columns))
	for i, c := range of.Columns {
		columns[i] = &vschemapb.Column{Name: c.Name, Type: typeOf(c.Type), CollationName: c.Collation}
	}
	return columns
}

func typeOf(column string) querypb.Type {
	switch column {
	case "bigint":
		return querypb.Type_INT64
	case "int", "smallint", "tinyint":
		return querypb.Type_INT32
	case "datetime", "timestamp":
		return querypb.Type_DATETIME
	case "date":
		return querypb.Type_DATE
	default:
		return querypb.Type_VARCHAR
	}
}

// check returns the reason why a statement cannot be answered by only the shards of its values, or nil.
func (p *planner) check(text string) (err error) {
	defer func() {
		if r := recover(); r != nil { // Statements that begin with a list of rows cause a panic.
			err = fmt.Errorf("the planner panics: %v", r)
		}
	}()
	plan, err := planbuilder.TestBuilder(text, p.vschema, "")
	if err != nil {
		return err
	}
	if plan.Instructions == nil { // begins or ends a transaction
		return nil
	}
	var s steps
	s.add(engine.PrimitiveToPlanDescription(plan.Instructions, nil))
	return s.fault()
}

// steps are the operators and queries of a plan.
type steps struct {
	names   []string
	queries []string
}

func (s *steps) add(d engine.PrimitiveDescription) {
	s.names = append(s.names, strings.TrimSpace(d.OperatorType+" "+d.Variant))
	if query, ok := d.Other["Query"].(string); ok {
		s.queries = append(s.queries, query)
	}
	for _, input := range d.Inputs {
		s.add(input)
	}
}

var (
	quoted   = regexp.MustCompile(`'(?:[^'\\]|\\.|'')*'|` + "`[^`]*`")
	variable = regexp.MustCompile(`::?([a-z_]\w*)`)
	// filled matches the variables that Vitess fills in: placeholders, the values of a shard, the keys of an INSERT's
	// rows, and the names of a schema or table.
	filled = regexp.MustCompile(`^(v\d+|__vals|_\w+_\d+|__vtschemaname|__vtdbname|table_name)$`)
)

// fault returns what keeps single shards from answering the steps, or nil.
func (s *steps) fault() error {
	for _, name := range s.names {
		if strings.Contains(name, "Scatter") || strings.Contains(name, "Join") {
			return errors.New("the plan is " + strings.Join(s.names, ", "))
		}
	}
	for _, query := range s.queries {
		for _, found := range variable.FindAllStringSubmatch(quoted.ReplaceAllString(query, "''"), -1) {
			if name := found[1]; !filled.MatchString(name) {
				return fmt.Errorf("nothing fills in :%s of the query that is sent", name)
			}
		}
	}
	return nil
}
