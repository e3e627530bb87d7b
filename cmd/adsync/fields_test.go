package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/engine"
	"adsync/media"
	"adsync/media/wire"
)

func TestFields_AreATableForPeople(t *testing.T) {
	t.Parallel()
	stdout, asked := printedFor(t, `{"fields": [
  {"media": "tulip", "field": "order_uv", "state": "trying", "by": "otto", "reason": "for the shops",
  "note": "no answer within 30s", "updated_at": "2026-11-21T09:00:00Z"},
  {"media": "tulip", "field": "reg_pv", "report": "report_daily", "level": "adgroup", "state": "retired",
  "metric": "registrations", "reason": "12009",
   "by": "adsync", "retired_at": "2026-11-21T10:20:04.11Z", "updated_at": "2026-11-21T10:20:04.11Z"}]}`,
		"fields", "list", "--media", "tulip", "--state", "retired")
	require.Equal(t, "/api/v1/fields?media=tulip&state=retired", asked)
	require.Equal(t,
		`MEDIA  FIELD     REPORT        LEVEL    STATE    METRIC         RETIRED               `+
			`CHANGED               BY      REASON
tulip  order_uv  -             -        trying   -              -                     2026-11-21T09:00:00Z  `+
			`otto    for the shops; not decided yet: no answer within 30s
tulip  reg_pv    report_daily  adgroup  retired  registrations  2026-11-21T10:20:04Z  2026-11-21T10:20:04Z  `+
			`adsync  12009
`, stdout)
	stdout, _ = printedFor(t, `{"fields": []}`, "fields", "list")
	require.Equal(t, "There are no such fields.\n", stdout)
}

func TestFields_ChangeAField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args                 []string
		answer, asked, shown string
	}{
		"added": {
			[]string{"add", "tulip", "order_uv", "--by", "otto", "--reason", "r"},
			`{"media": "tulip", "field": "order_uv", "state": "asked"}`,
			`{"by":"otto","field":"order_uv","media":"tulip","reason":"r","state":"asked"}`,
			"Requests order_uv of tulip in all reports.\n",
		},
		"added, and tried": {
			[]string{"add", "tulip", "order_uv", "--by", "otto"}, `{"media": "tulip", "field": "order_uv", "state": "trying"}`,
			`{"by":"otto","field":"order_uv","media":"tulip","state":"asked"}`,
			"Requests order_uv of tulip in all reports.\nIt is tried with one call first. For the result: adsync fields list " +
				"--media tulip\n",
		},
		"dropped": {
			[]string{"drop", "tulip", "reg_pv", "--report", "report_daily", "--level", "adgroup", "--by", "otto"},
			`{"media": "tulip", "field": "reg_pv", "report": "report_daily", "level": "adgroup", "state": "off"}`,
			`{"by":"otto","field":"reg_pv","level":"adgroup","media":"tulip","report":"report_daily","state":"off"}`,
			"No longer requests reg_pv of tulip in report_daily at level adgroup.\n",
		},
		"reinstated": {
			[]string{"reinstate", "tulip", "reg_pv", "--by", "otto"}, `{"media": "tulip", "field": "reg_pv", "state": "asked"}`,
			`{"by":"otto","field":"reg_pv","media":"tulip","state":"asked"}`, "Requests again reg_pv of tulip in all reports.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var method, path string
			var body []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				method, path = r.Method, r.URL.String()
				body, _ = io.ReadAll(r.Body)
				_, _ = w.Write([]byte(c.answer))
			}))
			t.Cleanup(server.Close)
			r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, append([]string{"fields"}, c.args...)...)
			require.Equal(t, result{stdout: c.shown}, r)
			require.Equal(t, []string{http.MethodPut, "/api/v1/fields", c.asked}, []string{method, path, string(body)})
		})
	}
	r := adsync(nil, "fields", "add", "tulip")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, "want MEDIA FIELD, such as: "+onePlatform+" order_uv")
}

// aCount is a figure of onePlatform's reports that counts something. Its field is also a column of the raw tables.
func aCount() string {
	figures := engine.Platforms()[0].Reports()[0].Figures
	return figures[slices.IndexFunc(figures, func(f wire.Figure) bool { return f.Unit == wire.Count })].Field
}

func TestFieldsBackfill_PrintsEachDay(t *testing.T) {
	t.Parallel()
	environ := sqliteEnviron(t)
	backfill := func(args ...string) result {
		return adsync(environ, append([]string{"fields", "backfill"}, args...)...)
	}
	field, days := aCount(), []string{"--from", "2026-11-20", "--to", "2026-11-21"}
	r := backfill(append([]string{onePlatform, field}, days...)...)
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, "run `adsync migrate up`")
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	require.Equal(t, result{stdout: `2026-11-20 report_daily: 0 rows
2026-11-20 report_hourly: 0 rows
2026-11-21 report_daily: 0 rows
2026-11-21 report_hourly: 0 rows
0 rows have ` + field + ` now.
`}, backfill(append([]string{onePlatform, field}, days...)...))
	for want, args := range map[string][]string{
		`field "order_uv" is refused: want a figure of the package of ` +
			onePlatform: append([]string{onePlatform, "order_uv"}, days...),
		fmt.Sprintf(`there is no platform "myspace": want one of %v`,
			engine.PlatformNames()): append([]string{"myspace", "x"}, days...),
		`--from is missing: want the first and the last day`: {onePlatform, field, "--to",
			"2026-11-20"},
		`want MEDIA FIELD, such as: ` + onePlatform + ` order_uv`: {onePlatform},
	} {
		r := backfill(args...)
		require.Equal(t, exitUsage, r.code, r.stderr)
		require.Contains(t, r.stderr, want)
	}
}

func TestFieldsBackfill_FailsForValuesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	environ := sqliteEnviron(t)
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	s := openStore(t, environ)
	require.NoError(t, s.EnsureRawTables(t.Context(), media.Tables(engine.Platforms()[0])))
	field := aCount()
	for object, value := range []string{`"x"`, `5`, `"-y"`} {
		// the platforms' rows have figures at one of the places
		row := fmt.Sprintf(`{%q: %s, "metrics": {%q: %s}}`, field, value, field, value)
		require.NoError(t, s.Data.Writer(t.Context()).Exec(`INSERT INTO `+onePlatform+
			`_report_daily (day, account_id, level, object_id, row_json, version)
VALUES ('2026-11-20', 7, 'adgroup', ?, ?, 1)`, object, row).Error)
	}
	r := adsync(environ, "fields", "backfill", onePlatform, field, "--from", "2026-11-20", "--to", "2026-11-21")
	require.Equal(t, exitFailure, r.code)
	require.Equal(t, `2026-11-20 report_daily: 1 row, and 2 values that cannot be used
2026-11-20 report_hourly: 0 rows
2026-11-21 report_daily: 0 rows
2026-11-21 report_hourly: 0 rows
1 row has `+field+` now.
`, r.stdout)
	require.Contains(t, r.stderr, `2 values of `+field+
		` in the JSON cannot be used, and their columns stay NULL;`+
		` the first of them: account 7, level adgroup, object "0", hour 0: `)
	require.Contains(t, r.stderr, "correct the package if that is wrong, and repeat this command")
}
