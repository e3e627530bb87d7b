package kuaishou_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/kuaishou"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

type fields = simtest.Fields

const base = "/kuaishou/rest/openapi/"

// sim is a simulator with a client of the platform.
type sim struct {
	*simtest.Sim
	t *testing.T
}

func newSim(t *testing.T, accounts int) *sim {
	t.Helper()
	return &sim{simtest.New(t, kuaishou.New(), accounts), t}
}

// post sends a body with a token.
func (s *sim) post(token, path string, body any) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, base+path, strings.NewReader(simtest.JSON(body)))
	r.Header.Set("Access-Token", token)
	return s.Do(r)
}

// call makes a call for an account, with its login's token.
func (s *sim) call(a *world.Account, path string, body fields) *httptest.ResponseRecorder {
	all := fields{"advertiser_id": a.ID}
	maps.Copy(all, body)
	return s.post(s.Token(a), path, all)
}

// rows returns all rows of a list, page by page.
func (s *sim) rows(a *world.Account, path string, body fields) (rows []fields) {
	s.t.Helper()
	size := 100
	if strings.Contains(path, "report") {
		size = 2000
	}
	for page := 1; ; page++ {
		all := fields{"page": page, "page_size": size}
		maps.Copy(all, body)
		d := simtest.Data(s.t, s.call(a, path, all))
		for _, x := range d["details"].([]any) {
			rows = append(rows, x.(fields))
		}
		total, err := d["total_count"].(json.Number).Int64()
		require.NoError(s.t, err)
		if page*size >= int(total) {
			require.Len(s.t, rows, int(total))
			return rows
		}
		require.Len(s.t, d["details"], size, "a page that is not the last")
	}
}
