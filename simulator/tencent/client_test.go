package tencent_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"adsync/simulator/simtest"
	"adsync/simulator/tencent"
	"adsync/simulator/world"
)

type fields = simtest.Fields

// nonces counts the nonces of calls.
var nonces atomic.Int64

// sim is a simulator with a client of the platform.
type sim struct {
	*simtest.Sim
	t *testing.T
}

func newSim(t *testing.T, accounts int) *sim {
	t.Helper()
	return &sim{simtest.New(t, tencent.New(), accounts), t}
}

// request returns a call with the parameters that every call has.
func (s *sim) request(token, path string, q url.Values) *http.Request {
	all := simtest.Query("access_token", token, "timestamp", simtest.Text(s.Now()), "nonce",
		fmt.Sprintf("n%d", nonces.Add(1)))
	maps.Copy(all, q)
	return httptest.NewRequest(http.MethodGet, "/tencent/v3.0/"+path+"?"+all.Encode(), nil)
}

// call makes a call for an account, with its login's token.
func (s *sim) call(a *world.Account, path string, pairs ...string) *httptest.ResponseRecorder {
	q := simtest.Query(pairs...)
	q.Set("account_id", simtest.Text(a.ID))
	return s.Do(s.request(s.Token(a), path, q))
}

// list returns the rows of a list of the first account.
func (s *sim) list(path string, pairs ...string) []any {
	s.t.Helper()
	return simtest.Data(s.t, s.call(s.Account(0), path, pairs...))["list"].([]any)
}
