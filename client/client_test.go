package client

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// producerThat returns a client of a server that answers each request with answer, and the requests that the server
// received.
func producerThat(t *testing.T, status int, answer string) (c *Client, met *[]string) {
	t.Helper()
	met = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*met = append(*met, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+string(body))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return New(server.URL+"/", "secret"), met
}

func TestCalls_SendTheirArguments(t *testing.T) {
	t.Parallel()
	c, met := producerThat(t, http.StatusOK, `{}`)
	ctx := t.Context()
	since := time.Date(2026, 11, 21, 10, 30, 0, 500, time.UTC)
	_, err := c.ListRuns(ctx, ListRunsParams{State: []RunState{RunStateFailed, RunStatePartial}, Since: since, Limit: 7})
	require.NoError(t, err)
	_, err = c.GetAccount(ctx, "abc", "a/{b}?")
	require.NoError(t, err)
	_, err = c.ListTasks(ctx)
	require.NoError(t, err)
	off := false
	_, err = c.EditTask(ctx, "a.name", EditTaskRequest{Revision: 3, Enabled: &off})
	require.NoError(t, err)
	require.Equal(t, []string{
		"GET /api/v1/runs?limit=7&since=2026-11-21T10%3A30%3A00.0000005Z&state=failed%2Cpartial Bearer secret ",
		"GET /api/v1/accounts/abc/a%2F%7Bb%7D%3F Bearer secret ",
		"GET /api/v1/tasks Bearer secret ",
		`PATCH /api/v1/tasks/a.name Bearer secret {"revision":3,"enabled":false}`,
	}, *met)
}

func TestCalls_ReturnTheAnswer(t *testing.T) {
	t.Parallel()
	c, _ := producerThat(t, http.StatusOK, `{"tasks": [{"name": "a", "enabled": true, "params": {"days": 3}}]}`)
	tasks, err := c.ListTasks(t.Context())
	require.NoError(t, err)
	require.Equal(t, TaskList{Tasks: []Task{{Name: "a", Enabled: true, Params: json.RawMessage(`{"days": 3}`)}}}, tasks)

	c, _ = producerThat(t, http.StatusOK, `{"dry_run": true, "subtasks": 4}`)
	plan, order, err := c.OrderRun(t.Context(), "a", OrderRequest{DryRun: true})
	require.NoError(t, err)
	require.Nil(t, order)
	require.Equal(t, &OrderPlan{DryRun: true, Subtasks: 4}, plan)

	c, _ = producerThat(t, http.StatusAccepted, `{"run_id": "12"}`)
	plan, order, err = c.OrderRun(t.Context(), "a", OrderRequest{})
	require.NoError(t, err)
	require.Nil(t, plan)
	require.Equal(t, &Order{RunID: "12"}, order)
}

func TestCalls_ReturnTheProblemAsAnError(t *testing.T) {
	t.Parallel()
	c, _ := producerThat(t, http.StatusUnprocessableEntity,
		`{"status": 422, "detail": "The request cannot be used: see errors.",
		 "errors": [{"field": "cron", "detail": "is empty"}]}`)
	_, err := c.ListTasks(t.Context())
	var problem *Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, []FieldError{{Field: "cron", Detail: "is empty"}}, problem.Errors)
	require.EqualError(t, err, "The request cannot be used:\n  cron: is empty")

	var away *AwayError
	c, _ = producerThat(t, http.StatusServiceUnavailable, `{"status": 503, "detail": "The database is away."}`)
	_, err = c.ListTasks(t.Context())
	require.ErrorAs(t, err, &away)
	require.EqualError(t, err, "The database is away.")
	require.ErrorAs(t, err, &problem)

	c, _ = producerThat(t, http.StatusBadGateway, `<html>`)
	_, err = c.ListTasks(t.Context())
	require.EqualError(t, err, "the server answers 502 Bad Gateway: is it a producer's API?")

	_, err = New("http://127.0.0.1:1", "").ListTasks(t.Context())
	require.ErrorAs(t, err, &away)
	require.ErrorContains(t, err, "call the producer at http://127.0.0.1:1: ")
}

func TestPages_ReadsUntilItHasEnough(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":   `{"of": "x", "rows": [1, 2], "next": "p2"}`,
		"p2": `{"of": "y", "rows": [3], "next": "p3"}`,
		"p3": `{"of": "z", "rows": [], "next": ""}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("after")])
	}))
	defer server.Close()
	for limit, want := range map[int]string{
		2:   `{"of": "x", "rows": [1, 2], "next": "p2"}`,
		3:   `{"of": "x", "rows": [1, 2, 3], "next": "p3"}`,
		100: `{"of": "x", "rows": [1, 2, 3], "next": ""}`,
	} {
		got, err := New(server.URL, "").Pages(t.Context(), "/list", map[string][]string{}, "rows", limit)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), limit)
	}
}
