package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/client"
)

const (
	subscriptionsPath = "/api/v1/subscriptions"
	spendPath         = subscriptionsPath + "/spend"
	spendQuery        = "SELECT day, game, media, os, currency, day_zone, cost FROM summary_daily WHERE day = :day " +
		"ORDER BY day, game, media, os, currency, day_zone"
	aSubscription = `{"query": "` + spendQuery + `", "format": {"format": "csv"}, "path": "{subscription}/{day}{ext}",
  "destination": "depot", "cron": "30 9 * * *", "timezone": "Asia/Shanghai"}`
)

// withSpend returns a bench with the destination depot and the subscription spend.
func withSpend(t *testing.T) *bench {
	t.Helper()
	b := setup(t)
	b.put(depotPath, fmt.Sprintf(`{"kind": "dir", "address": %q}`, t.TempDir()))
	b.put(spendPath, aSubscription)
	return b
}

// edit changes rows of the config database as a person with SQL does.
func (b *bench) edit(statement string, args ...any) {
	b.t.Helper()
	require.NoError(b.t, b.store.Config.Writer(b.t.Context()).Exec(statement, args...).Error)
}

func TestSubscription_IsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	want := client.Subscription{
		Name: "spend", Query: spendQuery, Format: map[string]any{"format": "csv"}, Path: "{subscription}/{day}{ext}",
		Destination: "depot", Cron: "30 9 * * *", Timezone: "Asia/Shanghai", Period: "day", OnEmpty: "send",
		OnExists: "replace", Verify: "readback", Manifest: true, Enabled: true, Since: now,
	}
	require.Equal(t, want, answerOf[client.Subscription](b, http.MethodGet, spendPath, ""))
	require.Equal(t, client.SubscriptionList{Subscriptions: []client.Subscription{want}},
		answerOf[client.SubscriptionList](b, http.MethodGet, subscriptionsPath, ""))

	changed := answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"format": {"format": "csv", "gzip": true},
	  "scope": {"games": ["chess"]}, "completeness": {"when": "complete", "latest_minutes": 60},
	  "corrections": {"every_minutes": 60, "days": 7}, "lane": "large_files", "manifest": false, "rows_max": 5,
	  "customer": "acme", "owner": "ada"}`)
	want.Format, want.Scope.Games = map[string]any{"format": "csv", "gzip": true}, []string{"chess"}
	want.Completeness = client.Completeness{When: "complete", LatestMinutes: 60}
	want.Corrections = client.Corrections{EveryMinutes: 60, Days: 7}
	want.Lane, want.Manifest, want.RowsMax, want.Customer, want.Owner = "large_files", false, 5, "acme", "ada"
	require.Equal(t, want, changed, "a field that is left out stays")
	cleared := answerOf[client.Subscription](b, http.MethodPut, spendPath,
		`{"scope": {}, "completeness": {}, "corrections": {}, "lane": ""}`)
	want.Scope, want.Completeness, want.Corrections = client.SubscriptionScope{}, client.Completeness{},
		client.Corrections{}
	want.Lane = ""
	require.Equal(t, want, cleared)

	require.Equal(t, want, answerOf[client.Subscription](b, http.MethodDelete, spendPath, ""))
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, spendPath, "", viewerToken).Code)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodDelete, spendPath, "", adminToken).Code)
	audit := b.auditText()
	require.Len(t, audit, 5)
	require.Contains(t, audit[1], `ada subscription.put subscription/spend  > {"source":`)
	require.Contains(t, audit[2], `"completeness":"{\"when\":\"complete\",\"latest_minutes\":60}"`)
	require.Contains(t, audit[2], `"corrections":"{\"every_minutes\":60,\"days\":7}"`)
	require.Contains(t, audit[4], "ada subscription.delete subscription/spend {")
}

func TestSubscription_ItsWebhookIsSignedByASecretThatNobodySees(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	const address, plain = "https://reports.example.com/adsync", "0123456789abcdef-hush"
	require.Equal(t, "webhook_secret", b.refused(http.MethodPut, spendPath, `{"webhook": "`+address+`"}`)[0].Field)
	require.Equal(t, "webhook", b.refused(http.MethodPut, spendPath,
		`{"webhook": "http://reports.example.com/", "webhook_secret": "`+plain+`"}`)[0].Field)
	refused := b.refused(http.MethodPut, spendPath, `{"webhook_secret": "hush"}`)
	require.Equal(t, "webhook_secret", refused[0].Field)
	require.NotContains(t, refused[0].Detail, "hush")

	shown := answerOf[client.Subscription](b, http.MethodPut, spendPath,
		`{"webhook": "`+address+`", "webhook_secret": "`+plain+`"}`)
	require.Equal(t, address, shown.Webhook)
	require.True(t, shown.HasWebhookSecret)
	require.Empty(t, shown.Error)
	row, err := b.store.Subscription(t.Context(), "spend")
	require.NoError(t, err)
	require.NotEmpty(t, row.WebhookSecret)
	require.NotContains(t, row.WebhookSecret, "hush")
	require.NotContains(t, b.call(http.MethodGet, spendPath, "", viewerToken).Body.String(), row.WebhookSecret)
	audit := b.auditText()
	last := audit[len(audit)-1]
	require.Contains(t, last, `"webhook_secret":"sealed"`)
	require.NotContains(t, last, "hush")
	require.NotContains(t, last, row.WebhookSecret)

	require.True(t, answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"owner": "ada"}`).HasWebhookSecret)
	off := answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"webhook": "", "webhook_secret": ""}`)
	require.Empty(t, off.Webhook)
	require.False(t, off.HasWebhookSecret)
}

func TestSubscription_AnApplicationFollowsIt(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	require.Equal(t, "application", b.refused(http.MethodPut, spendPath, `{"application": "No name"}`)[0].Field)
	shown := answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"application": "shop"}`)
	require.Equal(t, "shop", shown.Application)
	audit := b.auditText()
	require.Contains(t, audit[len(audit)-1], `{"application":""} > {"application":"shop"}`)
	require.Equal(t, "shop", answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"owner": "ada"}`).Application)
	require.Empty(t, answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"application": ""}`).Application)
}

