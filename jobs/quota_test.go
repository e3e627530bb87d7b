package jobs

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/jobstore"
	"adsync/base/store/storetest"
)

func (r *rig) setQuota(body string) {
	r.t.Helper()
	require.Equal(r.t, http.StatusNoContent, r.sendTo(r.admin, "PUT", "/namespace/shop/quota", body).status)
	r.lookNow()
}

func TestQuota_OfJobs(t *testing.T) {
	r := newRig(t, nil)
	r.publish("/api/shop/before", "x")
	r.setQuota(`{"jobs":4}`)
	id := r.publish("/api/shop/q", "x")
	require.Equal(t, http.StatusTooManyRequests, r.send("PUT", "/api/shop/q/bulk", "[1,2,3]").status)
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q/bulk", "[1,2]").status)
	a := r.send("PUT", "/api/shop/q", "x")
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Equal(t, "the quota of the namespace is 4 jobs, and it has 4", a.json(t)["error"])
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q/job/"+id, "x").status, "as many as before")

	require.Equal(t, http.StatusOK, r.send("GET", "/api/shop/before?ttr=1", "").status)
	r.clock.add(2 * time.Second)
	r.lookNow()
	require.Equal(t, http.StatusTooManyRequests, r.send("PUT", "/api/shop/q", "x").status, "a dead letter counts")
	require.Equal(t, http.StatusNoContent, r.send("DELETE", "/api/shop/before/deadletter", "").status)
	r.clock.add(2 * time.Second)
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q", "x").status, "it was counted again")

	require.JSONEq(t, `{"namespace":"shop","quota":{"jobs":4,"bytes":0,"rate":null},"jobs":4,"bytes":4}`,
		r.sendTo(r.admin, "GET", "/namespace/shop/quota", "").body)
	require.Equal(t, http.StatusNoContent, r.sendTo(r.admin, "DELETE", "/namespace/shop/quota", "").status)
	r.lookNow()
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q", "x").status)
	require.Equal(t, http.StatusNotFound, r.sendTo(r.admin, "GET", "/namespace/shop/quota", "").status)
}

func TestQuota_OfBytesAndOfTheRate(t *testing.T) {
	r := newRig(t, nil)
	r.setQuota(`{"bytes":10}`)
	r.publish("/api/shop/q", "12345678")
	a := r.send("PUT", "/api/shop/q", "123")
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Equal(t, "the quota of the namespace is 10 bytes, and it has 8", a.json(t)["error"])
	r.publish("/api/shop/q", "12")

	r.setQuota(`{"rate":{"jobs":3,"seconds":3600}}`)
	r.publish("/api/shop/q", "a long body without a limit")
	require.Equal(t, http.StatusTooManyRequests, r.send("PUT", "/api/shop/q/bulk", "[1,2,3]").status)
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q/bulk", "[1,2]").status,
		"what is refused does not count")
	a = r.send("PUT", "/api/shop/q", "x")
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Equal(t, "the namespace may publish 3 jobs in 3600 s, please retry later", a.json(t)["error"])
	for body, reason := range map[string]string{
		`{}`:                  "invalid quota: want jobs, bytes or rate",
		`{"jobs":-1}`:         "invalid quota: jobs and bytes must be 0 (any number) to 1125899906842624",
		`{"rate":{"jobs":1}}`: "invalid quota: rate: seconds must be 1 to 86400",
		`x`:                   "the body is not a quota: want jobs, bytes and rate as JSON",
	} {
		a := r.sendTo(r.admin, "PUT", "/namespace/shop/quota", body)
		require.Equal(t, http.StatusBadRequest, a.status)
		require.Equal(t, reason, a.json(t)["error"])
	}
}

