package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// producerThat answers each request with the result of answer for its path and body.
func producerThat(t *testing.T, answer func(path string, body map[string]any) any) (environ []string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]any{}
		if text, _ := io.ReadAll(r.Body); len(text) > 0 {
			_ = json.Unmarshal(text, &body)
		}
		_ = json.NewEncoder(w).Encode(answer(r.URL.Path, body))
	}))
	t.Cleanup(server.Close)
	return []string{"ADSYNC_SERVER=" + server.URL}
}

// The exit code reports that a part was not done.
func TestRedrive_ExitsWithOneIfATaskIsRefused(t *testing.T) {
	t.Parallel()
	plan := func(_ string, body map[string]any) any {
		one := map[string]any{"task": "tulip.adgroup", "count": 2}
		if body["dry_run"] == false {
			one["run_id"] = "77"
		}
		return map[string]any{"count": 2, "dry_run": body["dry_run"],
			"tasks": []any{one, map[string]any{"task": "tulip.gone", "refused": "the task was deleted"}}}
	}
	environ := producerThat(t, plan)
	for _, command := range [][]string{{"dead", "redrive", "--media=tulip"}, {"runs", "rerun", "7529853616300212345"}} {
		for _, output := range []string{"table", "json"} {
			r := adsync(environ, append(command, "--output="+output)...)
			require.Zero(t, r.code, "nothing was asked for but to look: %s", r.stderr)
			r = adsync(environ, append(command, "--yes", "--output="+output)...)
			require.Equal(t, exitFailure, r.code, command)
			require.Contains(t, r.stderr, "the dead subtasks of 1 task were not redriven: tulip.gone: the task was deleted")
			require.Contains(t, r.stdout, "77", "the others are")
		}
	}
}

func TestDeadDrop_ExitsWithOneIfItLeavesSome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		dropped []int // by each request, of 10
		all     int
		left    int
	}{
		{"all at once", []int{10}, 10, 0},
		{"all, some at a time", []int{4, 4, 2}, 10, 0},
		{"some, and others the rest", []int{4, 4, 0}, 8, 2},
		{"none", []int{0}, 0, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked, left := 0, 10
			r := adsync(producerThat(t, func(_ string, body map[string]any) any {
				answer := map[string]any{"count": left, "tasks": []any{map[string]any{"task": "tulip.adgroup", "count": left}}}
				if body["dry_run"] == false {
					answer["dropped"] = c.dropped[asked]
					left -= c.dropped[asked]
					asked++
				}
				return answer
			}), "dead", "drop", "--all", "--yes")
			require.Contains(t, r.stdout, fmt.Sprintf("Dropped %d.", c.all))
			if c.left == 0 {
				require.Zero(t, r.code, r.stderr)
				return
			}
			require.Equal(t, exitFailure, r.code)
			require.Contains(t, r.stderr, fmt.Sprintf("%d of the dead subtasks were not dropped", c.left))
		})
	}
}

func TestTasksRun_WithWaitExitsWithOneUnlessEverythingWasDone(t *testing.T) {
	t.Parallel()
	for state, code := range map[string]int{"succeeded": exitOK, "partial": exitFailure, "failed": exitFailure,
		"cancelled": exitFailure, "expired": exitFailure} {
		for _, output := range []string{"table", "json"} {
			r := adsync(producerThat(t, func(path string, _ map[string]any) any {
				if path == "/api/v1/runs/77" {
					return map[string]any{"id": "77", "state": state,
						"counts": map[string]any{"total": 3, "succeeded": 2, "failed": 1}}
				}
				return map[string]any{"run_id": "77", "task": "tulip.adgroup"}
			}), "tasks", "run", "tulip.adgroup", "--wait", "--accounts=1", "--output="+output)
			require.Equal(t, code, r.code, "%s: %s", state, r.stderr)
		}
	}
}

func TestNoteError_ReturnsTheNoteAsAnError(t *testing.T) {
	t.Parallel()
	require.NoError(t, noteError(""))
	require.EqualError(t, noteError("Its accounts were not all listed."),
		"the login is authorised and stored, but: Its accounts were not all listed.")
}

func TestDeadDrop_NamesTheDroppedAfterAFailure(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked > 2 { // The first was a dry run.
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"status": 500, "detail": "The log has more."}`))
			return
		}
		_, _ = w.Write([]byte(`{"count": 10, "dropped": 4, "tasks": [{"task": "tulip.adgroup", "count": 10}]}`))
	}))
	t.Cleanup(server.Close)
	r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, "dead", "drop", "--all", "--yes")
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, "after 4 were dropped: ")
}