func TestSubscription_ARefusalNamesEachWrongField(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	before := b.auditText()
	path := subscriptionsPath + "/other"
	for _, test := range []struct{ path, body, fields string }{
		{path, `{}`, "destination cron format.format query path"},
		{path, `{"destination": "none", "lane": "normal2"}`, "destination lane"},
		{path, `{"path": "spend/{day}{ext}"}`, "path"},
		{path, `{"path": "{day}{extension}"}`, "path"},
		{path, `{"cron": "every day"}`, "cron"},
		{path, `{"timezone": "Mars"}`, "timezone"},
		{path, `{"period": "year"}`, "period"},
		{path, `{"query": "SELECT secret FROM media_app"}`, "query"},
		{path, `{"query": "DELETE FROM summary_daily"}`, "query"},
		{path, `{"format": {"format": "csv", "delimiter": "ab"}}`, "format.delimiter"},
		{path, `{"format": {"format": "xlsx", "gzip": true}}`, "format.gzip"},
		{path, `{"scope": {"games": ["a", "b"]}, "path": "{game}/{day}{ext}"}`, "scope.games"},
		{path, `{"path": "{customer}/{day}{ext}"}`, "customer"},
		{path, `{"completeness": {"when": "later"}}`, "completeness.when"},
		{path, `{"corrections": {"every_minutes": 1}}`, "corrections.every_minutes corrections.days"},
		{path, `{"corrections": {"every_minutes": 60, "days": 7}, "on_exists": "refuse"}`, "path"},
		{subscriptionsPath + "/Other", `{}`, "name"},
	} {
		body := test.body
		if body != "{}" {
			body = with(`{"path": "other/{day}{ext}"}`, body)
		}
		var fields []string
		for _, e := range b.refused(http.MethodPut, test.path, body) {
			fields = append(fields, e.Field)
			require.Contains(t, e.Detail, "want ", test.body)
		}
		require.Equal(t, strings.Fields(test.fields), fields, test.body)
	}
	require.Equal(t, before, b.auditText())
}

