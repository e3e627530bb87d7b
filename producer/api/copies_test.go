package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/copies"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
	"adsync/client"
)

const (
	copiesPath = "/api/v1/copies"
	ordersPath = copiesPath + "/orders"
	aCopy      = `{"source": "erp", "source_table": "orders", "key_columns": ["id"], "cursor_column": "changed"}`
)

// sourceOf returns sources with the data database of a store as erp.
func sourceOf(t *testing.T, cfg sqldb.Config) copies.Sources {
	t.Helper()
	sources, err := copies.OpenSources(copies.SourcesConfig{"erp": {Driver: cfg.Data.Driver, DSN: cfg.Data.Writer}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sources.Close()) })
	return sources
}

func TestCopy_IsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want := client.TableCopy{Name: "orders", Source: "erp", SourceTable: "orders", Target: "copy_orders",
		KeyColumns: []string{"id"}, CursorColumn: "changed", OverlapSeconds: 900, Enabled: true}
	require.Equal(t, want, answerOf[client.TableCopy](b, http.MethodPut, ordersPath, aCopy))
	want.CursorColumn, want.WindowDays, want.DayColumn, want.KeyColumns = "", 7, "day", []string{"day", "shop"}
	require.Equal(t, want, answerOf[client.TableCopy](b, http.MethodPut, ordersPath,
		`{"cursor_column": "", "window_days": 7, "day_column": "day", "key_columns": ["day", "shop"]}`))
	want.WindowDays, want.DayColumn, want.Enabled, want.OverlapSeconds = 0, "", false, 0
	require.Equal(t, want, answerOf[client.TableCopy](b, http.MethodPut, ordersPath,
		`{"window_days": 0, "day_column": "", "enabled": false, "overlap_seconds": 0}`))
	require.Equal(t, client.TableCopyList{Copies: []client.TableCopy{want}},
		answerOf[client.TableCopyList](b, http.MethodGet, copiesPath, ""))
	require.Equal(t, want, answerOf[client.TableCopy](b, http.MethodGet, ordersPath, ""))
	require.Equal(t, want, answerOf[client.TableCopy](b, http.MethodDelete, ordersPath, ""))
	require.Equal(t, http.StatusNotFound, b.call(http.MethodDelete, ordersPath, "", adminToken).Code)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, ordersPath, "", viewerToken).Code)
	audit := strings.Join(b.auditText(), "\n")
	require.Contains(t, audit, `ada copy.put table_copy/orders  > {"source":"erp"`)
	require.Contains(t, audit, "ada copy.delete table_copy/orders")
}

func TestCopy_ARefusalNamesEachWrongField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for body, fields := range map[string]string{
		`{}`: "source source_table key_columns",
		`{"source": "ERP", "source_table": "a b", "key_columns": ["i d"], "cursor_column": "x y"}`: "source source_table " +
			"key_columns cursor_column",
		`{"source": "erp", "source_table": "orders", "key_columns": ["id"], "window_days": 7}`: "window_days",
	} {
		w := b.call(http.MethodPut, ordersPath, body, adminToken)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
		var got []string
		for _, e := range b.problem(w).Errors {
			got = append(got, e.Field)
		}
		require.Equal(t, fields, strings.Join(got, " "), body)
	}
	w := b.call(http.MethodPut, copiesPath+"/cursor", aCopy, adminToken)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "copy_cursor is adsync's own table")
	require.Equal(t, http.StatusBadRequest, b.call(http.MethodPut, copiesPath+"/%ff", aCopy, adminToken).Code)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, copiesPath+"/%ff", "", viewerToken).Code)
}

func TestCopy_ACheckNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	cfg := storetest.Config(t)
	from := storetest.Open(t, cfg)
	b := setup(t)
	b.put(ordersPath, aCopy)
	check := func() client.TableCopyCheck {
		return answerOf[client.TableCopyCheck](b, http.MethodPost, ordersPath+"/check", "")
	}
	require.Equal(t, []string{
		"source: the settings of this process have no sources.erp: add it to those of all producers and consumers",
		"the data database has no table copy_orders: create it with the columns that you want of orders, and with a " +
			"primary key on (id)",
	}, check().Problems)
	b.sources = sourceOf(t, cfg)
	b.serve(b.producer, registry(b.store), fixedClock{})
	const columns = "(id INTEGER NOT NULL PRIMARY KEY, changed DATETIME NULL"
	require.NoError(t, from.Data.Writer(t.Context()).Exec("CREATE TABLE orders "+columns+", note TEXT)").Error)
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("CREATE TABLE copy_orders "+columns+")").Error)
	require.Equal(t, client.TableCopyCheck{Ok: true, Problems: []string{}, Columns: []string{"id", "changed"},
		LeftOut: []string{"note"}}, check())
	require.Contains(t, strings.Join(b.auditText(), "\n"), "ada copy.check table_copy/orders")
}

