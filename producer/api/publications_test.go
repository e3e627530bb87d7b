package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/publishing"
	"adsync/client"
)

const publicationsPath = "/api/v1/publications"

func mustUnmarshal(text string, into any) {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		panic(err)
	}
}

func mustMarshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// file adds a report file and returns its path.
func (b *bench) file(id int64, state publishing.State, change func(p *publishing.Publication)) string {
	b.t.Helper()
	of := day.Day("2026-11-01").Add(int(id))
	p := publishing.Publication{
		ID: id, Subscription: "spend", FromDay: of, ToDay: of, Revision: 1, Sequence: id, Destination: "depot",
		Name: "spend/" + string(of) + ".csv", State: state, PlannedAt: now, UpdatedAt: now,
	}
	if change != nil {
		change(&p)
	}
	added, err := b.store.PlanFiles(b.t.Context(), []publishing.Publication{p})
	require.NoError(b.t, err)
	require.Equal(b.t, 1, added)
	return publicationsPath + "/" + fmt.Sprint(id)
}

func TestPublications_AreListedByFilterAndPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.file(1, publishing.Published, nil)
	b.file(2, publishing.Failed, func(p *publishing.Publication) { p.ErrorText = "no rows" })
	b.file(3, publishing.Planned, func(p *publishing.Publication) { p.Subscription, p.Customer = "other", "acme" })
	b.file(4, publishing.Published, func(p *publishing.Publication) {
		p.FromDay, p.ToDay, p.Destination, p.Name = "2026-11-10", "2026-11-16", "annex", "week.csv"
	})
	ids := func(query string) (all string) {
		for after := ""; ; {
			list := answerOf[client.PublicationList](b, http.MethodGet,
				publicationsPath+"?limit=1&after="+after+"&"+query, "")
			require.LessOrEqual(t, len(list.Publications), 1)
			for i := range list.Publications {
				all += list.Publications[i].ID
			}
			if after = list.Next; after == "" {
				return all
			}
		}
	}
	for query, want := range map[string]string{
		"": "4321", "subscription=spend": "421", "destination=annex": "4", "customer=acme": "3", "state=published": "41",
		"name=" + url.QueryEscape("spend/2026-11-02.csv"): "1", "from=2026-11-16": "4", "to=2026-11-10": "4321",
		"from=2026-11-03&to=2026-11-09": "32", "subscription=none": "",
	} {
		require.Equal(t, want, ids(query), query)
	}
	require.NotEmpty(t, b.refused(http.MethodGet, publicationsPath+"?state=lost", ""))
}

func TestPublication_IsShownWithWhatItLacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows, columns, size := int64(12), 3, int64(800)
	path := b.file(7, publishing.Published, func(p *publishing.Publication) {
		p.RowCount, p.ColumnCount, p.ByteSize, p.SHA256, p.RunID, p.Lane = &rows, &columns, &size, "ab", 99, "files"
		p.Incomplete, p.DueAt, p.PublishedAt = true, now.Add(-time.Hour), now
		p.Missing = `[{"media": "tulip", "account_id": 5, "report": "report_daily", "level": "account", ` +
			`"from": "2026-11-08", "to": "2026-11-08", "why": "never pulled", "parked": true}]`
	})
	want := client.Publication{
		ID: "7", Subscription: "spend", From: "2026-11-08", To: "2026-11-08", Revision: 1, Sequence: 7,
		Destination: "depot", Name: "spend/2026-11-08.csv", State: "published", RunID: "99", Rows: &rows,
		Columns: new(int64(3)), Bytes: &size,
		Sha256: "ab", Incomplete: true, Lane: "files", DueAt: now.Add(-time.Hour), PlannedAt: now, PublishedAt: now,
	}
	require.Equal(t, []client.Publication{want},
		answerOf[client.PublicationList](b, http.MethodGet, publicationsPath, "").Publications)
	want.Missing = []client.MissingFigures{{Media: "tulip", AccountID: 5, Report: "report_daily", Level: "account",
		From: "2026-11-08", To: "2026-11-08", Why: "never pulled", Parked: true}}
	require.Equal(t, want, answerOf[client.Publication](b, http.MethodGet, path, ""))
	for _, id := range []string{"8", "0", "x", "-7"} {
		w := b.call(http.MethodGet, publicationsPath+"/"+id, "", viewerToken)
		require.Equal(t, http.StatusNotFound, w.Code, id)
		require.Contains(t, b.problem(w).Detail, "want the id of one in the list of files")
	}
}

func TestPublication_IsDeliveredAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n, state := range []publishing.State{publishing.Published, publishing.Failed, publishing.Cancelled,
		publishing.Superseded, publishing.Empty} {
		path := b.file(int64(n+1), state, func(p *publishing.Publication) {
			p.RunID, p.ErrorText, p.Token, p.CheckAt, p.RevisitAt = 99, "it failed", "token", now, now
		})
		again := answerOf[client.Publication](b, http.MethodPost, path+"/redeliver", "")
		require.EqualValues(t, publishing.Planned, again.State)
		require.Empty(t, again.RunID, "the next pass orders a run")
		require.Empty(t, again.Error)
		row, err := b.store.File(t.Context(), int64(n+1))
		require.NoError(t, err)
		require.Zero(t, row.RevisitAt)
		require.Equal(t, "It is open: it will be delivered. Cancel it first to make it again.",
			b.conflict(http.MethodPost, path+"/redeliver", ""))
	}
	require.Len(t, b.auditText(), 5, "a conflict changes nothing")
	require.Equal(t, "ada publication.redeliver publication/spend/2026-11-02/r1  >", b.auditText()[0])
}

func TestPublication_IsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n, state := range []publishing.State{publishing.Waiting, publishing.Planned, publishing.Rendered,
		publishing.Uploaded, publishing.Verified, publishing.Visible} {
		path := b.file(int64(n+1), state, nil)
		ended := answerOf[client.Publication](b, http.MethodPost, path+"/cancel", "")
		require.EqualValues(t, publishing.Cancelled, ended.State)
		require.Equal(t, "cancelled by ada", ended.Error)
		require.Equal(t, "It is not open: there is nothing to cancel.", b.conflict(http.MethodPost, path+"/cancel", ""))
	}
	require.Len(t, b.auditText(), 6)
	require.Equal(t, "ada publication.cancel publication/spend/2026-11-02/r1  >", b.auditText()[0])
	require.Contains(t, b.conflict(http.MethodPost, b.file(9, publishing.Published, nil)+"/cancel", ""), "not open")
}
