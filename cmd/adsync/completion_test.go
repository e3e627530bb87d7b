package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/engine"
)

// completed returns the completions of a command line's last word.
func completed(environ []string, args ...string) (words []string, directive string) {
	r := adsync(environ, append([]string{"__completeNoDesc"}, args...)...)
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestCompletion_OffersNamesAndFixedWords(t *testing.T) {
	t.Parallel()
	platforms := append(engine.PlatformNames(), "zenith")
	accountsOf := []string{"holes", "untrusted"}
	for _, name := range platforms {
		accountsOf = append(accountsOf, name+"/")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{
			"/api/v1/tasks": `{"tasks": [{"name": "system.summary", "lane": "important"},
				{"name": "tulip.balance", "lane": "normal"}, {"name": "tulip.probe", "lane": "normal"}]}`,
			"/api/v1/platforms": `{"platforms": [{"media": "zenith"}]}`,
		}[r.URL.Path]
		if answer == "" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	const nothing, nothingAndNoSpace = ":4", ":6"
	for _, c := range []struct {
		line      []string
		want      []string
		directive string
	}{
		{[]string{"tasks", "show", ""}, []string{"system.summary", "tulip.balance", "tulip.probe"}, nothing},
		{[]string{"tasks", "run", "tulip.b"}, []string{"tulip.balance"}, nothing},
		{[]string{"tasks", "run", "tulip.balance", ""}, []string{}, nothing},
		{[]string{"runs", "list", "--task", "s"}, []string{"system.summary"}, nothing},
		{[]string{"dead", "list", "--task=tulip.p"}, []string{"tulip.probe"}, nothing},
		{[]string{"subtasks", "due", "--lane", ""}, []string{"important", "normal"}, nothing},
		{[]string{"runs", "list", "--state", ""}, []string{"fanning_out", "running", "succeeded", "partial", "failed",
			"cancelled", "skipped", "expired"}, nothing},
		{[]string{"fields", "list", "--state", ""}, []string{"asked", "trying", "off", "retired", "refused"}, nothing},
		{[]string{"limits", "--media", ""}, platforms, nothing},
		{[]string{"tasks", "create", "--media", ""}, append(slices.Clone(platforms), "system"), nothing},
		{[]string{"platforms", "put", ""}, []string{"zenith"}, nothing},
		{[]string{"fields", "add", ""}, engine.PlatformNames(), nothing},
		{[]string{"pause", ""}, []string{"run", "task", "account", "media"}, nothing},
		{[]string{"cancel", "media", ""}, platforms, nothing},
		{[]string{"cancel", "task", "s"}, []string{"system.summary"}, nothing},
		{[]string{"coverage", ""}, accountsOf, nothingAndNoSpace},
		{[]string{"overview", "--output", ""}, []string{"table", "json"}, nothing},
		{[]string{"version", "--output", ""}, []string{"text", "json"}, nothing},
		{[]string{"serve", "--role", ""}, []string{"producer", "consumer", "jobs", "all"}, nothing},
		{[]string{"token", "new", "--role", ""}, []string{"viewer", "operator", "admin"}, nothing},
		{[]string{"runs", ""}, []string{"list", "rerun", "show"}, nothing},
		{[]string{"consumers", ""}, []string{}, nothing},
		{[]string{"tasks", "create", "--file", ""}, []string{}, ":0"}, // Files.
		{[]string{"destinations", "put", "x", "--password-file", ""}, []string{}, ":0"},
		{[]string{"subscriptions", "put", "x", "--on-exists", ""}, []string{"replace", "version", "refuse"}, nothing},
		{[]string{"publications", "list", "--state", ""}, []string{"waiting", "planned", "rendered", "uploaded", "verified",
			"visible", "published", "failed", "cancelled", "superseded", "empty"}, nothing},
	} {
		got, directive := completed([]string{"ADSYNC_SERVER=" + server.URL, "ADSYNC_TOKEN=secret"}, c.line...)
		require.Equal(t, c.want, got, c.line)
		require.Equal(t, c.directive, directive, c.line)
	}
	// If the API does not answer, it offers nothing and prints no error.
	for _, environ := range [][]string{{"ADSYNC_SERVER=" + server.URL}, {"ADSYNC_SERVER=http://127.0.0.1:1"},
		{"ADSYNC_CONFIG=/no/such/file"}} {
		got, directive := completed(environ, "tasks", "show", "")
		require.Empty(t, got)
		require.Equal(t, nothing, directive)
	}
}

// The script works in a bash that has no package of completions.
func TestCompletion_InBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	const script = `
adsync() { "$ADSYNC_TEST_BINARY" "$@"; }
compopt() { :; }                          # It works only in a completion that a person has asked for.
_init_completion() {
	COMPREPLY=() words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
}
source <(adsync completion bash)
complete -p adsync > /dev/null || exit 1
try() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9; __start_adsync; echo "${COMPREPLY[*]}"; }
try adsync subt
try adsync runs list --state f
try adsync pause media `
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", script+engine.PlatformNames()[0])
	cmd.Env = slices.Concat(os.Environ(), []string{"ADSYNC_TEST_MAIN=1", "ADSYNC_TEST_BINARY=" + os.Args[0]})
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "subtasks\nfanning_out failed\n"+engine.PlatformNames()[0]+"\n", string(out))
}
