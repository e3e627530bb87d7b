package jobs

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adsync/base/redis"
)

func TestLimits_BoundWhatSucceeds(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]bool{"in Redis": true, "in this process": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			if with {
				client := goredis.NewClient(&goredis.Options{Addr: miniredis.RunT(t).Addr()})
				t.Cleanup(func() { require.NoError(t, client.Close()) })
				r.api().limits = newLimits(client, redis.NewKeys("test"), poolDefault, slog.New(slog.DiscardHandler))
			}
			limit := "/token/shop/" + token + "/limit"
			a := r.sendTo(r.admin, "POST", limit, `{"read":2,"write":3,"interval":600}`)
			require.Equal(t, http.StatusCreated, a.status)
			require.JSONEq(t, `{"limiter":{"read":2,"write":3,"interval":600}}`, a.body)

			require.Equal(t, http.StatusBadRequest, r.send("PUT", "/api/shop/q?delay=x", "x").status, "it is not counted")
			for range 2 {
				require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q", "x").status)
			}
			require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q/bulk", "[1]").status)
			for _, path := range []string{"/api/shop/q", "/api/shop/q/bulk", "/api/shop/other"} {
				a := r.send("PUT", path, "[1]")
				require.Equal(t, http.StatusTooManyRequests, a.status)
				require.Equal(t, "token("+token+") produce reach the limit rate, please retry later", a.json(t)["msg"])
			}
			require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q/job/"+unknownID, "x").status,
				"what republishes is not throttled")

			require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/empty", "").status, "it is not counted")
			require.Equal(t, http.StatusOK, r.send("GET", "/api/shop/q", "").status)
			require.Equal(t, http.StatusOK, r.send("GET", "/api/shop/q?count=2", "").status)
			a = r.send("GET", "/api/shop/q", "")
			require.Equal(t, http.StatusTooManyRequests, a.status)
			require.Contains(t, a.body, "consume reach")

			require.Equal(t, http.StatusOK, r.sendTo(r.admin, "DELETE", limit, "").status)
			require.Equal(t, http.StatusOK, r.send("GET", "/api/shop/q", "").status)
		})
	}
}

func TestLimits_AnUnreachableRedisLeavesThemToEachProcess(t *testing.T) {
	r := newRig(t, nil)
	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r.api().limits = newLimits(client, redis.NewKeys("test"), poolDefault, slog.New(slog.DiscardHandler))
	require.Equal(t, http.StatusOK,
		r.sendTo(r.admin, "PUT", "/token/shop/"+token+"/limit", `{"read":0,"write":1,"interval":600}`).status)
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q", "x").status)
	require.Equal(t, http.StatusTooManyRequests, r.send("PUT", "/api/shop/q", "x").status)
	require.Equal(t, http.StatusOK, r.send("GET", "/api/shop/q", "").status, "a number of 0 is no limit")
}

func TestAdmin_LimitsOfTokens(t *testing.T) {
	r := newRig(t, nil)
	limit := "/token/shop/" + token + "/limit"
	none := r.sendTo(r.admin, "GET", limit, "")
	require.Equal(t, http.StatusNotFound, none.status)
	require.Equal(t, "null", none.body)
	require.JSONEq(t, `[]`, r.sendTo(r.admin, "GET", "/limits?force_update=true", "").body)
	const (
		outside = `{"error":"read and write should be 0 or more, and interval 1 to 86400 seconds"}`
		noLimit = `{"error":"the body is not a limit: want read, write and interval as whole numbers"}`
	)
	for body, answer := range map[string]string{
		`{"read":0,"write":0,"interval":1}`:     `{"limiter":{"read":0,"write":0,"interval":1}}`,
		`{"read":1,"write":0}`:                  `{"error":"interval should be > 0"}`,
		`{"read":-1,"write":1,"interval":1}`:    outside,
		`{"read":1,"write":1,"interval":86401}`: outside,
		`{"read":"x"}`:                          noLimit,
		`x`:                                     noLimit,
	} {
		for _, method := range []string{"POST", "PUT"} {
			a := r.sendTo(r.admin, method, limit, body)
			require.Equal(t, http.StatusBadRequest, a.status, body)
			require.JSONEq(t, answer, a.body, body)
		}
	}
	one, two := `{"read":1,"write":1,"interval":1}`, `{"read":2,"write":0,"interval":86400}`
	require.Equal(t, http.StatusCreated, r.sendTo(r.admin, "POST", limit, one).status)
	require.Equal(t, http.StatusInternalServerError, r.sendTo(r.admin, "POST", limit, two).status, "it has one")
	require.JSONEq(t, one, r.sendTo(r.admin, "GET", limit, "").body)
	require.Equal(t, http.StatusOK, r.sendTo(r.admin, "PUT", limit, two).status)
	require.JSONEq(t, two, r.sendTo(r.admin, "GET", "/token/shop/default:"+token+"/limit", "").body)
	require.JSONEq(t, `[{"namespace":"shop","token":"`+token[:12]+`…","limiter":`+two+`}]`,
		r.sendTo(r.admin, "GET", "/limits", "").body)
	require.Equal(t, http.StatusNotFound, r.sendTo(r.admin, "POST", "/token/shop/unknown/limit", one).status)
	require.Equal(t, http.StatusBadRequest, r.sendTo(r.admin, "GET", "/token/shop/else:"+token+"/limit", "").status)
	require.JSONEq(t, `{"msg":"success"}`, r.sendTo(r.admin, "DELETE", limit, "").body)
	require.Equal(t, http.StatusNotFound, r.sendTo(r.admin, "GET", limit, "").status)
}

