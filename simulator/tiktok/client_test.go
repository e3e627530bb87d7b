package tiktok_test

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/tiktok"
	"adsync/simulator/world"
)

type fields = simtest.Fields

const base = "/tiktok/open_api/v1.3/"

// sim is a simulator with a client of the platform.
type sim struct {
	*simtest.Sim
	t *testing.T
}

func newSim(t *testing.T, accounts int) *sim {
	t.Helper()
	return &sim{simtest.New(t, tiktok.New(), accounts), t}
}

// get makes a call by GET with a token.
func (s *sim) get(token, path string, q url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, base+path+"/?"+q.Encode(), nil)
	r.Header.Set("Access-Token", token)
	return s.Do(r)
}

// post makes a call by POST with a token.
func (s *sim) post(token, path string, body any) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, base+path+"/", strings.NewReader(simtest.JSON(body)))
	r.Header.Set("Access-Token", token)
	return s.Do(r)
}

// values returns parameters: texts as they are, other values as JSON.
func values(of fields) url.Values {
	q := url.Values{}
	for name, value := range of {
		text, isText := value.(string)
		if !isText {
			text = simtest.JSON(value)
		}
		q.Set(name, text)
	}
	return q
}

// with returns fields with others added.
func with(x fields, pairs ...any) fields {
	y := fields{}
	maps.Copy(y, x)
	for i := 0; i < len(pairs); i += 2 {
		y[pairs[i].(string)] = pairs[i+1]
	}
	return y
}

// call makes a call by GET for an account, with its login's token.
func (s *sim) call(a *world.Account, path string, q fields) *httptest.ResponseRecorder {
	return s.get(s.Token(a), path, values(with(fields{"advertiser_id": simtest.Text(a.ID)}, pairs(q)...)))
}

func pairs(x fields) (list []any) {
	for name, value := range x {
		list = append(list, name, value)
	}
	return list
}

// rows returns all rows of a list, page by page.
func (s *sim) rows(a *world.Account, path string, q fields) (rows []fields) {
	s.t.Helper()
	const size = 90
	for _, x := range simtest.Pages(s.t, size, func(page int) ([]any, fields) {
		d := simtest.Data(s.t, s.call(a, path, with(q, "page", page, "page_size", size)))
		return d["list"].([]any), d["page_info"].(fields)
	}) {
		rows = append(rows, x.(fields))
	}
	return rows
}

// fen returns an amount in hundredths.
func fen(t testing.TB, value any) int64 {
	t.Helper()
	text, isText := value.(string)
	if !isText {
		text = value.(json.Number).String()
	}
	f, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return int64(math.Round(f * 100))
}
