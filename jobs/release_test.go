package jobs

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/jobstore"
)

func TestRelease_TheJobComesAgainWithItsState(t *testing.T) {
	r := newRig(t, nil)
	id := r.publish("/api/shop/orders", "poll")
	taken := r.send("GET", "/api/shop/orders?claim=true", "").json(t)
	require.NotContains(t, taken, "state")
	release := func(query, body string) answer {
		return r.send("POST", "/api/shop/orders/job/"+id+"/release?"+query, body)
	}
	for _, wrong := range []string{"", "claim=0", "claim=x", "claim=1&delay=x"} {
		require.Equal(t, http.StatusBadRequest, release(wrong, "").status, wrong)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, release("claim=1", strings.Repeat("x", stateMax+1)).status)
	require.Equal(t, http.StatusConflict, release("claim=2", "").status)
	state := strings.Repeat("é", stateMax/2)
	require.Equal(t, http.StatusNoContent, release("claim=1&delay=30", state).status)
	require.Equal(t, http.StatusConflict, release("claim=1", "").status, "the claim is stale")
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/orders", "").status)

	r.clock.add(30 * time.Second)
	r.lookNow()
	again := r.send("GET", "/api/shop/orders?claim=true", "").json(t)
	require.Equal(t, id, again["job_id"])
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte(state)), again["state"])
	require.EqualValues(t, taken["remain_tries"], again["remain_tries"])
	require.Equal(t, http.StatusNoContent, release(fmt.Sprint("claim=", again["claim"]), "").status)
	third := r.send("GET", "/api/shop/orders?claim=true", "").json(t)
	require.Equal(t, again["state"], third["state"], "without a body it stays")
}

func TestAck_HasTheRowsOfAWatchedJob(t *testing.T) {
	r := newRig(t, nil)
	store, now := r.pools[poolDefault].queues.store, r.clock.Now()
	q := jobstore.Queue{Namespace: "shop", Name: "builds"}
	publish := func(name string) (jobstore.Job, jobstore.Watched) {
		j := jobstore.Job{Queue: q.ID(), ID: jobstore.WatchedID(now, name), ReadyAt: now, Tries: 1, Body: []byte(name)}
		w, err := store.PublishWatched(t.Context(), j, jobstore.Subtask{Part: name}, now)
		require.NoError(t, err)
		return j, w
	}
	first, _ := publish("first")
	path := "/api/shop/builds/job/" + first.ID.String()
	require.Equal(t, http.StatusBadRequest, r.send("DELETE", path+"?rows=-1", "").status)
	require.Equal(t, http.StatusNoContent, r.send("DELETE", path+"?rows=12", "").status)
	_, w := publish("first")
	require.EqualValues(t, 12, w.Rows)
	require.Equal(t, jobstore.Succeeded, w.End)

	second, _ := publish("second")
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/builds/job/"+second.ID.String()+"?to=next&rows=3",
		"done").status)
	_, w = publish("second")
	require.EqualValues(t, 3, w.Rows)
	third, _ := publish("third")
	require.Equal(t, http.StatusNoContent, r.send("POST", "/api/shop/builds/ack", `["`+third.ID.String()+`"]`).status)
	_, w = publish("third")
	require.Equal(t, jobstore.Succeeded, w.End)
}
