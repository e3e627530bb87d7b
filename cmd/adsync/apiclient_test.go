package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All pages of a list are printed as one document.
func TestLists_FollowPages(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		page := map[string]any{"since": "2026-11-20T10:30:00Z", "subtasks": []any{}, "next": fmt.Sprint("n", len(asked))}
		if len(asked) != 2 { // The second page is empty, and there are more.
			page["subtasks"] = []any{map[string]any{"run_id": fmt.Sprint(len(asked)), "error": "<a> & b"}}
		}
		if len(asked) == 4 {
			page["next"] = ""
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	t.Cleanup(server.Close)
	list := func(limit string) (ids []string, next string) {
		asked = nil
		r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, "subtasks", "list", "--account=tulip/1", "--output=json",
			"--limit", limit)
		require.Zero(t, r.code, r.stderr)
		var all struct {
			Since, Next string
			Subtasks    []struct {
				RunID string `json:"run_id"`
				Error string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &all))
		require.Equal(t, "2026-11-20T10:30:00Z", all.Since)
		for _, s := range all.Subtasks {
			require.Equal(t, "<a> & b", s.Error)
			ids = append(ids, s.RunID)
		}
		return ids, all.Next
	}
	ids, next := list("700")
	require.Equal(t, []string{"1", "3", "4"}, ids)
	require.Empty(t, next)
	require.Equal(t, []string{"limit=500", "after=n1&limit=500", "after=n2&limit=500", "after=n3&limit=500"}, asked)
	ids, next = list("2")
	require.Equal(t, []string{"1", "3"}, ids)
	require.Equal(t, "n3", next)
	require.Equal(t, []string{"limit=2", "after=n1&limit=1", "after=n2&limit=1"}, asked)
	ids, _ = list("1")
	require.Equal(t, []string{"1"}, ids)
	require.Len(t, asked, 1)
}

