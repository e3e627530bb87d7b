// Package mediatest holds what every platform's package must prove against a server that speaks the platform's wire
// format: that units, ids, days and hours are right, that paging brings the whole, that errors are classified, and
// that no secret shows in them.
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

// Server is a server that speaks a platform's wire format, and what it knows to be true.
type Server struct {
	BaseURL string
	App     media.App
	Access  secret.Text
	Refresh secret.Text
	// Accounts are what the login reaches, the largest first. The first must need several pages of a list.
	Accounts []string
	Zone     *time.Location
	Today    day.Day

	// Objects returns the objects of an account's list, deleted ones too.
	Objects func(t *testing.T, list, account string) []Object
	// Rows returns the rows of an account's report.
	Rows func(t *testing.T, report, level, account string, from, to day.Day) []Row

	// Balance returns what an account has, as account_balance must hold it.
	Balance func(t *testing.T, account string) []fund.Row
	// Flow returns the cash flow of an account's told days, as fund_daily must hold it.
	Flow func(t *testing.T, account string, from, to day.Day) []Flow

	// Expire ends the life of the access token.
	Expire func(t *testing.T)
	// OverLimit makes the next call be refused for a limit.
	OverLimit func(t *testing.T)
	// Fail makes the next calls be answered with HTTP 503.
	Fail func(t *testing.T, calls int)
	// Cut makes the next calls break off in the middle of the answer.
	Cut func(t *testing.T, calls int)
}

// Object is a configuration object as it truly is.
type Object struct {
	ID       string
	Name     string
	Modified time.Time
	Deleted  bool
}

// Row is a report's row as it truly is. Metrics has what the platform reports, in millionths where it is money.
type Row struct {
	Day     day.Day
	Hour    int
	Object  string
	Metrics map[string]int64
}

// accountsTested is how many accounts are compared in full: the largest, and others of all sizes.
const accountsTested = 6

// Run tests a platform against a fresh server for each test.
func Run(t *testing.T, platform media.Platform, newServer func(t *testing.T) *Server) {
	t.Helper()
	tests := map[string]func(t *testing.T, h *harness){
		"the accounts of a login are all found":               testAccounts,
		"lists equal the truth, over all their pages":         testLists,
		"a list of changes has what changed":                  testChanges,
		"reports equal the truth, over all their pages":       testReports,
		"a report begins at an hour where it can":             testHours,
		"balances equal the truth":                            testBalances,
		"daily cash flows equal the truth":                    testFlows,
		"fields that nobody knows change nothing":             testUnknownFields,
		"a value that cannot be used costs its row at most":   testUnusable,
		"rows that have nothing are lost, and count":          testEmptyRows,
		"an expired token is refreshed and the call repeated": testExpired,
		"a refused refresh token is of class auth":            testRefreshRefused,
		"an over-limit answer pauses and costs no attempt":    testOverLimit,
		"a failing server is transient":                       testFailing,
		"an answer cut off is tried again":                    testCut,
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

// harness is a client without limits on a server.
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
	h.tokens = &tokens{h: h, login: token.Login{ID: 1, App: media.App{ID: h.server.App.ID}, Access: h.server.Access,
		Generation: 1}, refresh: h.server.Refresh}
	h.client = client.New(client.Options{
		Platform: h.platform, Transport: h.transport, Waiter: h.waiter, Tokens: h.tokens,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
}

func (h *harness) api(account string) media.CountingAPI {
	return h.client.For(media.Account{ID: 1, Media: h.platform.Name(), ExternalID: account, TokenID: 1,
		Zone: h.server.Zone, Currency: "CNY"})
}

// pages fetches all pages and checks what every platform owes: one total, distinct keys, as many rows as the total.
func pages(t *testing.T, page func(token string) (media.Page, error)) (rows []media.Row, count int) {
	t.Helper()
	total, counted := -1, 0
	var sums *metric.Values
	seen := map[string]bool{}
	for token := ""; ; count++ {
		p, err := page(token)
		require.NoError(t, err)
		if total >= 0 {
			require.Equal(t, total, p.Total, "every page tells the same total")
		}
		if count > 0 {
			require.Equal(t, sums, p.Sums, "every page tells the same sums")
		}
		total, sums = p.Total, p.Sums
		for _, row := range p.Rows {
			key := fmt.Sprint(row.Day, row.Hour, row.Object)
			require.False(t, seen[key], "row %s came twice", key)
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
		require.NotEqual(t, token, p.Next, "paging goes in circles")
		token = p.Next
	}
	require.Equal(t, total, counted, "as many rows as the total")
	requireSums(t, sums, rows)
	return rows, count + 1
}

// requireSums wants the platform's own sums to be those of all the rows.
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
		if want, told := sums.Get(i); told {
			got, _ := own.Get(i)
			require.Equal(t, want, got, "the sum of %s", m.Name)
		}
	}
}

func (h *harness) list(t *testing.T, list media.List, account string, since time.Time) (rows []media.Row, count int) {
	t.Helper()
	variants := list.Variants
	if len(variants) == 0 {
		variants = []string{""}
	}
	for _, variant := range variants {
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
	return pages(t, func(token string) (media.Page, error) {
		page, err := report.Page(t.Context(), h.api(account), q, token)
		if err == nil && len(page.Rows) > 0 {
			require.Equal(t, report.HasSums, page.Sums != nil, "%s at level %s has sums, or has none", report.Name, report.Level)
		}
		return page, err
	})
}

func (h *harness) tested() []string {
	return h.server.Accounts[:min(accountsTested, len(h.server.Accounts))]
}

// metricsOf names a row's metrics, for comparing.
func metricsOf(row media.Row) map[string]int64 {
	named := map[string]int64{}
	for i, m := range metric.All {
		if value, set := row.Metrics.Get(i); set {
			named[m.Name] = value
		}
	}
	return named
}

// tokens refreshes as a keeper does, without a table.
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

// waiter grants at once and remembers the pauses.
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

// sortRows puts rows in the order of day, hour and object.
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
