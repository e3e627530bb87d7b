package mediatest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/media"
)

func testAccounts(t *testing.T, h *harness) {
	t.Helper()
	var found []string
	err := h.platform.Accounts(t.Context(), h.client.ForLogin(1), "", func(page []media.FoundAccount) error {
		for _, a := range page {
			found = append(found, a.ExternalID)
			require.NotEmpty(t, a.Name)
			zone, err := time.LoadLocation(a.Timezone)
			require.NoError(t, err)
			require.Equal(t, h.server.Zone.String(), zone.String())
			require.Len(t, a.Currency, 3)
			require.Len(t, a.Raw, len(h.platform.AccountTable().Columns))
			require.True(t, json.Valid(a.JSON))
		}
		return nil
	})
	require.NoError(t, err)
	require.ElementsMatch(t, h.server.Accounts, found)
}

func testLists(t *testing.T, h *harness) {
	t.Helper()
	several := false
	for _, list := range h.platform.Lists() {
		if list.Parent != "" {
			require.Contains(t, list.Table.Columns, rawtable.Column{Name: list.Parent, Kind: rawtable.Text},
				"%s names its parent", list.Name)
		}
		for _, account := range h.tested() {
			rows, count := h.list(t, list, account, time.Time{})
			several = several || count > 1
			got := make([]Object, len(rows))
			for i, row := range rows {
				got[i] = Object{ID: row.Object, Name: row.Name, Modified: row.Modified, Deleted: row.Deleted}
				require.Len(t, row.Raw, len(list.Table.Columns))
				requireIDs(t, row)
			}
			want := h.server.Objects(t, list.Name, account)
			if list.NoSince {
				untime(want, got)
			}
			require.ElementsMatch(t, want, got, "%s of account %s", list.Name, account)
		}
	}
	require.True(t, several, "a list took several pages")
}

// untime removes the times of change of objects whose rows have none. Only lists that are always read whole may have
// such rows.
func untime(want, got []Object) {
	for i := range want {
		if slices.ContainsFunc(got, func(o Object) bool { return o.ID == want[i].ID && o.Modified.IsZero() }) {
			want[i].Modified = time.Time{}
		}
	}
}

// requireIDs checks that an object's ids are in the platform's row with all their digits.
func requireIDs(t *testing.T, row media.Row) {
	t.Helper()
	for id := range strings.SplitSeq(row.Object, ":") {
		require.Contains(t, string(row.JSON), id)
	}
}

func testChanges(t *testing.T, h *harness) {
	t.Helper()
	for _, list := range h.platform.Lists() {
		if list.NoSince {
			continue
		}
		for _, account := range h.tested() {
			truth := h.server.Objects(t, list.Name, account)
			if len(truth) < 2 {
				continue
			}
			slices.SortFunc(truth, func(a, b Object) int { return a.Modified.Compare(b.Modified) })
			since := truth[len(truth)/2].Modified
			if list.SinceZone != nil {
				since = day.Of(since, list.SinceZone).Start(list.SinceZone)
			}
			var want, got []string
			for _, o := range truth {
				if !o.Modified.Before(since) {
					want = append(want, o.ID)
				}
			}
			rows, _ := h.list(t, list, account, since)
			for _, row := range rows {
				got = append(got, row.Object)
			}
			require.Subset(t, got, want, "%s of account %s since %s", list.Name, account, since)
		}
	}
}

func testReports(t *testing.T, h *harness) {
	t.Helper()
	several, nonzero := false, 0
	for _, report := range h.platform.Reports() {
		// The past days in one query, and today in its own.
		span := min(report.MaxDays, 4)
		if report.Hourly {
			span = 1 // a large account has thousands of rows a day
		}
		yesterday := h.server.Today.Add(-1)
		for _, account := range h.tested() {
			rows, count := h.report(t, report, account, h.server.Today.Add(-span), yesterday)
			today, _ := h.report(t, report, account, h.server.Today, h.server.Today)
			rows = append(rows, today...)
			several = several || count > 1
			got := make([]Row, len(rows))
			for i, row := range rows {
				got[i] = Row{Day: row.Day, Hour: row.Hour, Object: row.Object, Metrics: metricsOf(row)}
				require.Len(t, row.Raw, len(report.Table.Columns))
				requireIDs(t, row)
				requireValues(t, report, row)
				if got[i].Metrics["cost"] > 0 {
					nonzero++
				}
			}
			want := h.server.Rows(t, report.Name, report.Level, account, h.server.Today.Add(-span), h.server.Today)
			sortRows(got)
			sortRows(want)
			require.Equal(t, want, got, "%s of account %s at level %s", report.Name, account, report.Level)
		}
	}
	require.Positive(t, nonzero, "rows with spend were compared")
	t.Logf("a report took several pages: %v", several)
}