func TestAdmin_RolesOfTokens(t *testing.T) {
	r := newRig(t, nil)
	made := map[string]string{}
	for _, roles := range []string{"produce", "consume", "admin", "produce,consume"} {
		a := r.sendTo(r.admin, "POST", "/token/shop?description=x&roles="+roles, "")
		require.Equal(t, http.StatusCreated, a.status, a.body)
		made[roles] = "X-Token: " + a.json(t)["token"].(string)
	}
	job := "/api/shop/q/job/" + unknownID
	for _, c := range []struct{ method, path, roles string }{
		{"PUT", "/api/shop/q", "produce"}, {"PUT", "/api/shop/q/bulk", "produce"}, {"PUT", job, "produce,consume"},
		{"GET", "/api/shop/empty", "consume"}, {"DELETE", job, "consume"}, {"POST", "/api/shop/q/ack", "consume"},
		{"GET", "/api/shop/q/peek", "consume"}, {"GET", job, "consume"}, {"POST", job + "/nack?claim=1", "consume"},
		{"POST", job + "/touch?claim=1", "consume"}, {"DELETE", "/api/shop/q", "admin"},
		{"PUT", "/api/shop/q/deadletter", "admin"}, {"DELETE", "/api/shop/q/deadletter", "admin"},
		{"GET", "/api/shop/q/deadletter/jobs", "admin"}, {"POST", "/api/shop/q/pause", "admin"},
		{"POST", "/api/shop/q/resume", "admin"}, {"GET", "/api/shop/q/size", ""}, {"GET", "/api/shop", ""},
		{"GET", "/api/shop/q/deadletter", ""}, {"GET", "/api/shop/q/deadletter/size", ""},
	} {
		for roles, header := range made {
			allowed := true
			for role := range strings.SplitSeq(c.roles, ",") {
				allowed = allowed && strings.Contains(roles, role)
			}
			a := r.send(c.method, c.path, "[1]", header)
			require.Equal(t, !allowed, a.status == http.StatusForbidden, "%s %s as %s: %d", c.method, c.path, roles, a.status)
		}
	}
	for _, roles := range []string{"x", "produce,", "produce,produce"} {
		require.Equal(t, http.StatusBadRequest,
			r.sendTo(r.admin, "POST", "/token/shop?description=x&roles="+roles, "").status, roles)
	}
}

func TestAdmin_WhatNeedsThePassword(t *testing.T) {
	r := newRig(t, func(c *Config) { c.AdminPassword = secretText })
	for _, path := range []string{"/version", "/pools", "/info", "/metrics", "/accesslog"} {
		require.Equal(t, http.StatusOK, r.sendTo(r.admin, "GET", path, "").status, path)
	}
	for _, c := range []string{"GET /limits", "GET /token/shop", "POST /token/shop", "DELETE /token/shop/x",
		"GET /token/shop/x/limit", "POST /token/shop/x/limit", "PUT /token/shop/x/limit", "DELETE /token/shop/x/limit",
		"POST /accesslog?status=enable", "GET /debug/pprof/", "GET /debug/pprof/heap"} {
		method, path, _ := strings.Cut(c, " ")
		require.Equal(t, http.StatusUnauthorized, r.sendTo(r.admin, method, path, "").status, c)
	}
}

func TestAdmin_InfoProfilesAndTheAccessLog(t *testing.T) {
	r := newRig(t, nil)
	require.JSONEq(t, `{}`, r.sendTo(r.admin, "GET", "/info", "").body)
	r.publish("/api/shop/b", "x")
	r.publish("/api/shop/a", "x")
	info := r.sendTo(r.admin, "GET", "/info?pool=default", "")
	require.JSONEq(t, `{"shop":["a","b"]}`, info.body)
	require.Equal(t, "text/plain; charset=utf-8", info.header.Get("Content-Type"))
	require.Empty(t, r.sendTo(r.admin, "GET", "/info?pool=else", "").body)
	require.Equal(t, http.StatusOK, r.sendTo(r.admin, "GET", "/debug/pprof/goroutine?debug=1", "").status)

	var log strings.Builder
	r.api().log.logger = slog.New(slog.NewTextHandler(&log, nil))
	require.JSONEq(t, `{"status":"disabled"}`, r.sendTo(r.admin, "GET", "/accesslog", "").body)
	r.send("GET", "/api/shop/q/size", "")
	require.Empty(t, log.String())
	require.JSONEq(t, `{"status":"enabled"}`, r.sendTo(r.admin, "POST", "/accesslog?status=enable", "").body)
	r.send("GET", "/api/shop/q/size?token="+token, "", "X-Token: ")
	require.JSONEq(t, `{"status":"disabled"}`, r.sendTo(r.admin, "POST", "/accesslog?status=disable", "").body)
	logged := r.send("GET", "/api/shop/q", "").header.Get("X-Request-Id")
	require.NotEmpty(t, logged)
	require.NotEqual(t, logged, r.send("GET", "/api/shop/q", "").header.Get("X-Request-Id"))
	require.Contains(t, log.String(), "route=/api/:namespace/:queue/size namespace=shop queue=q status=200")
	require.NotContains(t, log.String(), token)
	require.Equal(t, http.StatusBadRequest, r.sendTo(r.admin, "POST", "/accesslog?status=x", "").status)
}
