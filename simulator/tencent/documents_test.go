package tencent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator"
	"adsync/simulator/control"
	"adsync/simulator/limit"
	"adsync/simulator/tencent"
)

// client calls the platform for its first account.
type client struct {
	t              *testing.T
	sim            *simulator.Simulator
	token, account string
	company        string
}

func newClient(t *testing.T) *client {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Accounts: 80, Seed: 7,
		Start: time.Date(2026, 11, 15, 4, 34, 56, 0, time.UTC), Frozen: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sim.Close()) })
	c := &client{t: t, sim: sim}
	var all map[string]control.Credentials
	require.NoError(t, json.Unmarshal(c.do(http.MethodGet, "/_sim/credentials", nil), &all))
	login := all["tencent"].Apps[0].Logins[0]
	c.token, c.account = login.AccessToken, login.AccountIDs[0]
	var rules []limit.Rule
	for _, r := range tencent.New().Spec().Limits {
		r.Limit = 0
		rules = append(rules, r)
	}
	order, err := json.Marshal(map[string]any{"rules": rules})
	require.NoError(t, err)
	c.do(http.MethodPost, "/_sim/limits", order)
	var truth struct{ Company string }
	line, _, _ := bytes.Cut(c.do(http.MethodGet, "/_sim/truth?media=tencent&kind=account&account="+c.account, nil),
		[]byte("\n"))
	require.NoError(t, json.Unmarshal(line, &truth))
	c.company = truth.Company
	return c
}

func (c *client) do(method, path string, body []byte) []byte {
	c.t.Helper()
	w := httptest.NewRecorder()
	c.sim.Handler().ServeHTTP(w, httptest.NewRequest(method, path, bytes.NewReader(body)))
	require.Equal(c.t, http.StatusOK, w.Code, "%s", w.Body)
	return w.Body.Bytes()
}

var nonces atomic.Int64

// ask makes a call and returns the code and the data of the answer.
func (c *client) ask(path string, pairs ...string) (code int, data fields) {
	c.t.Helper()
	q := url.Values{
		"access_token": {c.token}, "timestamp": {strconv.FormatInt(c.sim.Clock().Now().Unix(), 10)},
		"nonce":      {fmt.Sprintf("n%d", nonces.Add(1))},
		"account_id": {c.account},
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	var answer struct {
		Code int
		Data fields
	}
	d := json.NewDecoder(bytes.NewReader(c.do(http.MethodGet, "/tencent/v3.0/"+path+"?"+q.Encode(), nil)))
	d.UseNumber()
	require.NoError(c.t, d.Decode(&answer))
	return answer.Code, answer.Data
}

// list makes a call and returns the rows of the answer, which must succeed.
func (c *client) list(path string, pairs ...string) []any {
	c.t.Helper()
	code, data := c.ask(path, pairs...)
	require.Zero(c.t, code)
	return data["list"].([]any)
}

type fields = map[string]any

func jsonText(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

func TestTencentDocuments_FieldsOfListsAreThoseOfTheirPages(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for path, known := range tencent.FieldsOfLists {
		code, _ := c.ask(path, "fields", `["account_id"]`)
		require.Equal(t, 12009, code, "%s has no account_id", path)
		rows := c.list(path, "fields", jsonText(t, known))
		require.NotEmpty(t, rows)
		require.NotContains(t, rows[0], "account_id")
		require.Len(t, c.list(path)[0], len(rows[0].(fields)), "unset fields are omitted, requested or not")
	}
	known := slices.Concat(tencent.FieldsOfAccounts, []string{"account_id", "corporation_name", "system_status"})
	rows := c.list("advertiser/get", "fields", jsonText(t, known), "pagination_mode", "PAGINATION_MODE_NORMAL", "page",
		"1", "page_size", "5")
	require.Equal(t, fields{"account_id": json.Number(c.account), "corporation_name": c.company,
		"system_status": "CUSTOMER_STATUS_NORMAL"}, rows[0])
}

func TestTencentDocuments_AllColumnsOfReportsAreKnown(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var figures []string
	for line := range strings.Lines(tencent.ReportColumns) {
		if !strings.HasPrefix(line, "#") {
			figures = append(figures, strings.Fields(line)...)
		}
	}
	require.Len(t, figures, 1049)
	require.True(t, slices.IsSorted(figures))
	ask := func(path, group string, columns []string) fields {
		return c.list(path, "level", "REPORT_LEVEL_ADVERTISER", "group_by", group, "fields", jsonText(t, columns),
			"date_range", `{"start_date":"2026-11-14","end_date":"2026-11-14"}`)[0].(fields)
	}
	for path, group := range map[string]string{"daily_reports/get": `["date"]`, "hourly_reports/get": `["hour"]`} {
		for columns := range slices.Chunk(figures, 1000) { // a call takes 1,024
			row := ask(path, group, columns)
			require.Len(t, row, len(columns))
			for _, name := range columns {
				if !tencent.HasFigures(name) {
					require.Equal(t, json.Number("0"), row[name], name)
				}
			}
		}
		row := ask(path, group, []string{"cost", "component_id", "component_type", "video_id", "match_type", "project_name"})
		require.NotEqual(t, json.Number("0"), row["cost"])
		delete(row, "cost")
		require.Equal(t, fields{"component_id": json.Number("0"), "component_type": "", "video_id": "",
			"match_type": json.Number("0"), "project_name": ""}, row)
	}
}