// testHours requests yesterday from an hour on. The rows must equal those of the whole day.
func testHours(t *testing.T, h *harness) {
	t.Helper()
	yesterday := h.server.Today.Add(-1)
	for _, report := range h.platform.Reports() {
		if !report.HasHours {
			continue
		}
		require.True(t, report.Hourly, "%s at level %s", report.Name, report.Level)
		before, after := 0, 0
		for _, account := range h.tested() {
			day, _ := h.report(t, report, account, yesterday, yesterday)
			late := slices.DeleteFunc(slices.Clone(day), func(r media.Row) bool { return r.Hour < 15 })
			rows, _ := h.query(t, report, account, media.ReportQuery{From: yesterday, To: yesterday, FromHour: 15})
			require.Equal(t, late, rows, "%s of account %s at level %s", report.Name, account, report.Level)
			before, after = before+len(day)-len(late), after+len(late)
		}
		require.Positive(t, before, "rows were left out")
		require.Positive(t, after)
	}
}

// testJoint requests the rows of several accounts in one query. Each account's rows must equal those of its own query.
func testJoint(t *testing.T, h *harness) {
	t.Helper()
	to := h.server.Today.Add(-1)
	for _, report := range h.platform.Reports() {
		if report.AccountsMax < 2 {
			continue
		}
		from := to.Add(1 - min(report.MaxDays, 2))
		q := media.ReportQuery{From: from, To: to, Accounts: h.accounts(report.AccountsMax)}
		rows, _ := h.query(t, report, "", q)
		all := map[string][]media.Row{}
		for _, row := range rows {
			account := row.Account
			row.Account = ""
			all[account] = append(all[account], row)
		}
		require.Greater(t, len(all), 1, "several accounts have rows")
		for _, account := range q.Accounts {
			own, _ := h.report(t, report, account.ExternalID, from, to)
			require.ElementsMatch(t, own, all[account.ExternalID], "%s of account %s at level %s", report.Name,
				account.ExternalID, report.Level)
			delete(all, account.ExternalID)
		}
		require.Empty(t, all, "rows of other accounts")
	}
}

// testProbe asks for several accounts in one call.
func testProbe(t *testing.T, h *harness) {
	t.Helper()
	prober, ok := h.platform.(media.Prober)
	if !ok {
		return
	}
	accounts, today := h.accounts(prober.ProbeMax()), h.server.Today
	got, err := prober.Probe(t.Context(), h.client.ForLogin(1), accounts, today.Hour(0, h.server.Zone))
	require.NoError(t, err)
	for _, a := range accounts {
		want := slices.ContainsFunc(h.server.Rows(t, "report_daily", "account", a.ExternalID, today, today),
			func(r Row) bool { return r.Metrics["cost"] > 0 || r.Metrics["impressions"] > 0 })
		require.Equal(t, want, got[a.ID], "account %s", a.ExternalID)
	}
}

// requireValues checks that a row's figures can be read from its JSON, and that its keys are those that the report
// names.
func requireValues(t *testing.T, report media.Report, row media.Row) {
	t.Helper()
	fields, err := report.Values(row.JSON)
	require.NoError(t, err)
	raw, metrics, bad := report.Figures.Read(fields)
	require.Empty(t, bad)
	require.Equal(t, row.Raw, raw)
	require.Equal(t, row.Metrics, metrics)
	text := string(row.JSON)
	for _, key := range report.Keys {
		if !strings.Contains(text, `"`+key+`"`) {
			require.Failf(t, "a key is missing", "%s in %s", key, text)
		}
	}
}

func testUnknownFields(t *testing.T, h *harness) {
	t.Helper()
	list, report := h.platform.Lists()[0], h.platform.Reports()[1]
	account := h.tested()[0]
	objects, _ := h.list(t, list, account, time.Time{})
	from, to := h.server.Today.Add(-min(report.MaxDays, 2)), h.server.Today.Add(-1)
	rows, _ := h.report(t, report, account, from, to)
	funds := h.platform.Funds()
	var balance, flow []media.Row
	if funds.Balance.Fetch != nil {
		balance = h.balance(t, account)
	}
	if funds.Daily.Page != nil {
		flow, _ = h.flow(t, account, h.server.Today.Add(-2), h.server.Today.Add(-1))
	}
	h.connect(t, altering(addFields))
	if funds.Balance.Fetch != nil {
		require.Equal(t, withoutJSON(balance), withoutJSON(h.balance(t, account)))
	}
	if funds.Daily.Page != nil {
		flowAgain, _ := h.flow(t, account, h.server.Today.Add(-2), h.server.Today.Add(-1))
		require.Equal(t, withoutJSON(flow), withoutJSON(flowAgain))
	}
	objectsAgain, _ := h.list(t, list, account, time.Time{})
	rowsAgain, _ := h.report(t, report, account, from, to)
	require.NotEmpty(t, objects)
	require.Equal(t, withoutJSON(objects), withoutJSON(objectsAgain))
	require.Equal(t, withoutJSON(rows), withoutJSON(rowsAgain))
	require.Contains(t, string(objectsAgain[0].JSON), addedField, "the whole row is kept")
}

func withoutJSON(rows []media.Row) []media.Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].JSON = nil
	}
	return rows
}
