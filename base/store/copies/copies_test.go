package copies_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

// bench is a store and another department's database, on the same kind of server.
type bench struct {
	*testing.T
	store   *store.Store
	from    *store.Store // the tables of its data database are copied
	sources copies.Sources
	today   day.Day
}

// ordersTable is the table of most tests, in both databases.
const ordersTable = "(id INTEGER NOT NULL PRIMARY KEY, day DATE NULL, item VARCHAR(20) NULL, changed DATETIME(3) NULL)"

// aSource opens another database, and returns it and its settings.
func aSource(t *testing.T) (*store.Store, copies.SourceConfig) {
	t.Helper()
	cfg := storetest.Config(t)
	return storetest.Open(t, cfg), copies.SourceConfig{Driver: cfg.Data.Driver, DSN: cfg.Data.Writer}
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, store: storetest.New(t)}
	var cfg copies.SourceConfig
	b.from, cfg = aSource(t)
	b.sources = openSources(t, copies.SourcesConfig{"erp": cfg})
	now, err := b.store.Data.Now(t.Context())
	require.NoError(t, err)
	b.today = day.Of(now, time.UTC)
	b.in(b.from, "CREATE TABLE orders "+ordersTable)
	b.in(b.store, "CREATE TABLE copy_orders "+ordersTable)
	return b
}

func openSources(t *testing.T, cfg copies.SourcesConfig) copies.Sources {
	t.Helper()
	require.NoError(t, cfg.Validate())
	sources, err := copies.OpenSources(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sources.Close()) })
	return sources
}

// in runs a statement in the data database of a store.
func (b *bench) in(s *store.Store, query string, args ...any) {
	b.Helper()
	require.NoError(b, s.Data.Writer(b.Context()).Exec(query, args...).Error)
}

// order writes a row of the source that changed ago before now.
func (b *bench) order(id int, on day.Day, item string, ago time.Duration) {
	b.Helper()
	b.in(b.from, "DELETE FROM orders WHERE id = ?", id)
	b.in(b.from, "INSERT INTO orders VALUES (?, ?, ?, ?)", id, string(on), item, sqldb.At(time.Now().Add(-ago)))
}

// orders returns the copy of the whole table orders.
func orders() copies.TableCopy {
	return copies.TableCopy{Name: "orders", Source: "erp", SourceTable: "orders", KeyColumns: "id", Enabled: true}
}

// changing returns the copy of the changed rows of orders.
func changing() copies.TableCopy {
	c := orders()
	c.CursorColumn, c.OverlapSeconds = "changed", copies.OverlapDefault
	return c
}

// days is the number of days of a window.
func days(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: true} }

// within returns the copy of the last three days of orders.
func within() copies.TableCopy {
	c := orders()
	c.DayColumn, c.WindowDays = "day", days(3)
	return c
}

// copied runs a copy, and returns how many rows it wrote and deleted.
func (b *bench) copied(c copies.TableCopy) int {
	b.Helper()
	n, err := b.store.CopyTable(b.Context(), c, b.sources, b.today)
	require.NoError(b, err)
	return n
}

// refused runs a copy that fails, and returns why. copy_cursor has the same text.
func (b *bench) refused(c copies.TableCopy) string {
	b.Helper()
	_, err := b.store.CopyTable(b.Context(), c, b.sources, b.today)
	require.Error(b, err)
	require.Equal(b, err.Error(), b.state(c).ErrorText)
	return err.Error()
}

func (b *bench) state(c copies.TableCopy) copies.State {
	b.Helper()
	states, err := b.store.CopyStates(b.Context())
	require.NoError(b, err)
	return states[c.StateName()]
}

// items returns the rows of copy_orders: "1 apple".
func (b *bench) items() []string { return b.texts("SELECT id, item FROM copy_orders ORDER BY id") }

