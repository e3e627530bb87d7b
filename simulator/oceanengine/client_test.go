package oceanengine_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"adsync/simulator/oceanengine"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

type fields = simtest.Fields

// sim is a simulator with a client of the platform.
type sim struct {
	*simtest.Sim
}

func newSim(t *testing.T, accounts int) *sim {
	t.Helper()
	return &sim{simtest.New(t, oceanengine.New(), accounts)}
}

func (s *sim) request(token, path string, q url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/oceanengine/open_api/"+path+"?"+q.Encode(), nil)
	r.Header.Set("Access-Token", token)
	return r
}

// call makes a call for an account, with its login's token.
func (s *sim) call(a *world.Account, path string, pairs ...string) *httptest.ResponseRecorder {
	q := simtest.Query(pairs...)
	q.Set("advertiser_id", simtest.Text(a.ID))
	return s.Do(s.request(s.Token(a), path, q))
}