// Texts of platforms and people do not move the cursor of a terminal.
func TestTables_AreSafeForTerminals(t *testing.T) {
	t.Parallel()
	const evil = `\u001b[2J\n\u009b1A`
	for answer, args := range map[string][]string{
		`{"tasks": [{"name": "E", "status": "E", "cron": "E", "lane": "E", ` +
			`"last_ticks": [{"state": "E"}]}]}`: {"tasks", "list"},
		`{"name": "E", "status": "good", "handler": "E", "media": "E", "params": {"a": "E"}, ` +
			`"after": ["E"], "errors": [{"field": "E", "want": "E"}]}`: {"tasks", "show", "x"},
		`{"added": ["E"], "bad": [{"name": "E", "errors": [{"field": "E", ` +
			`"value": "E", "want": "E"}]}]}`: {"tasks", "reload"},
		`{"runs": [{"id": "E", "task": "E", "kind": "E", "state": "E", "error": "E", ` +
			`"order": {"by": "E"}}], "next": ""}`: {"runs", "list"},
		`{"id": "E", "task": "E", "kind": "E", "state": "E", "error": "E", "order": {"by": "E"}, ` +
			`"lane": "E", "counts": {"failed": 1}}`: {"runs", "show", "1"},
		`{"subtasks": [{"run_id": "E", "part": "E", "task": "E", "account": "E", "state": "E", ` +
			`"error": "E"}], "next": ""}`: {"subtasks", "list", "--run", "1"},
		`{"due": [{"run_id": "E", "part": "E", "task": "E", "account": "E", ` +
			`"reason": "E"}], "next": ""}`: {"subtasks", "due"},
		`{"task": "E", "lane": "E", "state": "E", "node": "E", "reason": "E", "limits": [{"media": "E", ` +
			`"subject": "E", "period": "E"}]}`: {"subtasks", "wait", "1", "2", "3"},
		`{"account": {"media": "E", "external_id": "E"}, "subtasks": [{"task": "E", "lane": "E", ` +
			`"state": "E", "part": "E", "reason": "E"}]}`: {"subtasks", "wait", "--account", "tulip/1"},
		`{"account": {"media": "E", "external_id": "E"}, "late": true, ` +
			`"why": "E", "command": "E"}`: {"accounts", "why", "tulip/1"},
		`{"days": [{"media": "E", "account": "E", "report": "E", "level": "E", "game": "E", "why": "E"}], ` +
			`"next": ""}`: {"coverage", "untrusted"},
		`{"calls": 3, "limits": [{"media": "E", "subject": "E"}], "tasks": [{"task": "E"}], ` +
			`"lanes": [{"lane": "E"}], "accounts": [{"account": "E"}]}`: {"limits", "usage"},
		`{"account": {"media": "E", "external_id": "E"}, "subtasks": []}`: {"subtasks", "wait", "--account", "tulip/2"},
		`{"subtask": {"task": "E", "account": "E", "part": "E", "state": "E"}, "failures": [{"state": "E", ` +
			`"node": "E", "error_class": "E", "error": "E"}]}`: {"subtasks", "show", "1", "2", "3"},
		`{"accounts": [{"external_id": "E", "name": "E", "parked": "E", "login": {"login": "E", ` +
			`"state": "E"}, "bindings": [{"game": "E"}]}], "next": ""}`: {"accounts", "list"},
		`{"limits": [{"media": "E"}], "pauses": [{"media": "E", "subject": "E"}]}`:             {"limits"},
		`{"consumers": [{"id": "E", "version": "E", "pools": [{"media": "E", "lane": "E"}]}]}`: {"consumers"},
		`{"audit": [{"actor": "E", "object": "E", "before": {"a": "E"}, "after": {"a": "E"}}, ` +
			`{"error": "E"}, {"after": "E"}], "next": ""}`: {"audit"},
		`{"games": [{"code": "E", "name": "E"}]}`: {"games", "list"},
		`{"accounts": [{"media": "E", "external_id": "E", "name": "E", ` +
			`"os": "E", "from": "E"}], "next": ""}`: {"games", "show", "x"},
		`{"lanes": [{"media": "E", "name": "E"}]}`:                                               {"lanes", "list"},
		`{"media": "E", "name": "E", "tasks": ["E"], "in_force": {}}`:                            {"lanes", "show", "x"},
		`{"rules": [{"media": "E", "endpoint": "E", "scope": "E", "costs": "E", "error": "E"}]}`: {"limits", "rules"},
		`{"deleted": {"media": "E", "endpoint": "E", "unit": "E"}, ` +
			`"in_force": [{"unit": "E"}]}`: {"limits", "delete", "7"},
		`{"destinations": [{"name": "E", "kind": "E", "address": "E", "prefix": "E"}]}`: {"destinations", "list"},
		`{"name": "E", "kind": "E", "address": "E", "prefix": "E", "login": "E", "host_key": "E", ` +
			`"options": {"E": "E"}, "subscriptions": ["E"]}`: {"destinations", "show", "x"},
		`{"ok": true, "detail": "E"}`: {"destinations", "check", "x"},
		`{"copies": [{"name": "E", "source": "E", "source_table": "E", "error": "E"}]}`: {"copies", "list"},
		`{"name": "E", "source": "E", "source_table": "E", "target": "E", "key_columns": ["E"], "cursor_column": "E", ` +
			`"day_column": "E", "cursor": "E", "error": "E"}`: {"copies", "show", "x"},
		`{"ok": true, "columns": ["E"], "left_out": ["E"]}`: {"copies", "check", "x"},
		`{"subscriptions": [{"name": "E", "cron": "E", "period": "E", "destination": "E", "path": "E", ` +
			`"customer": "E"}]}`: {"subscriptions", "list"},
		`{"name": "E", "error": "E", "query": "E", "format": {"E": "E"}, "path": "E", "owner": "E", "lane": "E", ` +
			`"scope": {"games": ["E"]}}`: {"subscriptions", "show", "x"},
		`{"publications": [{"id": "E", "subscription": "E", "from": "E", "to": "E", "state": "E", "name": "E", ` +
			`"error": "E"}], "next": ""}`: {"publications", "list"},
		`{"id": "E", "subscription": "E", "from": "a", "to": "E", "state": "E", "name": "E", "error": "E", ` +
			`"missing": [{"media": "E", "why": "E"}]}`: {"publications", "show", "1"},
		`{"ordered": true, "publications": [{"subscription": "E", "from": "E", "state": "E", ` +
			`"name": "E"}]}`: {"publications", "order", "x", "--from=a", "--to=b"},
		`{"name": "E", "open_runs": ["E"]}`: {"tasks", "delete", "x", "--yes"},
		`{"login": "E", "before": [{"game": "E", "os": "E"}], "moves": [{"old_game": "E", ` +
			`"sums": [{"currency": "E", "figures": {"cost": 1}}]}]}`: {"unbind", "tulip/9"},
		`{"troubles": [{"what": "E", "why": "E"}], "media": [{"name": "E", "spend": [{"currency": "E"}]}], ` +
			`"attention": [{"title": "E", "cause": "E", "accounts": 1, "examples": ["E"], ` +
			`"money": [{"currency": "E"}], "command": "E"}]}`: {"overview"},
		`{"cancels": [{"id": "E", "kind": "E", "target": "E", "reason": "E", ` +
			`"by": "E"}], "next": ""}`: {"cancels"},
	} {
		stdout, _ := printedFor(t, strings.ReplaceAll(answer, `"E"`, `"`+evil+`"`), args...)
		require.Contains(t, stdout, "[2J", strings.Join(args, " "))
		require.NotContains(t, stdout, "\x1b", strings.Join(args, " "))
		require.NotContains(t, stdout, "\u009b", strings.Join(args, " "))
		require.Regexp(t, `^[^\x00-\x09\x0b-\x1f]*$`, stdout, strings.Join(args, " "))
	}
}
