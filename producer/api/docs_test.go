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
	"adsync/producer/overview"
)

// The page for callers must not tell of routes or fields that are not there, nor keep one to itself.
func TestDocs_TellOfWhatIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/api.md")
	require.NoError(t, err)
	page := string(text)

	param := regexp.MustCompile(`:(\w+)`)
	for _, r := range Routes(Deps{}) {
		require.Contains(t, page, "| `"+r.Method+" "+param.ReplaceAllString(r.Path, "{$1}")+"` | "+string(r.Role)+" |")
	}

	answers := map[string]any{ // by what only their samples have
		`"attention":`:   &overview.Overview{},
		`"instance":`:    &httpapi.Problem{},
		`"status": "goo`: &taskJSON{},
		`"status": "unu`: &taskJSON{},
		`"changed":`:     &reloadJSON{},
		"\"state\": \"pending\",\n  \"accounts\"": &orderJSON{},
		`"estimated_calls": 24480`:                &orderPlanJSON{},
		`"audit":`: &struct {
			Audit []auditJSON `json:"audit"`
			Next  string      `json:"next"`
		}{},
		`"runs":`: &struct {
			Runs []runJSON `json:"runs"`
			Next string    `json:"next"`
		}{},
		`"rate_per_second":`: &runDetail{},
		`"dead":`: &struct {
			Dead []deadJSON `json:"dead"`
			Next string     `json:"next"`
		}{},
		`"groups":`:                       &deadGroupsJSON{},
		`"log":`:                          &deadDetail{},
		`"count": 212, "estimated_calls"`: &redriveJSON{},
		`"holes":`:                        &holesJSON{},
		`"dropped":`:                      &dropJSON{},
		"\"pauses\": [\n    {\n": &struct {
			Pauses []stopJSON `json:"pauses"`
			Next   string     `json:"next"`
		}{},
		`"fields":`: &struct {
			Fields []fieldJSON `json:"fields"`
		}{},
		`"differences":`: &struct {
			Differences []differenceJSON `json:"differences"`
			Next        string           `json:"next"`
		}{},
		`"changes":`: &struct {
			Account accountJSON  `json:"account"`
			From    string       `json:"from"`
			To      string       `json:"to"`
			Changes []changeJSON `json:"changes"`
			Next    string       `json:"next"`
		}{},
		`"last_hour":`: &struct {
			Limits []limitJSON `json:"limits"`
			Pauses []pointJSON `json:"pauses"`
		}{},
		`"level": "debug"`: &logLevelJSON{},
		`"expected_at":`:   &waitJSON{},
		`"subtasks": [`: &struct {
			Subtasks []subtaskJSON `json:"subtasks"`
			Next     string        `json:"next"`
		}{},
		`"due": [`: &struct {
			Due  []waitingJSON `json:"due"`
			Next string        `json:"next"`
		}{},
		`"consumers": [`: &struct {
			Consumers []consumerJSON `json:"consumers"`
		}{},
		"\"accounts\": [\n    {\n": &struct {
			Accounts []listedAccountJSON `json:"accounts"`
			Next     string              `json:"next"`
		}{},
		`"logins":`: &struct {
			Account  accountJSON   `json:"account"`
			Logins   []loginJSON   `json:"logins"`
			Bindings []bindingJSON `json:"bindings"`
		}{},
		`"coverage": [`: &struct {
			Account  accountJSON    `json:"account"`
			From     string         `json:"from"`
			To       string         `json:"to"`
			Coverage []coverageJSON `json:"coverage"`
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
			if task, ok := answer.(*taskJSON); ok {
				task.settingsJSON = &settingsJSON{} // The decoder cannot set what is not exported.
			}
			decoder := json.NewDecoder(strings.NewReader(body))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(answer), body)
		}
	}
	require.Len(t, seen, len(answers), "each kind of answer has its sample")
}

// What the API says is read by those of the command line and of the first page too, who know no routes.
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
