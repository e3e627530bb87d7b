package jobs

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestBeyond_NackAndTouchNameTheClaim(t *testing.T) {
	r := newRig(t, nil)
	id := r.publish("/api/shop/q?tries=2", "x")
	a := r.send("GET", "/api/shop/q?claim=true&ttr=10", "")
	require.EqualValues(t, 1, a.json(t)["claim"])
	job := "/api/shop/q/job/" + id

	require.Equal(t, http.StatusNoContent, r.send("POST", job+"/touch?claim=1&ttr=60", "").status)
	r.clock.add(30 * time.Second)
	r.lookNow()
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status, "its time to run was extended")

	require.Equal(t, http.StatusNoContent, r.send("POST", job+"/nack?claim=1&delay=5", "no stock").status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	r.clock.add(5 * time.Second)
	r.lookNow()
	require.EqualValues(t, 2, r.send("GET", "/api/shop/q?claim=true", "").json(t)["claim"])
	for _, verb := range []string{"nack", "touch"} {
		require.Equal(t, http.StatusConflict, r.send("POST", job+"/"+verb+"?claim=1", "").status)
		require.Equal(t, http.StatusBadRequest, r.send("POST", job+"/"+verb, "").status)
		require.Equal(t, http.StatusNotFound, r.send("POST", "/api/shop/q/job/"+unknownID+"/"+verb+"?claim=1", "").status)
		require.Equal(t, http.StatusUnauthorized, r.send("POST", job+"/"+verb+"?claim=1", "", "X-Token: ").status)
	}
	require.Equal(t, http.StatusBadRequest, r.send("POST", job+"/nack?claim=2", "\xff").status)
	require.Zero(t, testutil.ToFloat64(r.queues().counts.buried))
	require.Equal(t, http.StatusNoContent, r.send("POST", job+"/nack?claim=2", "no stock").status)
	require.InDelta(t, 1, testutil.ToFloat64(r.queues().counts.buried), 0)

	list := r.send("GET", "/api/shop/q/deadletter/jobs", "").json(t)["jobs"].([]any)
	require.Len(t, list, 1)
	dead := list[0].(map[string]any)
	require.Equal(t, id, dead["job_id"])
	require.Equal(t, "no stock", dead["error"])
	require.Equal(t, "eA==", dead["data"])
	require.EqualValues(t, 2, dead["claims"])
}

func TestBeyond_ManyAcknowledgements(t *testing.T) {
	r := newRig(t, nil)
	first, second := r.publish("/api/shop/q", "1"), r.publish("/api/shop/q", "2")
	require.Equal(t, http.StatusNoContent,
		r.send("POST", "/api/shop/q/ack", fmt.Sprintf("[%q, %q, %q, \"nonsense\"]", first, second, unknownID)).status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	for body, status := range map[string]int{"[]": http.StatusNoContent, "null": http.StatusBadRequest,
		"{": http.StatusBadRequest, "[1]": http.StatusBadRequest} {
		require.Equal(t, status, r.send("POST", "/api/shop/q/ack", body).status, body)
	}
}

func TestBeyond_ARepublishToAnotherQueue(t *testing.T) {
	r := newRig(t, nil)
	id := r.publish("/api/shop/q", "x")
	r.publish("/api/shop/q/job/"+id+"?to=done", "y")
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	require.Equal(t, "y", data(t, r.send("GET", "/api/shop/done", "")))
	require.Equal(t, http.StatusBadRequest, r.send("PUT", "/api/shop/q/job/"+id+"?to=_x", "y").status)
}

func TestBeyond_QueuesAreListed(t *testing.T) {
	r := newRig(t, nil)
	r.publish("/api/shop/b?delay=60", "x")
	r.publish("/api/shop/a", "x")
	r.clock.add(3 * time.Second)
	require.JSONEq(t, `{"namespace":"shop","next":"","queues":[
		{"queue":"a","ready":1,"waiting":0,"deadletter_size":0,"paused":false,"oldest_ready_seconds":3},
		{"queue":"b","ready":0,"waiting":1,"deadletter_size":0,"paused":false,"oldest_ready_seconds":null}]}`,
		r.send("GET", "/api/shop", "").body)
	require.Equal(t, "a", r.send("GET", "/api/shop?limit=1", "").json(t)["next"])
	require.Contains(t, r.send("GET", "/api/shop?limit=1&after=a", "").body, `"queue":"b"`)
	require.Equal(t, http.StatusUnauthorized, r.send("GET", "/api/bank", "").status)
	require.Equal(t, http.StatusBadRequest, r.send("GET", "/api/shop?limit=0", "").status)
	require.Equal(t, http.StatusBadRequest, r.send("GET", "/api/sh.op", "").status)
}

func TestBeyond_DeadLettersInPages(t *testing.T) {
	r := newRig(t, nil)
	for range 3 {
		r.publish("/api/shop/q", "x")
	}
	require.Equal(t, http.StatusOK, r.send("GET", "/api/shop/q?count=3&ttr=1", "").status)
	r.clock.add(time.Second)
	r.lookNow()
	first := r.send("GET", "/api/shop/q/deadletter/jobs?limit=2", "").json(t)
	require.Len(t, first["jobs"], 2)
	second := r.send("GET", "/api/shop/q/deadletter/jobs?limit=2&after="+first["next"].(string), "").json(t)
	require.Len(t, second["jobs"], 1)
	require.Empty(t, second["next"])
	require.Equal(t, http.StatusBadRequest, r.send("GET", "/api/shop/q/deadletter/jobs?after=x", "").status)
}

func TestBeyond_APausedQueueIsNotConsumed(t *testing.T) {
	r := newRig(t, nil)
	require.Equal(t, http.StatusNoContent, r.send("POST", "/api/shop/q/pause", "").status)
	r.lookNow()
	r.publish("/api/shop/q", "x")
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	require.Contains(t, r.send("GET", "/api/shop", "").body, `"paused":true`)
	got := make(chan answer, 1)
	go func() { got <- r.send("GET", "/api/shop/q?timeout=600", "") }()
	r.waitingUnknown(1)
	require.Equal(t, http.StatusNoContent, r.send("POST", "/api/shop/q/resume", "").status)
	r.lookNow()
	require.Equal(t, "x", data(t, <-got))
}
