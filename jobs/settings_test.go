package jobs

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSettings_OfAQueue(t *testing.T) {
	r := newRig(t, nil)
	path := "/api/shop/q/settings"
	require.JSONEq(t, `{}`, r.send("GET", path, "").body)
	all := `{"backoff":{"base":5,"factor":1.5,"cap":60},"rate":{"jobs":10,"seconds":1},"concurrency":3,"keep_dead":600}`
	require.Equal(t, http.StatusNoContent, r.send("PUT", path, all).status)
	require.JSONEq(t, all, r.send("GET", path, "").body)
	for body, reason := range map[string]string{
		`{"concurrency":-1}`:     "invalid settings: concurrency must be 0 (any number) to 1000000",
		`{"backoff":{"base":1}}`: "invalid settings: backoff: factor must be 1 to 10",
		`{"unknown":1}`: "the body is not the settings of a queue: want backoff, rate, concurrency and keep_dead " +
			"as JSON",
		`x`: "the body is not the settings of a queue: want backoff, rate, concurrency and keep_dead as JSON",
	} {
		a := r.send("PUT", path, body)
		require.Equal(t, http.StatusBadRequest, a.status)
		require.Equal(t, reason, a.json(t)["error"])
	}
	require.JSONEq(t, all, r.send("GET", path, "").body)
	require.Equal(t, http.StatusNoContent, r.send("PUT", path, `{}`).status)
	require.JSONEq(t, `{}`, r.send("GET", path, "").body)
}

func TestSettings_ABackoffOfAJob(t *testing.T) {
	r := newRig(t, nil)
	id := r.publish("/api/shop/q?tries=3&backoff=10&backoff_factor=2", "x")
	r.send("GET", "/api/shop/q", "")
	require.Equal(t, http.StatusNoContent, r.send("POST", "/api/shop/q/job/"+id+"/nack?claim=1", "no").status)
	r.clock.add(9 * time.Second)
	r.lookNow()
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	r.clock.add(time.Second)
	r.lookNow()
	require.Equal(t, "x", data(t, r.send("GET", "/api/shop/q", "")))
	require.Equal(t, http.StatusNoContent, r.send("POST", "/api/shop/q/job/"+id+"/nack?claim=2&delay=0", "no").status)
	r.lookNow()
	require.Equal(t, "x", data(t, r.send("GET", "/api/shop/q", "")), "a delay of the nack is used instead")
	for _, query := range []string{"backoff=", "backoff=x", "backoff=-1", "backoff=1&backoff_factor=0",
		"backoff=5&backoff_cap=4", "dedupe=" + strings.Repeat("k", 256), "dedupe=k&dedupe_ttl=0", "dedupe_ttl=x", "wait=x"} {
		require.Equal(t, http.StatusBadRequest, r.send("PUT", "/api/shop/q?"+query, "x").status, query)
	}
}

func TestSettings_ALimitOfConcurrencyWakesWhoWaits(t *testing.T) {
	r := newRig(t, nil)
	require.Equal(t, http.StatusNoContent, r.send("PUT", "/api/shop/q/settings", `{"concurrency":1}`).status)
	r.lookNow()
	first := r.publish("/api/shop/q", "1")
	r.publish("/api/shop/q", "2")
	require.Equal(t, "1", data(t, r.send("GET", "/api/shop/q", "")))
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	got := make(chan answer, 1)
	go func() { got <- r.send("GET", "/api/shop/q?timeout=600", "") }()
	r.waitingUnknown(1)
	require.Equal(t, http.StatusNoContent, r.send("DELETE", "/api/shop/q/job/"+first, "").status)
	require.Equal(t, "2", data(t, <-got))
}

func TestSettings_ALimitOfTheRate(t *testing.T) {
	r := newRig(t, nil)
	rate := `{"rate":{"jobs":1,"seconds":60}}`
	require.Equal(t, http.StatusNoContent, r.send("PUT", "/api/shop/q/settings", rate).status)
	r.lookNow()
	r.publish("/api/shop/q", "1")
	r.publish("/api/shop/q", "2")
	require.Equal(t, "1", data(t, r.send("GET", "/api/shop/q", "")))
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	got := make(chan answer, 1)
	go func() { got <- r.send("GET", "/api/shop/q?timeout=600", "") }()
	r.waitingUnknown(1)
	r.clock.add(time.Minute)
	r.lookNow()
	require.Equal(t, "2", data(t, <-got))
}