func TestSubscription_ReadsFilesInsteadOfAQuery(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	const lakePath = destinationsPath + "/lake"
	b.put(lakePath, `{"kind": "dir", "address": "/srv/lake"}`)
	want := answerOf[client.Subscription](b, http.MethodGet, spendPath, "")
	want.Query, want.Files = "", &client.SubscriptionFiles{Destination: "lake", Path: "sales/{day}/*", Done: "_SUCCESS",
		Columns: []client.SubscriptionColumn{{Name: "amount", As: "spend"}, {Name: "game"}}}
	got := answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"files": {"destination": "lake",
	  "path": "sales/{day}/*", "done": "_SUCCESS", "columns": [{"name": "amount", "as": "spend"}, {"name": "game"}]}}`)
	require.Equal(t, want, got)
	shown := map[string]any{}
	mustUnmarshal(mustMarshal(got), &shown)
	for _, field := range []string{"name", "since", "error", "has_webhook_secret"} {
		delete(shown, field)
	}
	require.Equal(t, want, answerOf[client.Subscription](b, http.MethodPut, spendPath, mustMarshal(shown)),
		"what is shown can be sent again")
	require.Equal(t, want, answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"owner": ""}`), "the files stay")

	b.put(destinationsPath+"/ftp", `{"kind": "ftp", "address": "h:21", "login": "u", "password": "hush-hush"}`)
	for _, test := range []struct{ body, fields string }{
		{`{"query": "SELECT 1", "files": {"destination": "lake", "path": "a"}}`, "files"},
		{`{"files": {"destination": "nowhere", "path": "a"}}`, "files.destination"},
		{`{"files": {"destination": "ftp", "path": "a"}}`, "files.destination"},
		{`{"files": {"destination": "lake", "path": "a*b", "columns": [{"name": ""}]}}`, "files.path files.columns[0].name"},
		{`{"files": {"destination": "lake", "path": "a", "type": "orc"}}`, "files.type"},
		{`{"scope": {"accounts": [7]}}`, "scope"},
		{`{"files": {"destination": "lake", "path": "a"}, "completeness": {"when": "complete"}}`, "completeness.when"},
		{`{"query": ""}`, "query"},
	} {
		var fields []string
		for _, e := range b.refused(http.MethodPut, spendPath, test.body) {
			fields = append(fields, e.Field)
		}
		require.Equal(t, strings.Fields(test.fields), fields, test.body)
	}
	b.put(spendPath, `{"query": "`+spendQuery+`"}`)
	shown = answerOf[map[string]any](b, http.MethodGet, spendPath, "")
	require.Equal(t, spendQuery, shown["query"])
	require.NotContains(t, shown, "files")
}

// with returns aSubscription with the fields of others, which are JSON objects too, in the place of its own.
func with(others ...string) string {
	fields := map[string]any{}
	for _, text := range append([]string{aSubscription}, others...) {
		mustUnmarshal(text, &fields)
	}
	return mustMarshal(fields)
}

// Two subscriptions that write one file would replace each other's.
func TestSubscription_OfAnotherOnesNamesIsRefused(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	path := subscriptionsPath + "/other"
	refused := b.refused(http.MethodPut, path, with(`{"path": "spend/2026-11-{sequence:2}.csv"}`))
	require.Equal(t, []fieldError{{Field: "path", Detail: `"spend/2026-11-{sequence:2}.csv" is refused: want other ` +
		`names than those of the subscription spend at the same destination`}}, refused)
	b.put(destinationsPath+"/annex", `{"kind": "dir", "address": "/srv/annex"}`)
	b.put(path, with(`{"path": "spend/{day}{ext}", "destination": "annex"}`))
}