// An order of system.copy has a subtask for each copy that is enabled.
func TestCopy_AnOrderCountsTheEnabledCopies(t *testing.T) {
	t.Parallel()
	b := setup(t, good(5, "system.copy", "system.copy", ""))
	b.put(ordersPath, aCopy)
	b.put(copiesPath+"/shops", aCopy)
	b.put(copiesPath+"/idle", strings.Replace(aCopy, "{", `{"enabled": false, `, 1))
	w := b.post("/api/v1/tasks/system.copy/run", `{"scope": "all", "dry_run": true}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Contains(t, w.Body.String(), `"subtasks":2`)
}

// The business's own figures are a copy whose key and cursor are fixed. One copy at most has them.
func TestCopy_OfTheBusinesssFigures(t *testing.T) {
	t.Parallel()
	cfg := storetest.Config(t)
	from := storetest.Open(t, cfg)
	b := setup(t)
	b.sources = sourceOf(t, cfg)
	b.serve(b.producer, registry(b.store), fixedClock{})
	path := copiesPath + "/partner"
	const body = `{"source": "erp", "source_table": "business", "target": "partner_daily"}`
	want := client.TableCopy{Name: "partner", Source: "erp", SourceTable: "business", Target: "partner_daily",
		KeyColumns: []string{"id"}, CursorColumn: "updated_at", OverlapSeconds: 900, Enabled: true}
	require.Equal(t, want, answerOf[client.TableCopy](b, http.MethodPut, path, body))
	require.Equal(t, want, answerOf[client.TableCopy](b, http.MethodPut, path, body), "again")

	for request, field := range map[string]string{
		`{"target": "report_daily"}`:                   "target",
		`{"key_columns": ["day"]}`:                     "key_columns",
		`{"cursor_column": "day"}`:                     "cursor_column",
		`{"window_days": 7, "day_column": "day"}`:      "window_days",
		`{"overlap_seconds": 0}`:                       "overlap_seconds",
		`{"target": "partner_daily", "source": "ERP"}`: "source",
	} {
		w := b.call(http.MethodPut, path, request, adminToken)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
		require.Len(t, b.problem(w).Errors, 1, request)
		require.Equal(t, field, b.problem(w).Errors[0].Field, request)
	}
	w := b.call(http.MethodPut, copiesPath+"/second", body, adminToken)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
	require.Contains(t, w.Body.String(), "no copy partner, which writes it: delete that first")

	check := func() client.TableCopyCheck {
		return answerOf[client.TableCopyCheck](b, http.MethodPost, path+"/check", "")
	}
	require.Len(t, check().Problems, 1)
	require.Contains(t, check().Problems[0], "source_table: business cannot be read: ")
	exec := func(statement string) {
		t.Helper()
		require.NoError(t, from.Data.Writer(t.Context()).Exec(statement).Error)
	}
	exec("CREATE TABLE business (" + strings.Join(summaries.PartnerColumns, " VARCHAR(32), ") + " VARCHAR(32))")
	good := client.TableCopyCheck{Ok: true, Problems: []string{}, Columns: summaries.PartnerColumns, LeftOut: []string{}}
	require.Equal(t, good, check(), "an empty table")
	exec("INSERT INTO business (id, updated_at) VALUES ('x', 'never')")
	require.Equal(t, []string{"source_table: no row of business has both a number as id and a moment as updated_at: see " +
		"docs/partner.md for their types"}, check().Problems)

	// Its own name for the target, as an answer has it, means the usual target.
	want.Target = "copy_partner"
	for _, target := range []string{"", "copy_partner"} {
		require.Equal(t, want, answerOf[client.TableCopy](b, http.MethodPut, path, `{"target": "`+target+`"}`))
		require.Equal(t, http.StatusOK, b.call(http.MethodPut, path, `{"target": "partner_daily"}`, adminToken).Code)
	}
	require.Equal(t, http.StatusUnprocessableEntity,
		b.call(http.MethodPut, path, `{"target": "copy_orders"}`, adminToken).Code)
	w = b.call(http.MethodPut, ordersPath, aCopy, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	w = b.call(http.MethodPut, ordersPath, `{"target": "partner_daily"}`, adminToken)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
	require.Contains(t, strings.Join(b.auditText(), "\n"), `"target":"partner_daily"`)
}
