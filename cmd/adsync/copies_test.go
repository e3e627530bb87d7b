package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const aTableCopy = `{"name": "orders", "source": "erp", "source_table": "sales.orders", "target": "copy_orders",
  "key_columns": ["day", "id"], "cursor_column": "changed", "overlap_seconds": 900, "window_days": 7,
  "day_column": "day", "enabled": true, "cursor": "2026-11-21 10:00:00", "run_at": "2026-11-21T10:00:03Z", "rows": 12,
  "error": "copy orders: no"}`

func TestCopies_AreShownAndChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []reportCommand{
		{
			[]string{"list"}, `{"copies": [` + aTableCopy + `]}`, "GET /api/v1/copies ",
			"orders  erp     sales.orders  on     2026-11-21T10:00:03Z  12    copy orders: no\n",
		},
		{[]string{"list"}, `{"copies": []}`, "GET /api/v1/copies ", "There are no copies.\n"},
		{[]string{"show", "orders"}, aTableCopy, "GET /api/v1/copies/orders ", "day, id\n"},
		{
			[]string{"put", "orders", "--source", "erp", "--table", "sales.orders", "--key", "day,id", "--cursor=",
				"--overlap-seconds", "0", "--window-days", "7", "--day-column", "day", "--enabled=false"},
			aTableCopy, `PUT /api/v1/copies/orders {"cursor_column":"","day_column":"day","enabled":false,` +
				`"key_columns":["day","id"],"overlap_seconds":0,"source":"erp","source_table":"sales.orders","window_days":7}`,
			"copy_orders",
		},
		{
			[]string{"put", "orders", "--target", "partner_daily"}, strings.ReplaceAll(aTableCopy, "copy_orders",
				"partner_daily"), `PUT /api/v1/copies/orders {"target":"partner_daily"}`, "partner_daily",
		},
		{
			[]string{"put", "orders", "--target="}, aTableCopy, `PUT /api/v1/copies/orders {"target":""}`, "copy_orders",
		},
		{
			[]string{"delete", "orders"}, aTableCopy, "DELETE /api/v1/copies/orders ",
			"Deleted the copy orders. The table copy_orders stays.\n",
		},
		{
			[]string{"check", "orders"}, `{"ok": true, "problems": [], "columns": ["id", "day"], "left_out": ["note"]}`,
			"POST /api/v1/copies/orders/check ", "It can run. It copies id, day. It leaves out note.\n",
		},
	} {
		c.args = append([]string{"copies"}, c.args...)
		c.check(t)
	}
	r := adsync([]string{"ADSYNC_SERVER=http://127.0.0.1:1"}, "copies", "put", "orders")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, "nothing is to be changed")
}

func TestCopiesCheck_FailsForOneThatCannotRun(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ok": false, "problems": ["no table", "no key"], "columns": [], "left_out": []}`)
	}))
	t.Cleanup(server.Close)
	for _, output := range []string{"table", "json"} {
		r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, "copies", "check", "orders", "--output", output)
		require.Equal(t, exitFailure, r.code)
		require.Contains(t, r.stderr, "the copy cannot run: no table; no key")
		require.Equal(t, output == "json", r.stdout != "")
	}
}

func TestConfig_KeepsTheSecretsOfSources(t *testing.T) {
	t.Parallel()
	good := `ADSYNC_SOURCES={erp: {driver: mysql, dsn: "ada:hunter2@tcp(db:3306)/erp"}}`
	r := adsync([]string{good}, "config", "print")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "erp:")
	require.NotContains(t, r.stdout+r.stderr, "hunter2")
	bad := `ADSYNC_SOURCES={Erp: {driver: oracle, dsn: hunter2}, own: {driver: mysql, dsn: hunter2}}`
	r = adsync([]string{bad}, "config", "check")
	require.NotZero(t, r.code)
	for _, key := range []string{"sources.Erp", "sources.Erp.driver", "sources.own.dsn"} {
		require.Contains(t, r.stdout+r.stderr, key)
	}
	require.NotContains(t, r.stdout+r.stderr, "hunter2")
}