// A row that was changed by SQL may be one that cannot be used.
func TestSubscription_ThatCannotBeUsedIsShownWithTheReason(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	b.edit("UPDATE subscription SET path = '{nothing}' WHERE name = 'spend'")
	shown := answerOf[client.Subscription](b, http.MethodGet, spendPath, "")
	require.Contains(t, shown.Error, "{nothing} is not a placeholder")
	require.Contains(t, b.conflict(http.MethodPost, spendPath+"/publications",
		`{"from": "2026-11-20", "to": "2026-11-20"}`), "The subscription cannot be used: path:")
}

func TestSubscription_BeginsWhenItIsEnabled(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	b.edit("UPDATE subscription SET since = '2026-01-01 00:00:00.000', enabled = 0 WHERE name = 'spend'")
	off := answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"owner": "ada"}`)
	require.Equal(t, 2026, off.Since.Year())
	require.EqualValues(t, 1, off.Since.Month(), "an edit does not move it")
	require.Equal(t, now, answerOf[client.Subscription](b, http.MethodPut, spendPath, `{"enabled": true}`).Since)
}

func TestOrderPublications_OrdersTheNextRevisionOfEachPeriod(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	const days = `"from": "2026-11-19", "to": "2026-11-25"`
	order := func(body string) client.OrderedPublications {
		return answerOf[client.OrderedPublications](b, http.MethodPost, spendPath+"/publications", body)
	}
	audit := b.auditText()
	planned := order(`{` + days + `, "dry_run": true}`)
	require.False(t, planned.Ordered)
	require.Equal(t, audit, b.auditText())
	require.Zero(t, b.count(b.store.Data, "publication"), "a dry run orders nothing")

	ordered := order(`{` + days + `}`)
	require.True(t, ordered.Ordered)
	require.Equal(t, "ada publications.order subscription/spend  > {\"from\":\"2026-11-19\",\"to\":\"2026-11-25\"}",
		b.auditText()[len(audit)])
	var all []string
	for i, p := range append(ordered.Publications, order(`{"from": "2026-11-20", "to": "2026-11-20"}`).Publications...) {
		all = append(all, fmt.Sprint(p.From, " ", p.To, " ", p.Revision, " ", p.Sequence, " ", p.State, " ", p.Name))
		if i < 2 {
			require.Equal(t, planned.Publications[i].Name, p.Name)
		}
	}
	require.Equal(t, []string{ // 21 November is not over in Shanghai.
		"2026-11-19 2026-11-19 1 1 planned spend/2026-11-19.csv",
		"2026-11-20 2026-11-20 1 2 planned spend/2026-11-20.csv",
		"2026-11-20 2026-11-20 2 2 planned spend/2026-11-20.csv",
	}, all)
	require.Equal(t, 3, b.count(b.store.Data, "publication"))

	for body, field := range map[string]string{
		`{"from": "2026-11-20", "to": "2026-11-19"}`:                  "to",
		`{"from": "2026-11-21", "to": "2026-11-22"}`:                  "to",
		`{"from": "2025-01-01", "to": "2026-11-20"}`:                  "to",
		`{"from": "0001-01-01", "to": "2026-11-20"}`:                  "from",
		`{"from": "9999-12-31", "to": "9999-12-31"}`:                  "to",
		`{"from": "2026-02-30", "to": "2026-11-20"}`:                  "from",
		`{"from": "9999-12-31", "to": "9999-12-31", "dry_run": true}`: "to",
	} {
		refused := b.refused(http.MethodPost, spendPath+"/publications", body)
		require.Len(t, refused, 1, body)
		require.Equal(t, field, refused[0].Field, body)
	}
	require.Equal(t, http.StatusNotFound, b.call(http.MethodPost, subscriptionsPath+"/none/publications",
		`{"from": "2026-11-20", "to": "2026-11-20"}`, adminToken).Code)
}
