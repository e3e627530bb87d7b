package jobs

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// unknownID has the form of an id, and belongs to no job.
const unknownID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// Each route, with each status that it may answer without a job.
func TestProtocol_AnswersOfRequests(t *testing.T) {
	r := newRig(t, nil)
	const (
		noToken = "X-Token: "
		other   = "X-Token: not-a-token-of-the-shop"
		pool    = "X-Token: elsewhere:" + token
		named   = "X-Token: default:" + token
	)
	long := strings.Repeat("q", 256)
	longest := strings.Repeat("q", 255)
	type c struct {
		method, path, body string
		headers            []string
		status             int
		answer             string // JSON; "" for any
	}
	cases := []c{
		// Publish.
		{"PUT", "/api/shop/q", "x", nil, 201, ""},
		{"PUT", "/api/shop/q", "", nil, 201, ""},
		{"PUT", "/api/shop/q", "你好\x00\xff", nil, 201, ""},
		{"PUT", "/api/shop/q?delay=1&ttl=1&tries=65535", "x", nil, 201, ""},
		{"PUT", "/api/shop/q?delay=4294967295&ttl=0", "x", nil, 201, ""},
		{"PUT", "/api/shop/q?ttl=4294967295", "x", nil, 201, ""},
		{"PUT", "/api/shop/q?priority=9", "x", nil, 201, ""},
		{"PUT", "/api/shop/" + longest, "x", nil, 201, ""},
		{"PUT", "/api/shop/q-_A9", "x", nil, 201, ""},
		{"PUT", "/api/shop/q?token=" + token, "x", []string{noToken}, 201, ""},
		{"PUT", "/api/shop/q", "x", []string{named}, 201, ""},
		{"PUT", "/api/shop/q?delay=x", "x", nil, 400, `{"error":"invalid delay"}`},
		{"PUT", "/api/shop/q?delay=-1", "x", nil, 400, `{"error":"invalid delay"}`},
		{"PUT", "/api/shop/q?delay=", "x", nil, 400, `{"error":"invalid delay"}`},
		{"PUT", "/api/shop/q?delay=4294967296", "x", nil, 400, `{"error":"invalid delay"}`},
		{"PUT", "/api/shop/q?ttl=x", "x", nil, 400, `{"error":"invalid ttl"}`},
		{"PUT", "/api/shop/q?ttl=4294967296", "x", nil, 400, `{"error":"invalid ttl"}`},
		{"PUT", "/api/shop/q?ttl=1&delay=2", "x", nil, 400, `{"error":"ttl is shorter than delay"}`},
		{"PUT", "/api/shop/q?tries=x", "x", nil, 400, `{"error":"invalid tries"}`},
		{"PUT", "/api/shop/q?tries=65536", "x", nil, 400, `{"error":"invalid tries"}`},
		{"PUT", "/api/shop/q?tries=0", "x", nil, 400, `{"error":"tries shouldn't be zero"}`},
		{"PUT", "/api/shop/q?priority=10", "x", nil, 400, `{"error":"invalid priority"}`},
		{"PUT", "/api/shop/q?priority=x", "x", nil, 400, `{"error":"invalid priority"}`},
		{"PUT", "/api/shop/q", strings.Repeat("x", bodyMax-1), nil, 201, ""},
		{"PUT", "/api/shop/q", strings.Repeat("x", bodyMax), nil, 201, ""},
		{"PUT", "/api/shop/q", strings.Repeat("x", bodyMax+1), nil, 413, `{"error":"body too large"}`},
		{"PUT", "/api/shop/_q", "x", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		{"PUT", "/api/shop/q.q", "x", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		{"PUT", "/api/shop/q,q", "x", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		{"PUT", "/api/shop/%E4%BD%A0", "x", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		{"PUT", "/api/sh.op/q", "x", nil, 400, `{"error":"namespace name contains forbidden characters"}`},
		{"PUT", "/api/shop/" + long, "x", nil, 400, `{"error":"namespace or queue name too long"}`},
		{"PUT", "/api/" + long + "/q", "x", nil, 400, `{"error":"namespace or queue name too long"}`},
		{"PUT", "/api/shop/q", "x", []string{noToken}, 401, `{"error":"token not found"}`},
		{"PUT", "/api/shop/q", "x", []string{other}, 401, `{"error":"invalid token"}`},
		{"PUT", "/api/bank/q", "x", nil, 401, `{"error":"invalid token"}`},
		{"PUT", "/api/shop/q", "x", []string{pool}, 404, `{"error":"pool not found"}`},
		// Republish.
		{"PUT", "/api/shop/q/job/" + unknownID, "x", nil, 201, ""},
		{"PUT", "/api/shop/q/job/nonsense", "x", nil, 201, ""},
		{"PUT", "/api/shop/q/job/" + unknownID + "?delay=x", "x", nil, 400, `{"error":"invalid delay"}`},
		{"PUT", "/api/shop/q/job/" + unknownID + "?tries=0", "x", nil, 400, `{"error":"tries shouldn't be zero"}`},
		{"PUT", "/api/shop/q/job/" + unknownID, strings.Repeat("x", bodyMax+1), nil, 413, `{"error":"body too large"}`},
		{"PUT", "/api/shop/q/job/" + unknownID, "x", []string{noToken}, 401, `{"error":"token not found"}`},
		{"PUT", "/api/shop/q/job/" + unknownID, "x", []string{other}, 401, `{"error":"invalid token"}`},
		// Bulk.
		{"PUT", "/api/shop/b/bulk", `[{"a":1},"b",3]`, nil, 201, ""},
		{"PUT", "/api/shop/b/bulk", "[" + strings.Repeat("1,", bulkMax-2) + "1]", nil, 201, ""},
		{"PUT", "/api/shop/b/bulk", "[" + strings.Repeat("1,", bulkMax-1) + "1]", nil, 201, ""},
		{"PUT", "/api/shop/b/bulk", "[" + strings.Repeat("1,", bulkMax) + "1]", nil, 400, `{"error":"too many jobs"}`},
		{"PUT", "/api/shop/b/bulk", `[]`, nil, 400, `{"error":"no jobs"}`},
		{"PUT", "/api/shop/b/bulk", `null`, nil, 400, `{"error":"request body should be an array of objects"}`},
		{"PUT", "/api/shop/b/bulk", `{"a":1}`, nil, 400, `{"error":"request body should be an array of objects"}`},
		{"PUT", "/api/shop/b/bulk", `[1`, nil, 400, `{"error":"request body should be an array of objects"}`},
		{"PUT", "/api/shop/b/bulk", ``, nil, 400, `{"error":"request body should be an array of objects"}`},
		{"PUT", "/api/shop/b/bulk", `["` + strings.Repeat("x", bodyMax-2) + `"]`, nil, 201, ""},
		{"PUT", "/api/shop/b/bulk", `["` + strings.Repeat("x", bodyMax-1) + `"]`, nil, 413, `{"error":"job too large"}`},
		{"PUT", "/api/shop/b/bulk?delay=x", `[1]`, nil, 400, `{"error":"invalid delay"}`},
		{"PUT", "/api/shop/b/bulk?ttl=x", `[1]`, nil, 400, `{"error":"invalid ttl"}`},
		{"PUT", "/api/shop/b/bulk?ttl=1&delay=2", `[1]`, nil, 400, `{"error":"ttl is shorter than delay"}`},
		{"PUT", "/api/shop/b/bulk?tries=0", `[1]`, nil, 400, `{"error":"tries shouldn't be zero"}`},
		{"PUT", "/api/shop/b/bulk", `[1]`, []string{noToken}, 401, `{"error":"token not found"}`},
		{"PUT", "/api/shop/b/bulk", `[1]`, []string{other}, 401, `{"error":"invalid token"}`},
		{"PUT", "/api/shop/b/bulk", `[1]`, []string{pool}, 404, `{"error":"pool not found"}`},
		// Consume.
		{"GET", "/api/shop/empty", "", nil, 404, `{"msg":"no job available"}`},
		{"GET", "/api/shop/empty,void", "", nil, 404, `{"msg":"no job available"}`},
		{"GET", "/api/shop/empty,,void,", "", nil, 404, `{"msg":"no job available"}`},
		{"GET", "/api/shop/empty?count=100", "", nil, 404, `{"msg":"no job available"}`},
		{"GET", "/api/shop/empty?ttr=4294967295", "", nil, 404, `{"msg":"no job available"}`},
		{"GET", "/api/shop/empty?freeze_tries=true", "", nil, 404, `{"msg":"no job available"}`},
		{"GET", "/api/shop/empty?ttr=x", "", nil, 400, `{"error":"invalid ttr"}`},
		{"GET", "/api/shop/empty?ttr=4294967296", "", nil, 400, `{"error":"invalid ttr"}`},
		{"GET", "/api/shop/empty?timeout=x", "", nil, 400, `{"error":"invalid timeout"}`},
		{"GET", "/api/shop/empty?timeout=4294967296", "", nil, 400, `{"error":"invalid timeout"}`},
		{"GET", "/api/shop/empty?count=0", "", nil, 400, `{"error":"invalid count"}`},
		{"GET", "/api/shop/empty?count=101", "", nil, 400, `{"error":"invalid count"}`},
		{"GET", "/api/shop/empty?count=x", "", nil, 400, `{"error":"invalid count"}`},
		{"GET", "/api/shop/,", "", nil, 400, `{"error":"invalid queue name(s)"}`},
		{"GET", "/api/shop/a,_b", "", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		{"GET", "/api/shop/a.b", "", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		{"GET", "/api/sh.op/a", "", nil, 400, `{"error":"namespace name contains forbidden characters"}`},
		{"GET", "/api/shop/a," + long, "", nil, 400, `{"error":"namespace or queue name too long"}`},
		{"GET", "/api/shop/empty", "", []string{noToken}, 401, `{"error":"token not found"}`},
		{"GET", "/api/shop/empty", "", []string{other}, 401, `{"error":"invalid token"}`},
		{"GET", "/api/shop/empty", "", []string{pool}, 404, `{"error":"pool not found"}`},
		// Acknowledge.
		{"DELETE", "/api/shop/q/job/" + unknownID, "", nil, 204, ""},
		{"DELETE", "/api/shop/q/job/nonsense", "", nil, 204, ""},
		{"DELETE", "/api/shop/q/job/" + unknownID, "", []string{noToken}, 401, `{"error":"token not found"}`},
		{"DELETE", "/api/shop/q/job/" + unknownID, "", []string{other}, 401, `{"error":"invalid token"}`},
		{"DELETE", "/api/shop/_q/job/" + unknownID, "", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		// Peek.
		{"GET", "/api/shop/empty/peek", "", nil, 404, `{"error":"the queue is empty"}`},
		{"GET", "/api/shop/empty/peek", "", []string{noToken}, 401, `{"error":"token not found"}`},
		{"GET", "/api/shop/empty/peek", "", []string{other}, 401, `{"error":"invalid token"}`},
		{"GET", "/api/shop/_q/peek", "", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		{"GET", "/api/shop/empty/job/" + unknownID, "", nil, 404, `{"error":"job not found"}`},
		{"GET", "/api/shop/empty/job/nonsense", "", nil, 404, `{"error":"job not found"}`},
		{"GET", "/api/shop/empty/job/" + unknownID, "", []string{noToken}, 401, `{"error":"token not found"}`},
		{"GET", "/api/shop/empty/job/" + unknownID, "", []string{other}, 401, `{"error":"invalid token"}`},
		// Sizes.
		{"GET", "/api/shop/empty/size", "", nil, 200, `{"namespace":"shop","queue":"empty","size":0}`},
		{"GET", "/api/shop/empty/size", "", []string{noToken}, 401, `{"error":"token not found"}`},
		{"GET", "/api/shop/empty/size", "", []string{other}, 401, `{"error":"invalid token"}`},
		{"GET", "/api/shop/empty/size", "", []string{pool}, 404, `{"error":"pool not found"}`},
		{"GET", "/api/shop/empty/deadletter/size", "", nil, 200, `{"namespace":"shop","queue":"empty","size":0}`},
		{"GET", "/api/shop/empty/deadletter/size", "", []string{noToken}, 401, `{"error":"token not found"}`},
		{"GET", "/api/shop/empty/deadletter/size", "", []string{other}, 401, `{"error":"invalid token"}`},
		// Destroy.
		{"DELETE", "/api/shop/empty", "", nil, 204, ""},
		{"DELETE", "/api/shop/empty", "", []string{noToken}, 401, `{"error":"token not found"}`},
		{"DELETE", "/api/shop/empty", "", []string{other}, 401, `{"error":"invalid token"}`},
		{"DELETE", "/api/shop/_q", "", nil, 400, `{"error":"queue name contains forbidden characters"}`},
		// Dead letters.
		{"GET", "/api/shop/empty/deadletter", "", nil, 200,
			`{"namespace":"shop","queue":"empty","deadletter_size":0,"deadletter_head":""}`},
		{"GET", "/api/shop/empty/deadletter", "", []string{noToken}, 401, `{"error":"token not found"}`},
		{"PUT", "/api/shop/empty/deadletter", "", nil, 200, `{"msg":"respawned","count":0}`},
		{"PUT", "/api/shop/empty/deadletter?limit=9223372036854775807&ttl=0", "", nil, 200, `{"msg":"respawned","count":0}`},
		{"PUT", "/api/shop/empty/deadletter?limit=0", "", nil, 400, `{"error":"invalid limit"}`},
		{"PUT", "/api/shop/empty/deadletter?limit=-1", "", nil, 400, `{"error":"invalid limit"}`},
		{"PUT", "/api/shop/empty/deadletter?limit=x", "", nil, 400, `{"error":"invalid limit"}`},
		{"PUT", "/api/shop/empty/deadletter?ttl=-1", "", nil, 400, `{"error":"invalid ttl"}`},
		{"PUT", "/api/shop/empty/deadletter?ttl=x", "", nil, 400, `{"error":"invalid ttl"}`},
		{"PUT", "/api/shop/empty/deadletter", "", []string{other}, 401, `{"error":"invalid token"}`},
		{"DELETE", "/api/shop/empty/deadletter", "", nil, 204, ""},
		{"DELETE", "/api/shop/empty/deadletter?limit=5", "", nil, 204, ""},
		{"DELETE", "/api/shop/empty/deadletter?limit=0", "", nil, 400, `{"error":"invalid limit"}`},
		{"DELETE", "/api/shop/empty/deadletter?limit=x", "", nil, 400, `{"error":"invalid limit"}`},
		{"DELETE", "/api/shop/empty/deadletter", "", []string{noToken}, 401, `{"error":"token not found"}`},
		// No route.
		{"GET", "/", "", nil, 404, `{"error":"api not found"}`},
		{"GET", "/api", "", nil, 404, `{"error":"api not found"}`},
		{"POST", "/api/shop/q", "", nil, 404, `{"error":"api not found"}`},
		{"GET", "/api/shop/q/nothing", "", nil, 404, `{"error":"api not found"}`},
		{"GET", "/api/shop/q/job/" + unknownID + "/x", "", nil, 404, `{"error":"api not found"}`},
	}
	require.GreaterOrEqual(t, len(cases), 120)
	for _, c := range cases {
		name := fmt.Sprint(c.method, " ", c.path[:min(len(c.path), 60)], " ", len(c.body), c.headers)
		a := r.send(c.method, c.path, c.body, c.headers...)
		require.Equal(t, c.status, a.status, "%s: %s", name, a.body)
		if c.answer != "" {
			require.JSONEq(t, c.answer, a.body, name)
		}
		if c.status == http.StatusNoContent {
			require.Empty(t, a.body, name)
		} else {
			require.Equal(t, "application/json; charset=utf-8", a.header.Get("Content-Type"), name)
		}
	}
}

func TestProtocol_AJobFromItsPublicationToItsEnd(t *testing.T) {
	r := newRig(t, nil)
	id := r.publish("/api/shop/q?ttl=10&tries=2", "hello")
	require.JSONEq(t, `{"namespace":"shop","queue":"q","size":1}`, r.send("GET", "/api/shop/q/size", "").body)
	r.clock.add(1500 * time.Millisecond)
	peeked := `{"namespace":"shop","queue":"q","job_id":"` + id +
		`","data":"aGVsbG8=","ttl":9,"elapsed_ms":1500,"remain_tries":2,"attributes":null}`
	require.JSONEq(t, peeked, r.send("GET", "/api/shop/q/peek", "").body)
	require.JSONEq(t, peeked, r.send("GET", "/api/shop/q/job/"+id, "").body)

	a := r.send("GET", "/api/shop/q?ttr=5", "")
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `{"msg":"new job","namespace":"shop","queue":"q","job_id":"`+id+
		`","data":"aGVsbG8=","ttl":9,"elapsed_ms":1500,"remain_tries":1,"attributes":null}`, a.body)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status, "another has it")

	require.Equal(t, http.StatusNoContent, r.send("DELETE", "/api/shop/q/job/"+id, "").status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q/job/"+id, "").status)
	r.clock.add(time.Minute)
	r.lookNow()
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
}

func TestProtocol_RepublishShowsTheWholeTTL(t *testing.T) {
	r := newRig(t, nil)
	old := r.publish("/api/shop/q", "old")
	require.Equal(t, "old", data(t, r.send("GET", "/api/shop/q", "")))
	id := r.publish("/api/shop/q/job/"+old+"?ttl=10", "new")
	require.NotEqual(t, old, id)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q/job/"+old, "").status)
	a := r.send("GET", "/api/shop/q", "")
	require.Equal(t, "new", data(t, a))
	require.EqualValues(t, 10, a.json(t)["ttl"])
}

func TestProtocol_Attributes(t *testing.T) {
	r := newRig(t, nil)
	a := r.send("PUT", "/api/shop/q", "x", "Enable-Job-Version: YES", "Job-Attr-Trace-ID: 7", "Job-Attr-Of: shop")
	require.Equal(t, http.StatusCreated, a.status, a.body)
	require.Equal(t, map[string]any{"trace-id": "7", "of": "shop"}, r.send("GET", "/api/shop/q", "").json(t)["attributes"])

	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q", "x", "Job-Attr-Of: shop").status)
	require.Nil(t, r.send("GET", "/api/shop/q", "").json(t)["attributes"], "they are not switched on")

	many := []string{"Enable-Job-Version: YES"}
	for i := range attributesMax {
		many = append(many, fmt.Sprintf("Job-Attr-K%d: v", i))
	}
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q", "x", many...).status)
	a = r.send("PUT", "/api/shop/q", "x", append(many, "Job-Attr-More: v")...)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.JSONEq(t, `{"error":"too many attributes, cannot exceed 16"}`, a.body)
	for _, h := range []string{"Job-Attr-" + strings.Repeat("k", 33) + ": v", "Job-Attr-K: " + strings.Repeat("v", 129)} {
		require.Equal(t, http.StatusBadRequest, r.send("PUT", "/api/shop/q", "x", "Enable-Job-Version: YES", h).status)
	}
}

func TestProtocol_Batches(t *testing.T) {
	r := newRig(t, nil)
	a := r.send("PUT", "/api/shop/q/bulk", `[{"n":1}, "two", 3]`)
	require.Equal(t, http.StatusCreated, a.status)
	require.Len(t, a.json(t)["job_ids"], 3)
	a = r.send("GET", "/api/shop/q?count=2", "")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, 2, strings.Count(a.body, `"msg":"new job"`))
	require.True(t, strings.HasPrefix(a.body, "["))
	a = r.send("GET", "/api/shop/q?count=2", "")
	require.Equal(t, 1, strings.Count(a.body, `"msg":"new job"`), "a batch of one is a list too")
	require.True(t, strings.HasPrefix(a.body, "["))
}

func TestProtocol_QueuesInTheirOrder(t *testing.T) {
	r := newRig(t, nil)
	r.publish("/api/shop/b", "of b")
	r.publish("/api/shop/a", "of a")
	first := r.send("GET", "/api/shop/a,b", "")
	require.Equal(t, "of a", data(t, first))
	require.Equal(t, "a", first.json(t)["queue"])
	require.Equal(t, "b", r.send("GET", "/api/shop/a,b", "").json(t)["queue"])
}

func TestProtocol_DeadLetters(t *testing.T) {
	r := newRig(t, nil)
	id := r.publish("/api/shop/q?tries=1", "x")
	require.Equal(t, "x", data(t, r.send("GET", "/api/shop/q?ttr=1", "")))
	r.clock.add(time.Second)
	r.lookNow()
	require.JSONEq(t, `{"namespace":"shop","queue":"q","deadletter_size":1,"deadletter_head":"`+id+`"}`,
		r.send("GET", "/api/shop/q/deadletter", "").body)
	require.JSONEq(t, `{"namespace":"shop","queue":"q","size":1}`, r.send("GET", "/api/shop/q/deadletter/size", "").body)
	require.EqualValues(t, 0, r.send("GET", "/api/shop/q/job/"+id, "").json(t)["remain_tries"])

	require.JSONEq(t, `{"msg":"respawned","count":1}`, r.send("PUT", "/api/shop/q/deadletter?ttl=60", "").body)
	a := r.send("GET", "/api/shop/q?ttr=1", "")
	require.Equal(t, id, a.json(t)["job_id"])
	require.EqualValues(t, 60, a.json(t)["ttl"])
	r.clock.add(time.Second)
	r.lookNow()
	require.Equal(t, http.StatusNoContent, r.send("DELETE", "/api/shop/q/deadletter", "").status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q/job/"+id, "").status, "its dead letter is gone")
}

func TestProtocol_AnExpiredHead(t *testing.T) {
	r := newRig(t, nil)
	id := r.publish("/api/shop/q?ttl=1", "x")
	r.clock.add(time.Second)
	require.JSONEq(t, `{"namespace":"shop","queue":"q","job_id":"`+id+
		`","data":null,"ttl":0,"elapsed_ms":1000,"remain_tries":1,"attributes":null}`,
		r.send("GET", "/api/shop/q/peek", "").body)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q/job/"+id, "").status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q/peek", "").status)
}

func TestProtocol_DestroyLeavesClaimedAndDelayedJobs(t *testing.T) {
	r := newRig(t, nil)
	r.publish("/api/shop/q?tries=2", "claimed")
	require.Equal(t, "claimed", data(t, r.send("GET", "/api/shop/q?ttr=60", "")))
	r.publish("/api/shop/q", "ready")
	r.publish("/api/shop/q?delay=30", "delayed")
	require.Equal(t, http.StatusNoContent, r.send("DELETE", "/api/shop/q", "").status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	r.clock.add(30 * time.Second)
	r.lookNow()
	require.Equal(t, "delayed", data(t, r.send("GET", "/api/shop/q?ttr=600", "")))
	r.clock.add(30 * time.Second)
	r.lookNow()
	require.Equal(t, "claimed", data(t, r.send("GET", "/api/shop/q", "")))
}

func TestProtocol_SizesWithoutAToken(t *testing.T) {
	r := newRig(t, func(c *Config) { c.OpenSizes = true })
	for _, path := range []string{"/api/shop/q/size", "/api/shop/q/deadletter/size"} {
		require.Equal(t, http.StatusOK, r.send("GET", path, "", "X-Token: ").status)
	}
	require.Equal(t, http.StatusUnauthorized, r.send("GET", "/api/shop/q/peek", "", "X-Token: ").status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q/size", "", "X-Token: elsewhere:x").status)
}

func TestProtocol_WithoutTokens(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Tokens = TokensNone })
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/any/q", "x", "X-Token: ").status)
	require.Equal(t, "x", data(t, r.send("GET", "/api/any/q", "", "X-Token: ")))
}
