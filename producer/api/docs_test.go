package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/client"
)

// The pages for callers describe all routes, the fields of all answers, and no others.
func TestDocs_DescribeAllRoutesAndFields(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/api*.md")
	require.NoError(t, err)
	var page string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		page += string(text)
	}

	param := regexp.MustCompile(`:(\w+)`)
	for _, r := range Routes(Deps{}) {
		require.Contains(t, page, "| `"+r.Method+" "+param.ReplaceAllString(r.Path, "{$1}")+"` | "+string(r.Role)+" |")
	}

	answers := map[string]any{ // by a text that only their samples have
		`"attention":`:   &client.Overview{},
		`"instance":`:    &httpapi.Problem{},
		`"status": "goo`: &client.Task{},
		`"status": "unu`: &client.TaskState{},
		`"changed":`:     &client.Reload{},
		"\"state\": \"pending\",\n  \"accounts\"": &client.Order{},
		`"estimated_calls": 24480`:                &client.OrderPlan{},
		`"audit":`: &struct {
			Audit []client.AuditEntry `json:"audit"`
			Next  string              `json:"next"`
		}{},
		`"runs": [`: &struct {
			Runs []client.Run `json:"runs"`
			Next string       `json:"next"`
		}{},
		`"rate_per_second":`: &client.Run{},
		`"dead":`: &struct {
			Dead []client.DeadSubtask `json:"dead"`
			Next string               `json:"next"`
		}{},
		`"groups":`:                       &client.DeadGroups{},
		`"log":`:                          &client.DeadSubtask{},
		`"count": 212, "estimated_calls"`: &client.Redrive{},
		`"holes":`:                        &client.Holes{},
		`"dropped":`:                      &client.Drop{},
		"\"pauses\": [\n    {\n": &struct {
			Pauses []client.Stop `json:"pauses"`
			Next   string        `json:"next"`
		}{},
		`"fields":`: &struct {
			Fields []client.Field `json:"fields"`
		}{},
		`"differences":`: &struct {
			Differences []client.Difference `json:"differences"`
			Next        string              `json:"next"`
		}{},
		`"changes":`: &struct {
			Account client.Account  `json:"account"`
			From    string          `json:"from"`
			To      string          `json:"to"`
			Changes []client.Change `json:"changes"`
			Next    string          `json:"next"`
		}{},
		`"last_hour":`: &struct {
			Limits []client.Limit       `json:"limits"`
			Pauses []client.PausedPoint `json:"pauses"`
		}{},
		`"level": "debug"`:       &client.LogLevel{},
		`"accounts_calls": `:     &client.LimitUsage{},
		`"failures": [`:          &client.SubtaskDetail{},
		`"late_after_seconds": `: &client.AccountWhy{},
		`"state": "differs"`:     &client.UntrustedDayList{},
		`"expected_at":`:         &client.Wait{},
		`"subtasks": [`: &struct {
			Subtasks []client.Subtask `json:"subtasks"`
			Next     string           `json:"next"`
		}{},
		`"due": [`: &struct {
			Due  []client.WaitingSubtask `json:"due"`
			Next string                  `json:"next"`
		}{},
		`"kinds": [`: &client.KindList{},
		`"consumers": [`: &struct {
			Consumers []client.Consumer `json:"consumers"`
		}{},
		`"moves": [`:          &client.Rebinding{},
		`"floors": [`:         &client.FloorList{},
		`"code_parameter":`:   &client.AuthorisationStart{},
		`"account_count": 1,`: &client.Authorisation{},
		"\"accounts\": [\n    {\n": &struct {
			Accounts []client.ListedAccount `json:"accounts"`
			Next     string                 `json:"next"`
		}{},
		`"logins":`: &struct {
			Account  client.Account        `json:"account"`
			Logins   []client.AccountLogin `json:"logins"`
			Bindings []client.Binding      `json:"bindings"`
		}{},
		`"has_credentials":`: &client.Destination{},
		`{"ok": false`:       &client.DestinationTest{},
		`"source_table":`:    &client.TableCopy{},
		`"problems":`:        &client.TableCopyCheck{},
		`"rows_max":`:        &client.Subscription{},
		`"ordered": false`:   &client.OrderedPublications{},
		`"visible_at":`:      &client.PublicationList{},
		`"missing": [`:       &client.Publication{},
		`"coverage": [`: &struct {
			Account  client.Account    `json:"account"`
			From     string            `json:"from"`
			To       string            `json:"to"`
			Coverage []client.Coverage `json:"coverage"`
		}{},
	}
	samples := regexp.MustCompile("(?s)```(?:json|http)\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.Len(t, samples, len(answers))
	seen := map[string]bool{}
	for _, sample := range samples {
		_, body, found := strings.Cut(sample[1], "{")
		require.True(t, found)
		body = "{" + body
		for mark, answer := range answers {
			// The bad row within a reload has a status too.
			if !strings.Contains(body, mark) || (strings.Contains(mark, "status") && strings.Contains(body, `"changed":`)) {
				continue
			}
			seen[mark] = true
			decoder := json.NewDecoder(strings.NewReader(body))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(answer), body)
		}
	}
	require.Len(t, seen, len(answers), "each kind of answer has a sample")
}

// Problems are also shown by the command line and by the first page, whose users do not know the routes.
func TestProblems_NameNoRoutes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	route := regexp.MustCompile(`"[^"\n]*\b(GET|POST|PUT|PATCH|DELETE) /[^"\n]*"`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, route.FindAllString(string(source), -1), file)
	}
}
