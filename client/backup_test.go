package client

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBackUpDead_WritesAllPages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RequestURI() {
		case "/api/v1/dead?limit=500&media=tencent":
			_, _ = io.WriteString(w,
				`{"dead": [{"run_id": "7", "account_id": "1", "error": "a\nb"}, {"run_id": "8"}], "next": "x"}`)
		case "/api/v1/dead?after=x&limit=500&media=tencent":
			_, _ = io.WriteString(w, `{"dead": [{"run_id": "9"}], "next": ""}`)
		default:
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"status": 422, "detail": "There is no platform otto."}`)
		}
	}))
	t.Cleanup(server.Close)
	c := New(server.URL, "")
	var file strings.Builder
	n, err := c.BackUpDead(t.Context(), ListDeadParams{Media: "tencent"}, &file)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	lines := strings.Split(strings.TrimSpace(file.String()), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[0], `"run_id":"7"`)
	require.Contains(t, lines[0], `"error":"a\nb"`)
	require.Contains(t, lines[2], `"run_id":"9"`)

	n, err = c.BackUpDead(t.Context(), ListDeadParams{Media: "tencent"}, full{})
	require.ErrorIs(t, err, errFull)
	require.Zero(t, n)
	_, err = c.BackUpDead(t.Context(), ListDeadParams{Media: "otto"}, &file)
	var problem *Problem
	require.ErrorAs(t, err, &problem)
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
