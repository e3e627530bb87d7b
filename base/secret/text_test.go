package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"adsync/base/secret"
)

// holder has a secret in a field whose methods fmt may call and in one whose methods it may not.
type holder struct {
	Name    string
	Public  secret.Text
	private secret.Text
	Pointer *secret.Text
	List    []secret.Text
	Map     map[string]secret.Text
}

func TestText_IsNeverSeen(t *testing.T) {
	t.Parallel()
	text := secret.NewText("hunter2")
	h := holder{"x", text, text, &text, []secret.Text{text}, map[string]secret.Text{"k": text}}
	var seen bytes.Buffer
	for _, v := range []any{text, &text, h, &h, []holder{h}, h.private, errors.Join(fmt.Errorf("token %v", text))} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%10.3s"} {
			fmt.Fprintf(&seen, verb+"\n", v)
		}
		fmt.Fprintln(&seen, v)
	}
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&seen, nil), slog.NewTextHandler(&seen, nil)} {
		logger := slog.New(handler).With("token", text)
		logger.Info("a message", "text", text, "pointer", &text, "holder", h, "holders", []holder{h},
			slog.Group("g", "t", text))
	}
	encoded, err := json.Marshal(h)
	require.NoError(t, err)
	seen.Write(encoded)
	encoded, err = yaml.Marshal(h)
	require.NoError(t, err)
	seen.Write(encoded)
	encoded, err = xml.Marshal(text)
	require.NoError(t, err)
	seen.Write(encoded)

	require.NotContains(t, seen.String(), "hunter2")
	require.NotContains(t, seen.String(), fmt.Sprintf("%x", "hunter2"))
	require.NotContains(t, seen.String(), fmt.Sprintf("%X", "hunter2"))
	require.Equal(t, "<secret> <secret>", fmt.Sprintf("%v %s", text, &text))
	require.Equal(t, "hunter2", text.Reveal())
}

func TestText_EmptyReadsAsNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []secret.Text{{}, secret.NewText("")} {
		require.True(t, text.IsZero())
		require.Empty(t, text.Reveal())
		require.Empty(t, fmt.Sprint(text))
		require.Equal(t, secret.Text{}, text)
	}
	require.False(t, secret.NewText("x").IsZero())
}

func TestText_IsReadFromDocuments(t *testing.T) {
	t.Parallel()
	var fromJSON, fromYAML struct{ Token secret.Text }
	require.NoError(t, json.Unmarshal([]byte(`{"token": "hunter2"}`), &fromJSON))
	require.NoError(t, yaml.Unmarshal([]byte(`token: hunter2`), &fromYAML))
	require.Equal(t, "hunter2", fromJSON.Token.Reveal())
	require.Equal(t, "hunter2", fromYAML.Token.Reveal())
}
