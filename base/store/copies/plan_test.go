package copies_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/copies"
)

// problems returns what a check of a copy finds.
func (b *bench) problems(c copies.TableCopy) (all []string) {
	b.Helper()
	_, err := b.store.PlanCopy(b.Context(), c, b.sources)
	for _, e := range config.Flatten(err) {
		all = append(all, e.Error())
	}
	return all
}

func TestPlanCopy_CopiesTheColumnsOfBothTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(b.from, "CREATE TABLE wide_orders (note TEXT, Item VARCHAR(20), ID INTEGER, `the ? one` INTEGER)")
	b.in(b.store, "CREATE TABLE copy_wide (item VARCHAR(20), id INTEGER NOT NULL PRIMARY KEY)")
	c := copies.TableCopy{Name: "wide", Source: "erp", SourceTable: "wide_orders", KeyColumns: "Id"}
	plan, err := b.store.PlanCopy(t.Context(), c, b.sources)
	require.NoError(t, err)
	require.Equal(t, []string{"ID", "Item"}, plan.Columns())
	require.Equal(t, []string{"note", "the ? one"}, plan.LeftOut)
	b.in(b.from, "INSERT INTO wide_orders VALUES ('n', 'apple', 1, 2)")
	require.Equal(t, 1, b.copied(c))
	require.Equal(t, []string{"1 apple"}, b.texts("SELECT id, item FROM copy_wide"))
}

func TestPlanCopy_NamesWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, statement := range []string{
		"CREATE TABLE copy_more (id INTEGER NOT NULL PRIMARY KEY, item VARCHAR(20), extra INTEGER, `a b` INTEGER)",
		"CREATE TABLE copy_keyless (id INTEGER NOT NULL, item VARCHAR(20))",
		"CREATE TABLE copy_two (id INTEGER NOT NULL PRIMARY KEY, item VARCHAR(20) UNIQUE)",
		"CREATE TABLE copy_price (item DECIMAL(10,2) NOT NULL PRIMARY KEY)",
	} {
		b.in(b.store, statement)
	}
	b.in(b.from, "ALTER TABLE orders ADD COLUMN `a b` INTEGER")
	with := func(change func(c *copies.TableCopy)) copies.TableCopy {
		c := orders()
		change(&c)
		return c
	}
	for _, test := range []struct {
		name string
		copy copies.TableCopy
		want []string // the beginnings, or for … the parts
	}{
		{"all is right", orders(), nil},
		{"another source and table", with(func(c *copies.TableCopy) { c.Name, c.Source = "none", "crm" }), []string{
			"source: the settings of this process have no sources.crm: add it to those of all producers and consumers",
			"the data database has no table copy_none: create it with the columns that you want of orders, and with a primary " +
				"key on (id)"}},
		{"another table of the source", with(func(c *copies.TableCopy) { c.SourceTable = "order" }), []string{
			"source_table: order of the source erp cannot be read: …: correct the name, start the server, or give the user " +
				"SELECT on it"}},
		{"columns that the source lacks", with(func(c *copies.TableCopy) { c.Name = "more" }), []string{
			`column "a b" of copy_more: rename it: want up to 64 letters, digits and underscores`,
			"column extra: copy_more has it, and orders of the source erp lacks it: drop it from copy_more, or add it to the " +
				"source"}},
		{"no key", with(func(c *copies.TableCopy) { c.Name = "keyless" }), []string{
			"key_columns: copy_keyless has no primary or unique key on exactly (id): ALTER TABLE copy_keyless ADD PRIMARY " +
				"KEY (id)"}},
		{"another key", with(func(c *copies.TableCopy) { c.Name = "two" }), []string{
			"the unique key (item) of copy_two: drop it, or make it key_columns: a row could replace another one"}},
		{"a key of fractions", with(func(c *copies.TableCopy) { c.Name, c.KeyColumns = "price", "item" }), []string{
			"key_columns: item is a …DECIMAL… in copy_price: want whole numbers, texts or moments in a key"}},
		{"columns that do not exist", with(func(c *copies.TableCopy) {
			c.KeyColumns, c.CursorColumn, c.DayColumn, c.WindowDays = "id,no", "at", "on", days(1)
		}), []string{
			"key_columns: no is not a column of both tables, or is named twice: name the columns of the key of copy_orders",
			"cursor_column: orders of the source erp has no column at: name one that rises with each change",
			"day_column: orders of the source erp has no column on: name one that both tables have",
			"day_column: copy_orders has no column on: name one that both tables have",
			"the unique key (id) of copy_orders: drop it, or make it key_columns: a row could replace another one",
			"key_columns: copy_orders has no primary or unique key on exactly (id, no): ALTER TABLE copy_orders ADD PRIMARY " +
				"KEY (id, no)"}},
		{"numbers as days and with an overlap", with(func(c *copies.TableCopy) {
			c.CursorColumn, c.OverlapSeconds, c.DayColumn, c.WindowDays = "id", 5, "id", days(1)
		}), []string{
			"cursor_column: id holds numbers, which have no seconds: set overlap_seconds to 0",
			"day_column: id is a …INT… in orders of the source erp: want a DATE, a DATETIME or a text such as 2026-11-21",
			"day_column: id is a …INT… in copy_orders: want a DATE, a DATETIME or a text such as 2026-11-21"}},
	} {
		got := b.problems(test.copy)
		require.Len(t, got, len(test.want), "%s: %s", test.name, got)
		for i, want := range test.want {
			for part := range strings.SplitSeq(want, "…") {
				require.Contains(t, got[i], part, test.name)
			}
		}
	}
}