func TestDedupe_AKeyIsPublishedOnce(t *testing.T) {
	r := newRig(t, nil)
	path := "/api/shop/q?dedupe=" + url.QueryEscape("order 17, 你好") + "&dedupe_ttl=60"
	id := r.publish(path, "first")
	again := r.send("PUT", path, "second")
	require.Equal(t, http.StatusCreated, again.status)
	require.JSONEq(t, fmt.Sprintf(`{"msg":"published before","job_id":%q}`, id), again.body)
	require.NotEqual(t, id, r.publish("/api/shop/other?dedupe=order+17", "x"))
	require.Equal(t, "first", data(t, r.send("GET", "/api/shop/q", "")))
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	r.clock.add(time.Minute)
	require.NotEqual(t, id, r.publish(path, "third"))
	for _, path := range []string{"/api/shop/q/bulk?dedupe=k", "/api/shop/q/bulk?wait=1",
		"/api/shop/q/job/" + id + "?dedupe=k"} {
		require.Equal(t, http.StatusBadRequest, r.send("PUT", path, "[1]").status, path)
	}
}

func TestWait_AnswersWithTheResult(t *testing.T) {
	r := newRig(t, nil)
	got := make(chan answer, 1)
	go func() { got <- r.send("PUT", "/api/shop/q?wait=600", "question") }()
	asked := r.send("GET", "/api/shop/q?timeout=60", "")
	require.Equal(t, "question", data(t, asked))
	id := asked.json(t)["job_id"].(string)
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q/job/"+id+"?to="+id, "answer").status)
	a := <-got
	require.Equal(t, http.StatusCreated, a.status)
	body := a.json(t)
	require.Equal(t, id, body["job_id"])
	require.Equal(t, "YW5zd2Vy", body["result"].(map[string]any)["data"])
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/"+id, "").status, "it is acknowledged")

	none := r.send("PUT", "/api/shop/q?wait=1", "x")
	require.Equal(t, http.StatusCreated, none.status)
	require.Nil(t, none.json(t)["result"])
	require.Equal(t, "x", data(t, r.send("GET", "/api/shop/q", "")), "it is published all the same")
}

func TestDeadLetters_ByTheirErrorAndAtARate(t *testing.T) {
	r := newRig(t, nil)
	for _, reason := range []string{"no stock", "no stock", "no stock", "no address"} {
		id := r.publish("/api/shop/q", reason)
		r.send("GET", "/api/shop/q", "")
		require.Equal(t, http.StatusNoContent, r.send("POST", "/api/shop/q/job/"+id+"/nack?claim=1", reason).status)
		r.clock.add(time.Minute)
	}
	filter := "error=stock&died_before=" + r.clock.Now().Add(-3*time.Minute).Format(time.RFC3339)
	a := r.send("PUT", "/api/shop/q/deadletter?limit=9&rate=0.5&"+filter, "")
	require.EqualValues(t, 1, a.json(t)["count"], "one of them died earlier")
	require.Equal(t, "no stock", data(t, r.send("GET", "/api/shop/q?ttr=999", "")))
	a = r.send("PUT", "/api/shop/q/deadletter?limit=9&rate=0.5&error=stock", "")
	require.EqualValues(t, 2, a.json(t)["count"])
	require.Equal(t, "no stock", data(t, r.send("GET", "/api/shop/q?ttr=999", "")))
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	due := r.send("GET", "/api/shop/q/due", "").json(t)["hours"].([]any)
	require.EqualValues(t, 3, due[0].(map[string]any)["jobs"], "two claims and one that waits")
	r.clock.add(2 * time.Second)
	r.lookNow()
	require.Equal(t, "no stock", data(t, r.send("GET", "/api/shop/q", "")))

	require.Equal(t, http.StatusNoContent, r.send("DELETE", "/api/shop/q/deadletter?limit=9&error=nothing", "").status)
	require.EqualValues(t, 1, r.send("GET", "/api/shop/q/deadletter/size", "").json(t)["size"])
	require.Equal(t, http.StatusNoContent, r.send("DELETE", "/api/shop/q/deadletter?error=address", "").status)
	require.EqualValues(t, 0, r.send("GET", "/api/shop/q/deadletter/size", "").json(t)["size"])
	for _, query := range []string{"rate=0", "rate=x", "rate=NaN", "died_before=yesterday", "error=%ff"} {
		require.Equal(t, http.StatusBadRequest, r.send("PUT", "/api/shop/q/deadletter?"+query, "").status, query)
	}
	require.Equal(t, http.StatusBadRequest, r.send("GET", "/api/shop/q/due?hours=0", "").status)
}
