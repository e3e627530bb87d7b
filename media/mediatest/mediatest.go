// Package mediatest is the conformance suite of the platforms' packages. It runs against a server that speaks the
// platform's wire format and checks that units, ids, days and hours are right, that paging returns all rows, that
// errors are classified, and that they show no secret.
package mediatest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/media"
	"adsync/media/client"
	"adsync/media/token"
)

// Server is a server that speaks a platform's wire format, with the truth about its data.
type Server struct {
	BaseURL string
	App     media.App
	Access  secret.Text
	Refresh secret.Text
	// Login is whose tokens these are.
	Login media.Login
	// Names are the names of accounts by their ids.
	Names map[string]string
	// Accounts are the accounts that the login reaches, the largest first. The first must need several pages of a list.
	Accounts []string
	Zone     *time.Location
	Today    day.Day

	// Objects returns the objects of an account's list, including deleted ones.
	Objects func(t *testing.T, list, account string) []Object
	// Rows returns the rows of an account's report.
	Rows func(t *testing.T, report, level, account string, from, to day.Day) []Row

	// Balance returns an account's balance, as account_balance must hold it.
	Balance func(t *testing.T, account string) []fund.Row
	// Flow returns the cash flow of an account's published days, as fund_daily must hold it.
	Flow func(t *testing.T, account string, from, to day.Day) []Flow

	// Operations returns the entries of an account's log of operations, in any order. nil if the world has no truth of
	// them: they are not compared.
	Operations func(t *testing.T, account string, from, to day.Day) []Operation

	// Expire makes the access token expire.
	Expire func(t *testing.T)
	// OverLimit makes the server refuse the next call for a limit.
	OverLimit func(t *testing.T)
	// Fail makes the server answer the next calls with HTTP 503.
	Fail func(t *testing.T, calls int)
	// Cut makes the server cut off the next answers in the middle.
	Cut func(t *testing.T, calls int)
}

// Object is the truth about a configuration object.
type Object struct {
	ID       string
	Name     string
	Modified time.Time
	Deleted  bool
}

// Row is the truth about a report's row. Metrics holds the platform's figures, money in millionths.
type Row struct {
	Day     day.Day
	Hour    int
	Object  string
	Metrics map[string]int64
}

// accountsTested is how many accounts are compared in full: the largest and others of all sizes.
const accountsTested = 6

// Run tests a platform against a fresh server for each test.
func Run(t *testing.T, platform media.Platform, newServer func(t *testing.T) *Server) {
	t.Helper()
	tests := map[string]func(t *testing.T, h *harness){
		"all accounts of a login are found":                   testAccounts,
		"lists equal the truth, over all their pages":         testLists,
		"a list of changes has what changed":                  testChanges,
		"reports equal the truth, over all their pages":       testReports,
		"a report begins at an hour if it has hours":          testHours,
		"a joint query has the rows of each account":          testJoint,
		"a probe finds the accounts that spend":               testProbe,
		"balances equal the truth":                            testBalances,
		"daily cash flows equal the truth":                    testFlows,
		"the log of operations equals the truth":              testOperations,
		"unknown fields change nothing":                       testUnknownFields,
		"an unusable value affects at most its row":           testUnusable,
		"rows without fields are counted and lost":            testEmptyRows,
		"an expired token is refreshed and the call repeated": testExpired,
		"a refused refresh token is of class auth":            testRefreshRefused,
		"an over-limit answer pauses and costs no attempt":    testOverLimit,
		"a failing server is transient":                       testFailing,
		"a call whose answer is cut off is retried":           testCut,
		"no error shows a secret":                             testSecrets,
		"answers in another format are transient":             testFormats,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newHarness(t, platform, newServer(t)))
		})
	}
}

// harness is a client of a server, without limits.
type harness struct {
	platform  media.Platform
	server    *Server
	transport *client.Transport
	client    *client.Client
	tokens    *tokens
	waiter    *waiter
}