// texts returns rows as texts.
func (b *bench) texts(query string) (all []string) {
	b.Helper()
	rows, err := b.store.Data.Writer(b.Context()).Raw(query).Rows()
	require.NoError(b, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(b, err)
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(b, rows.Scan(into...))
		var row []string
		for _, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			row = append(row, v.String)
		}
		all = append(all, strings.Join(row, " "))
	}
	require.NoError(b, rows.Err())
	return all
}

func TestCopyTable_ReadsFromTheCursorLessTheOverlap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.order(1, b.today, "apple", 48*time.Hour)
	b.order(2, b.today, "pear", time.Hour)
	b.in(b.from, "INSERT INTO orders (id, item) VALUES (3, 'plum')")
	require.Equal(t, 3, b.copied(changing()))
	require.Equal(t, []string{"1 apple", "2 pear", "3 plum"}, b.items())

	b.order(4, b.today, "fig", 70*time.Minute)   // It was committed after a row with a later stamp.
	b.order(5, b.today, "lime", 100*time.Minute) // Nothing from before the overlap is read.
	b.order(1, b.today, "melon", time.Second)
	require.Equal(t, 4, b.copied(changing()), "1, 2 and 4, and the row without a stamp")
	require.Equal(t, []string{"1 melon", "2 pear", "3 plum", "4 fig"}, b.items())
	state := b.state(changing())
	require.EqualValues(t, 4, state.RowCount)
	require.Empty(t, state.ErrorText)
	require.False(t, state.RunAt.IsZero())

	c := changing()
	c.OverlapSeconds = 0
	require.Equal(t, 2, b.copied(c), "without an overlap, the rows at the cursor are read again")
	c.SourceTable, c.CursorColumn, c.OverlapSeconds = "orders", "id", 0
	require.Equal(t, 5, b.copied(c), "the cursor of another column counts for nothing")
	require.Equal(t, "5", b.state(c).CursorValue)
	b.order(6, b.today, "kiwi", 0)
	require.Equal(t, 2, b.copied(c))
	c.OverlapSeconds = 60
	require.Contains(t, b.refused(c), "copy orders: cursor_column: id holds numbers, which have no seconds: set "+
		"overlap_seconds to 0")
}

func TestCopyTable_ARowInTheFutureHidesNoChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.order(1, b.today, "apple", -1000*time.Hour)
	require.Equal(t, 1, b.copied(changing()))
	b.order(2, b.today, "pear", time.Second)
	require.Equal(t, 2, b.copied(changing()))
	require.Equal(t, []string{"1 apple", "2 pear"}, b.items())
}

// A run that is killed between two pieces continues at the cursor, which many rows have.
func TestCopyTable_ContinuesAfterAKillAmongEqualCursors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stamp := sqldb.At(time.Now().Add(-time.Hour))
	storetest.AddRows(t, b.from.Data, "orders (id, item, changed)", 2500, func(i int) []any {
		return []any{i, fmt.Sprint("item ", i), stamp}
	})
	c := changing()
	c.OverlapSeconds = 0
	ctx, kill := context.WithCancel(t.Context())
	pieces := 0
	hook := func(tx *gorm.DB) {
		if strings.HasPrefix(tx.Statement.SQL.String(), "SELECT version FROM copy_cursor") {
			if pieces++; pieces == 3 {
				kill()
			}
		}
	}
	require.NoError(t, b.store.Data.Writer(t.Context()).Callback().Row().Before("gorm:row").Register("kill", hook))
	_, err := b.store.CopyTable(ctx, c, b.sources, b.today)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2000, storetest.RowsIn(t, b.store, "copy_orders"))
	require.NotEmpty(t, b.state(c).CursorValue)
	require.Zero(t, b.state(c).RunAt, "only a run that ends is recorded")

	require.Equal(t, 2500, b.copied(c))
	require.Equal(t, 2500, storetest.RowsIn(t, b.store, "copy_orders"))
	b.order(2600, b.today, "late", 30*time.Minute)
	require.Equal(t, 2501, b.copied(c))
	require.Equal(t, 1, b.copied(c))
}