// Views have no keys, so that no copy writes another table through one.
func TestPlanCopy_WritesNoView(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(b.store, "CREATE VIEW copy_view AS SELECT id, item FROM copy_orders")
	c := orders()
	c.Name = "view"
	require.Contains(t, b.problems(c)[0], "copy_view has no primary or unique key")
}

func TestValidate_RefusesOtherTablesAndOtherNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change func(c *copies.TableCopy)
		key    string
	}{
		{func(c *copies.TableCopy) { c.Name = "cursor" }, "name"},
		{func(c *copies.TableCopy) { c.Name = "" }, "name"},
		{func(c *copies.TableCopy) { c.Name = "x`; DROP TABLE run" }, "name"},
		{func(c *copies.TableCopy) { c.Name = "a.b" }, "name"},
		{func(c *copies.TableCopy) { c.Name = "Orders" }, "name"},
		{func(c *copies.TableCopy) { c.Name = strings.Repeat("x", 49) }, "name"},
		{func(c *copies.TableCopy) { c.Source = "" }, "source"},
		{func(c *copies.TableCopy) { c.SourceTable = "a.b.c" }, "source_table"},
		{func(c *copies.TableCopy) { c.SourceTable = "a`b" }, "source_table"},
		{func(c *copies.TableCopy) { c.SourceTable = "(SELECT 1)" }, "source_table"},
		{func(c *copies.TableCopy) { c.KeyColumns = "" }, "key_columns"},
		{func(c *copies.TableCopy) { c.KeyColumns = "id,a b" }, "key_columns"},
		{func(c *copies.TableCopy) { c.CursorColumn = "id) --" }, "cursor_column"},
		{func(c *copies.TableCopy) { c.OverlapSeconds = -1 }, "overlap_seconds"},
		{func(c *copies.TableCopy) { c.DayColumn = "day" }, "window_days"},
		{func(c *copies.TableCopy) { c.WindowDays = days(3) }, "window_days"},
		{func(c *copies.TableCopy) { c.DayColumn, c.WindowDays = "day", days(401) }, "window_days"},
		{func(c *copies.TableCopy) { c.DayColumn, c.WindowDays = "d'", days(4) }, "day_column"},
		{func(c *copies.TableCopy) { c.Into = "report_daily" }, "target"},
		{func(c *copies.TableCopy) { c.Name, c.Into = "cursor", copies.PartnerTable }, "name"},
	} {
		c := orders()
		require.NoError(t, c.Validate())
		test.change(&c)
		var field *config.FieldError
		require.ErrorAs(t, c.Validate(), &field, "%+v", c)
		require.Equal(t, test.key, field.Key)
	}
	c := orders()
	c.SourceTable = "erp.orders"
	require.NoError(t, c.Validate(), "a schema may stand before a table of the source")
}

// A name that validation refuses reaches no statement, also if a row was written by SQL.
func TestCopyTable_RefusesRowsThatWereWrittenBySQL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := orders()
	c.Name = "cursor"
	require.Contains(t, b.refused(c), "copy cursor: name: ")
	c.Name, c.KeyColumns = "orders", "id`"
	require.Contains(t, b.refused(c), "copy orders: key_columns: ")
}

func TestSources_KeepSecretsAndNameWhatIsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	away := copies.SourcesConfig{
		"erp": {Driver: sqldb.MySQL, DSN: secret.NewText("ada:hunter2@tcp(127.0.0.1:1)/erp")},
		"own": {Driver: sqldb.SQLite, DSN: secret.NewText(filepath.Join(t.TempDir(), "hunter2"))},
	}
	b.sources = openSources(t, away)
	why := b.refused(orders())
	require.Contains(t, why, "copy orders: source_table: orders of the source erp cannot be read: ")
	require.Contains(t, why, "connection refused")
	c := orders()
	c.Source = "own"
	for _, text := range []string{why, b.refused(c)} {
		require.NotContains(t, text, "hunter2")
	}
	findings := b.sources.CheckUp(t.Context())
	require.Len(t, findings, 2)
	for _, f := range findings {
		require.NotContains(t, f.Detail+f.Remedy, "hunter2")
	}

	for _, bad := range []copies.SourcesConfig{
		{"Erp": away["own"]}, {"erp": {Driver: "oracle", DSN: secret.NewText("hunter2")}},
		{"erp": {Driver: sqldb.MySQL, DSN: secret.NewText("hunter2")}}, {"erp": {Driver: sqldb.MySQL}},
	} {
		err := bad.Validate()
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