func newHarness(t *testing.T, platform media.Platform, server *Server) *harness {
	t.Helper()
	h := &harness{platform: platform, server: server, waiter: &waiter{}}
	h.connect(t, client.NewHTTP())
	return h
}

func (h *harness) connect(t *testing.T, http *http.Client) {
	t.Helper()
	t.Cleanup(http.CloseIdleConnections)
	h.transport = client.NewTransport(h.platform, h.server.BaseURL, http)
	h.tokens = &tokens{h: h, login: token.Login{ID: 1, App: media.App{ID: h.server.App.ID}, Who: h.server.Login,
		Access: h.server.Access, Generation: 1}, refresh: h.server.Refresh}
	h.client = client.New(client.Options{
		Platform: h.platform, Transport: h.transport, Waiter: h.waiter, Tokens: h.tokens,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
}

func (h *harness) api(account string) media.CountingAPI { return h.client.For(h.account(1, account)) }

// first returns the API of the first account.
func (h *harness) first() media.CountingAPI { return h.api(h.server.Accounts[0]) }

func (h *harness) account(id int64, external string) media.Account {
	return media.Account{ID: id, Media: h.platform.Name(), ExternalID: external, Name: h.server.Names[external],
		TokenID: 1, Zone: h.server.Zone, Currency: "CNY"}
}

// accounts returns up to most accounts of the login.
func (h *harness) accounts(most int) (accounts []media.Account) {
	for i, external := range h.server.Accounts[:min(most, len(h.server.Accounts))] {
		accounts = append(accounts, h.account(int64(i+1), external))
	}
	return accounts
}

// pages fetches all pages and checks what holds on every platform: one proof, one total, distinct keys, as many rows as
// the total if there is one.
func pages(t *testing.T, page func(token string) (media.Page, error)) (rows []media.Row, count int) {
	t.Helper()
	total, counted := -1, 0
	var proof media.Proof
	var sums *metric.Values
	seen := map[string]bool{}
	for token := ""; ; count++ {
		p, err := page(token)
		require.NoError(t, err)
		if total >= 0 {
			require.Equal(t, total, p.Total, "every page has the same total")
			require.Equal(t, proof, p.Proof, "every page has the same proof")
		}
		if count > 0 {
			require.Equal(t, sums, p.Sums, "every page has the same sums")
		}
		total, proof, sums = p.Total, p.Proof, p.Sums
		for _, row := range p.Rows {
			key := fmt.Sprint(row.Day, row.Hour, row.Object, " ", row.Account)
			require.False(t, seen[key] && (row.Operation == nil || row.Object != ""), "row %s came twice", key)
			seen[key] = true
			rows = append(rows, row)
		}
		counted += len(p.Rows)
		if p.Counted != nil {
			counted += len(p.Counted) - len(p.Rows)
		}
		if p.Next == "" {
			break
		}
		require.NotEqual(t, token, p.Next, "paging must not lead back to a page")
		token = p.Next
	}
	if proof != media.ByTotal {
		counted = 0
	}
	require.Equal(t, total, counted, "as many rows as the total, which is 0 if there is none")
	requireSums(t, sums, rows)
	return rows, count + 1
}

// requireSums checks that the platform's own sums equal those of all rows.
func requireSums(t *testing.T, sums *metric.Values, rows []media.Row) {
	t.Helper()
	if sums == nil {
		return
	}
	var own metric.Values
	for i := range rows {
		own.Add(&rows[i].Metrics)
	}
	for i, m := range metric.All {
		if want, ok := sums.Get(i); ok {
			got, _ := own.Get(i)
			require.Equal(t, want, got, "the sum of %s", m.Name)
		}
	}
}

func (h *harness) list(t *testing.T, list media.List, account string, since time.Time) (rows []media.Row, count int) {
	t.Helper()
	for _, variant := range variantsOf(list.Variants) {
		q := media.ListQuery{Variant: variant, Since: since, Until: h.transport.Now()}
		got, n := pages(t, func(token string) (media.Page, error) {
			return list.Page(t.Context(), h.api(account), q, token)
		})
		rows, count = append(rows, got...), max(count, n)
	}
	return rows, count
}

func (h *harness) report(t *testing.T, report media.Report, account string, from, to day.Day) (rows []media.Row,
	count int) {
	t.Helper()
	return h.query(t, report, account, media.ReportQuery{From: from, To: to})
}

func (h *harness) query(t *testing.T, report media.Report, account string, q media.ReportQuery) (rows []media.Row,
	count int) {
	t.Helper()
	api := h.api(account)
	if len(q.Accounts) > 0 {
		api = h.client.For(h.account(0, ""))
	}
	for _, q.Variant = range variantsOf(report.Variants) {
		got, n := pages(t, func(token string) (media.Page, error) {
			page, err := report.Page(t.Context(), api, q, token)
			if err == nil && len(page.Rows) > 0 {
				require.Equal(t, report.HasSums, page.Sums != nil, "%s at level %s has sums, or has none", report.Name,
					report.Level)
				require.True(t, page.Proof == media.ByTotal || report.RowsMax == 0, "only a total shows that there are more rows")
			}
			return page, err
		})
		rows, count = append(rows, got...), max(count, n)
	}
	return rows, count
}

// variantsOf returns the variants of a list or a report: an empty one if it has none.
func variantsOf(variants []string) []string {
	if len(variants) == 0 {
		return []string{""}
	}
	return variants
}

func (h *harness) tested() []string {
	return h.server.Accounts[:min(accountsTested, len(h.server.Accounts))]
}

// metricsOf returns a row's metrics by name.
func metricsOf(row media.Row) map[string]int64 {
	named := map[string]int64{}
	for i, m := range metric.All {
		if value, set := row.Metrics.Get(i); set {
			named[m.Name] = value
		}
	}
	return named
}

// tokens refreshes tokens as a keeper does, without a table.
type tokens struct {
	h       *harness
	login   token.Login
	refresh secret.Text
	renewed atomic.Int32
	refused atomic.Int32
}

func (k *tokens) Login(context.Context, int64) (token.Login, error) { return k.login, nil }

func (k *tokens) Renew(ctx context.Context, _, _ int64, _ *media.Error) (token.Login, error) {
	k.renewed.Add(1)
	ctx = media.WithLogin(ctx, k.h.server.Login)
	next, err := k.h.platform.Refresh(ctx, k.h.transport, k.h.server.App, k.refresh.Reveal())
	if err != nil {
		return token.Login{}, err
	}
	k.login.Access, k.login.Generation = next.Access, k.login.Generation+1
	if !next.Refresh.IsZero() {
		k.refresh = next.Refresh
	}
	return k.login, nil
}

func (k *tokens) Refused(int64, int64, *media.Error) { k.refused.Add(1) }

func (k *tokens) App(context.Context, string) (media.App, error) { return k.h.server.App, nil }

// waiter grants at once and records the pauses.
type waiter struct{ pauses []grant.Call }

func (*waiter) Wait(context.Context, grant.Call) (g ratelimit.Grant, err error) { return g, nil }

func (*waiter) Settle(grant.Call, ratelimit.Grant, int) {}

func (w *waiter) Pause(_ context.Context, call grant.Call, _ grant.Scope, _ time.Duration) error {
	w.pauses = append(w.pauses, call)
	return nil
}

func (*waiter) Used(context.Context, grant.Call, grant.Scope, []ratelimit.Usage) error {
	return nil
}

// sortRows sorts rows by day, hour and object.
func sortRows(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		switch {
		case a.Day != b.Day:
			return compare(string(a.Day), string(b.Day))
		case a.Hour != b.Hour:
			return a.Hour - b.Hour
		default:
			return compare(a.Object, b.Object)
		}
	})
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}