func TestCopyTable_AnOlderRunStopsWhenANewerBegins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.order(1, b.today, "apple", time.Hour)
	overtaken := false
	hook := func(tx *gorm.DB) {
		if !overtaken && strings.HasPrefix(tx.Statement.SQL.String(), "SELECT version FROM copy_cursor") {
			overtaken = true
			_, err := tx.Statement.ConnPool.ExecContext(t.Context(), "UPDATE copy_cursor SET version = version + 1")
			require.NoError(t, err)
		}
	}
	require.NoError(t, b.store.Data.Writer(t.Context()).Callback().Row().Before("gorm:row").Register("overtake", hook))
	_, err := b.store.CopyTable(t.Context(), orders(), b.sources, b.today)
	require.ErrorIs(t, err, copies.ErrOvertaken)
	require.Empty(t, b.items())
}

func TestCopyTable_ReplacesAWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.order(1, b.today.Add(-3), "old", 0)
	b.order(2, b.today.Add(-2), "first", 0)
	b.order(3, b.today, "last", 0)
	b.order(4, b.today.Add(1), "tomorrow", 0)
	b.in(b.store, "INSERT INTO copy_orders (id, day, item) VALUES (7, ?, 'stays'), (8, ?, 'gone')",
		string(b.today.Add(-3)), string(b.today))
	require.Equal(t, 4, b.copied(within()))
	require.Equal(t, []string{"2 first", "3 last", "4 tomorrow", "7 stays"}, b.items())
	b.in(b.from, "DELETE FROM orders WHERE id = 3")
	b.order(2, b.today.Add(-1), "moved", 0)
	require.Equal(t, 3, b.copied(within()))
	require.Equal(t, []string{"2 moved", "4 tomorrow", "7 stays"}, b.items())

	b.in(b.from, "DELETE FROM orders WHERE id > 1")
	require.Contains(t, b.refused(within()), "orders of the source erp has no rows, and copy_orders has 2: nothing was "+
		"deleted: if that is right, delete them with DELETE FROM copy_orders WHERE `day` >= '"+string(b.today.Add(-2))+"'")
	require.Len(t, b.items(), 3)

	both := within()
	both.CursorColumn = "changed"
	b.order(9, b.today, "new", time.Second)
	require.Equal(t, 5, b.copied(both), "two rows by the cursor, one again by the window, two deleted")
	require.Equal(t, []string{"1 old", "7 stays", "9 new"}, b.items())
}

func TestCopyTable_ReplacesAWholeTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.order(1, b.today, "apple", 0)
	b.order(2, b.today, "pear", 0)
	require.Equal(t, 2, b.copied(orders()))
	require.Equal(t, 2, b.copied(orders()))
	b.in(b.from, "DELETE FROM orders WHERE id = 1")
	b.order(2, b.today, "quince", 0)
	require.Equal(t, 2, b.copied(orders()))
	require.Equal(t, []string{"2 quince"}, b.items())
	b.in(b.from, "DELETE FROM orders")
	require.Contains(t, b.refused(orders()), "delete them with DELETE FROM copy_orders")
	require.Equal(t, []string{"2 quince"}, b.items())
	require.NotContains(t, b.texts("SELECT name FROM copy_cursor"), "")
}

func TestCopyTable_KeysThatTheTargetChangesDeleteNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(b.from, "CREATE TABLE shops (code VARCHAR(20) NOT NULL PRIMARY KEY)")
	b.in(b.from, "INSERT INTO shops VALUES ('01'), ('2')")
	b.in(b.store, "CREATE TABLE copy_shops (code INTEGER NOT NULL PRIMARY KEY)")
	c := copies.TableCopy{Name: "shops", Source: "erp", SourceTable: "shops", KeyColumns: "code"}
	require.Contains(t, b.refused(c), "copy shops: key_columns: 1 row of shops have other values in copy_shops than they "+
		"were given: give the columns code there the same types as in the source; nothing was deleted")
	require.Equal(t, []string{"1", "2"}, b.texts("SELECT code FROM copy_shops ORDER BY code"))
}

