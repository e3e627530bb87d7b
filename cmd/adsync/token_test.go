package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"adsync/base/httpapi"
	"adsync/base/secret"
)

func TestTokenNew_PrintsTheTokenAndItsEntry(t *testing.T) {
	t.Parallel()
	made := adsync(nil, "token", "new", "--name", "otto", "--role", "operator")
	require.Zero(t, made.code, made.stderr)
	token := strings.TrimSuffix(made.stdout, "\n")
	require.Regexp(t, `^adsync_[A-Za-z0-9_-]{43}$`, token)
	require.NotContains(t, made.stderr, token)

	_, line, _ := strings.Cut(made.stderr, "\n- ")
	var entry struct{ Name, Role, Token string }
	require.NoError(t, yaml.Unmarshal([]byte(line), &entry))
	require.Equal(t, "otto", entry.Name)
	require.Equal(t, "operator", entry.Role)
	require.Equal(t, httpapi.HashToken(secret.NewText(token)), entry.Token)

	environ := []string{"ADSYNC_API_TOKENS=[" + line + "]"}
	checked := adsync(environ, "config", "check", "--for", "standalone")
	require.Zero(t, checked.code, checked.stderr)
	require.NotEqual(t, made.stdout, adsync(nil, "token", "new", "--name", "otto").stdout)

	for _, args := range [][]string{{"--name", ""}, {"--name", "a b"}, {"--name", "otto", "--role", "owner"},
		{"--name", "otto", "more"}} {
		require.Equal(t, exitUsage, adsync(nil, append([]string{"token", "new"}, args...)...).code, args)
	}
}
