package bilibili_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/bilibili"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

type fields = simtest.Fields

const base = "/bilibili/takumi/api/open_api/"

// sim is a simulator with a client of the platform.
type sim struct {
	*simtest.Sim
	t *testing.T
}

func newSim(t *testing.T, accounts int) *sim {
	t.Helper()
	return &sim{simtest.New(t, bilibili.New(), accounts), t}
}

// send sends a call with a token, a Content-Type and a body.
func (s *sim) send(method, token, path, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, base+path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return s.Do(r)
}

// get makes a call by GET, with a token.
func (s *sim) get(token, path string, q url.Values) *httptest.ResponseRecorder {
	return s.send(http.MethodGet, token, path+"?"+q.Encode(), "", "")
}

// call makes a call by POST for an account, with its login's token.
func (s *sim) call(a *world.Account, path string, body fields) *httptest.ResponseRecorder {
	all := fields{"account_id": a.ID}
	maps.Copy(all, body)
	return s.send(http.MethodPost, s.Token(a), path, "application/json", simtest.JSON(all))
}

// about makes a call by GET for an account, with its login's token.
func (s *sim) about(a *world.Account, path string, pairs ...string) *httptest.ResponseRecorder {
	return s.get(s.Token(a), path, simtest.Query(append([]string{"account_id", simtest.Text(a.ID)}, pairs...)...))
}

// data returns the data of an answer, which must succeed, in either envelope.
func data(t testing.TB, w *httptest.ResponseRecorder) any {
	t.Helper()
	v := simtest.Decoded(t, w)
	if _, coded := v["code"]; coded {
		require.Equal(t, json.Number("0"), v["code"], "%s", w.Body)
		require.Equal(t, "success", v["message"])
	} else {
		require.Equal(t, "success", v["status"], "%s", w.Body)
	}
	return v["data"]
}

// pages calls get for each page until an empty one, and returns all rows.
func pages(t testing.TB, size int, get func(page int) *httptest.ResponseRecorder) (rows []fields) {
	t.Helper()
	for page := 1; ; page++ {
		list := data(t, get(page)).([]any)
		if len(list) == 0 {
			return rows
		}
		require.Len(t, rows, (page-1)*size, "an earlier page was not full")
		for _, x := range list {
			rows = append(rows, x.(fields))
		}
	}
}