func TestCopyTable_TwoSourcesHaveATableOfOneName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other, cfg := aSource(t)
	b.in(other, "CREATE TABLE orders "+ordersTable)
	b.in(other, "INSERT INTO orders (id, item) VALUES (1, 'theirs')")
	b.order(1, b.today, "ours", 0)
	b.in(b.store, "CREATE TABLE copy_shop_orders "+ordersTable)
	b.sources["shop"] = openSources(t, copies.SourcesConfig{"shop": cfg})["shop"]
	c := orders()
	c.Name, c.Source = "shop_orders", "shop"
	require.Equal(t, 1, b.copied(orders()))
	require.Equal(t, 1, b.copied(c))
	require.Equal(t, []string{"1 ours"}, b.items())
	require.Equal(t, []string{"1 theirs"}, b.texts("SELECT id, item FROM copy_shop_orders"))
}

func TestTableCopies_AreRowsWithARecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := settings.Editor{Actor: "ada", Action: "copy.put"}
	put := func(c copies.TableCopy) {
		require.NoError(t, b.store.PutTableCopy(t.Context(), by, c.Name, func(row *copies.TableCopy) error {
			*row = c
			return nil
		}))
	}
	put(within())
	put(orders())
	all, err := b.store.TableCopies(t.Context())
	require.NoError(t, err)
	require.Equal(t, []copies.TableCopy{orders()}, all, "NULL takes the place of what is not set")
	b.order(1, b.today, "apple", 0)
	b.copied(orders())
	require.NoError(t, b.store.DeleteTableCopy(t.Context(), by, "orders"))
	require.ErrorIs(t, b.store.DeleteTableCopy(t.Context(), by, "orders"), sqldb.ErrNotFound)
	_, err = b.store.TableCopy(t.Context(), "orders")
	require.ErrorIs(t, err, sqldb.ErrNotFound)
	require.Zero(t, b.state(orders()))
	require.Equal(t, []string{"1 apple"}, b.items(), "the table stays")
	audit, err := b.store.ListAudit(t.Context(), settings.AuditFilter{Object: "table_copy/orders", Limit: 10})
	require.NoError(t, err)
	require.Len(t, audit, 3)
}

// A copy that leaves a target, and one that takes it over, each continue where that table is.
func TestTableCopies_HaveACursorForEachTarget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := orders()
	b.order(1, b.today, "apple", 0)
	b.copied(c)
	before := b.state(c)
	c.Into = copies.PartnerTable
	run := func(c copies.TableCopy) (state copies.State) {
		t.Helper()
		_, err := b.store.RunCopy(t.Context(), &c, func(s *copies.State) (int, error) {
			state = *s
			return 0, b.store.WriteCopy(t.Context(), s, "there", func(*gorm.DB) error { return nil })
		})
		require.NoError(t, err)
		return state
	}
	require.Empty(t, run(c).CursorValue)
	require.Equal(t, "there", run(c).CursorValue)
	other := c
	other.Name = "other"
	require.Equal(t, "there", run(other).CursorValue, "the table is the same")
	other.SourceTable = "another"
	require.Empty(t, run(other).CursorValue, "a cursor is that of one table of one source")
	c.Into = ""
	require.Equal(t, before, b.state(c))

	// A run of the former copy writes nothing after one of the next has begun.
	c.Into = copies.PartnerTable
	_, err := b.store.RunCopy(t.Context(), &c, func(s *copies.State) (int, error) {
		run(other)
		return 0, b.store.WriteCopy(t.Context(), s, "late", func(*gorm.DB) error { return nil })
	})
	require.ErrorIs(t, err, copies.ErrOvertaken)
	states, err := b.store.CopyStates(t.Context())
	require.NoError(t, err)
	require.Equal(t, "there", states[other.StateName()].CursorValue)
}