func TestAudit_NamesWhoChangedWhat(t *testing.T) {
	r := newRig(t, func(c *Config) { c.AdminPassword = secretText })
	admin := basicAuth("admin", secretText.Reveal())
	made := r.sendTo(r.admin, "POST", "/token/shop?description=x&roles=consume", "", admin).json(t)["token"].(string)
	r.sendTo(r.admin, "PUT", "/token/shop/"+made+"/limit", `{"read":1,"write":0,"interval":9}`, admin)
	r.sendTo(r.admin, "DELETE", "/token/shop/"+made+"/limit", "", admin)
	r.sendTo(r.admin, "DELETE", "/token/shop/"+made, "", admin)
	r.sendTo(r.admin, "PUT", "/namespace/shop/quota", `{"jobs":9}`, admin)
	r.send("POST", "/api/shop/q/pause", "")
	r.send("POST", "/api/shop/q/resume", "")
	r.send("PUT", "/api/shop/q/settings", `{"concurrency":2}`)
	r.send("DELETE", "/api/shop/q", "")
	r.send("PUT", "/api/shop/q/deadletter", "")
	r.send("DELETE", "/api/shop/q/deadletter", "")
	ours := token[:12] + "…"
	var want []string
	for _, line := range []string{
		"admin|token added|" + made[:12] + `…|["consume"]`,
		"admin|limit of a token|" + made[:12] + `…|{"read":1,"write":0,"interval":9}`,
		"admin|limit of a token removed|" + made[:12] + "…|", "admin|token withdrawn|" + made[:12] + "…|",
		`admin|quota||{"jobs":9,"bytes":0,"rate":null}`, ours + "|queue paused|q|", ours + "|queue resumed|q|",
		ours + `|settings of a queue|q|{"concurrency":2}`, ours + "|ready jobs deleted|q|",
		ours + `|dead letters respawned|q|{"count":0,"error":"","limit":1}`,
		ours + `|dead letters deleted|q|{"count":0,"error":"","limit":1}`,
	} {
		want = append([]string{line}, want...)
	}
	require.Equal(t, http.StatusUnauthorized, r.sendTo(r.admin, "GET", "/audit", "").status)
	list := func(query string) (lines []string, last string) {
		a := r.sendTo(r.admin, "GET", "/audit"+query, "", admin)
		require.NotContains(t, a.body, made)
		for _, c := range a.json(t)["changes"].([]any) {
			m := c.(map[string]any)
			lines = append(lines, fmt.Sprintf("%s|%s|%s|%s", m["actor"], m["action"], m["target"], m["detail"]))
			last = fmt.Sprint(m["id"])
		}
		return lines, last
	}
	all, _ := list("?namespace=shop")
	require.Equal(t, want, all)
	page, last := list("?limit=2")
	require.Equal(t, want[:2], page)
	page, _ = list("?limit=2&before=" + last)
	require.Equal(t, want[2:4], page)
	none, _ := list("?namespace=bank")
	require.Empty(t, none)
	require.Equal(t, http.StatusBadRequest, r.sendTo(r.admin, "GET", "/audit?before=x", "", admin).status)
}

func TestAudit_NothingChangesWithoutAnEntry(t *testing.T) {
	r := newRig(t, nil)
	blank, err := jobstore.Open(t.Context(), storetest.Config(t).Data, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, blank.Close()) }()
	r.queues().store.Audit = blank.Audit
	r.send("PUT", "/api/shop/q", "x")
	require.Equal(t, http.StatusInternalServerError, r.send("POST", "/api/shop/q/pause", "").status)
	require.Equal(t, http.StatusInternalServerError, r.send("DELETE", "/api/shop/q", "").status)
	require.Equal(t, http.StatusInternalServerError, r.send("PUT", "/api/shop/q/settings", `{"concurrency":2}`).status)
	require.JSONEq(t, `{}`, r.send("GET", "/api/shop/q/settings", "").body)
	require.Equal(t, http.StatusOK, r.send("GET", "/api/shop/q", "").status, "the job is there, and can be claimed")
	require.Equal(t, http.StatusInternalServerError,
		r.sendTo(r.admin, "PUT", "/namespace/shop/quota", `{"jobs":9}`).status)
	require.Equal(t, http.StatusNotFound, r.sendTo(r.admin, "GET", "/namespace/shop/quota", "").status)
}

func TestAudit_ShowsHowAChangeEnded(t *testing.T) {
	r := newRig(t, nil)
	last := func() jobstore.Change {
		all, err := r.queues().store.Changes(t.Context(), "shop", 0, 1)
		require.NoError(t, err)
		return all[0]
	}
	require.Equal(t, http.StatusNoContent, r.sendTo(r.admin, "PUT", "/namespace/shop/quota", `{"jobs":9}`).status)
	require.Equal(t, jobstore.ChangeDone, last().State)
	require.Empty(t, last().Failure)
	limit := r.sendTo(r.admin, "POST", "/token/shop/unknown-token-0001/limit", `{"read":1,"write":0,"interval":9}`)
	require.Equal(t, http.StatusNotFound, limit.status)
	require.Equal(t, jobstore.ChangeFailed, last().State)
	require.Equal(t, "token not found", last().Failure)

	blank, err := jobstore.Open(t.Context(), storetest.Config(t).Data, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, blank.Close()) }()
	r.queues().store.Quotas = blank.Quotas
	quota := r.sendTo(r.admin, "PUT", "/namespace/shop/quota", `{"jobs":8}`)
	require.Equal(t, http.StatusInternalServerError, quota.status)
	require.Equal(t, jobstore.ChangeFailed, last().State)
	require.Equal(t, "it failed, or its outcome is unknown: see request "+quota.header.Get(requestHeader)+" in the log",
		last().Failure)
	require.JSONEq(t, `{"jobs":8,"bytes":0,"rate":null}`, last().Detail)
}
