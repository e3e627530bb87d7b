// Package simtest starts simulators for the tests of single simulated platforms, and calls them over HTTP.
package simtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator"
	"adsync/simulator/control"
	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// Noon is when the world's clock is frozen: 2026-11-15 12:34:56 in China, a Sunday.
var Noon = time.Date(2026, 11, 15, 12, 34, 56, 0, world.Zone)

// seed is the seed of the world.
const seed = 7

// Fields is a JSON object.
type Fields = map[string]any

// Sim is a simulator without call limits, whose clock is frozen at Noon, as seen by a client of one platform.
type Sim struct {
	*simulator.Simulator
	t    testing.TB
	spec *world.Spec
	// twin is a second instance of the same world, without any orders.
	twin *world.World
}

// New starts a simulator with n accounts of p, the platform under test, and with no other platform.
func New(t testing.TB, p platform.Platform, n int) *Sim {
	t.Helper()
	return NewAt(t, p, n, 0, Noon)
}

// NewAt is New with one account in so many in USD, and with another time of the clock.
func NewAt(t testing.TB, p platform.Platform, n, usd int, now time.Time) *Sim {
	t.Helper()
	s, err := simulator.New(simulator.Config{Accounts: n, Seed: seed, Start: now, Frozen: true, USD: usd,
		Platforms: []platform.Platform{p}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	x := &Sim{Simulator: s, t: t, spec: p.Spec(), twin: &world.World{
		Seed: seed, Accounts: n, Usd: usd, Currencies: true, Specs: []*world.Spec{p.Spec()},
		Lives: world.NewLives(), Edits: world.NewAdEdits(), Corrections: world.NewCorrections(),
	}}
	rules := slices.Clone(p.Spec().Limits)
	for i := range rules {
		rules[i].Limit = 0
	}
	x.Order("limits", map[string][]limit.Rule{"rules": rules})
	return x
}

// Account returns an account of the platform by its index.
func (s *Sim) Account(index int) *world.Account {
	a := s.twin.Account(s.spec, index)
	return &a
}

// Find returns the first account of a class among the first 40.
func (s *Sim) Find(class world.Class) *world.Account {
	s.t.Helper()
	for i := range 40 {
		if a := s.Account(i); a.Class == class {
			return a
		}
	}
	require.Fail(s.t, "no account has the class", class)
	return nil
}

// Now returns the world's time in Unix seconds.
func (s *Sim) Now() int64 { return s.Clock().Now().Unix() }

// Objects returns an account's ads in the truth.
func (s *Sim) Objects(a *world.Account) []world.Object {
	return (&world.View{Now: s.Now(), Corrections: s.twin.Corrections}).TrueObjects(a)
}

// Credentials returns the credentials of the platform's first app, which the first 1000 accounts share.
func (s *Sim) Credentials() control.AppCredentials {
	s.t.Helper()
	return s.AppCredentials(0)
}

// AppCredentials returns the credentials of the platform's n-th app.
func (s *Sim) AppCredentials(n int) control.AppCredentials {
	s.t.Helper()
	var all map[string]control.Credentials
	w := s.Do(httptest.NewRequest(http.MethodGet, control.Prefix+"credentials", nil))
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &all))
	return all[s.spec.Name].Apps[n]
}

// Token returns the access token of the login that reaches an account.
func (s *Sim) Token(a *world.Account) string {
	s.t.Helper()
	for _, login := range s.Credentials().Logins {
		if slices.Contains(login.AccountIDs, Text(a.ID)) {
			return login.AccessToken
		}
	}
	require.Fail(s.t, "no login reaches the account", Text(a.ID))
	return ""
}

// Do sends a request to the simulator.
func (s *Sim) Do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// Order posts an order to the control API, which must accept it, and returns the answer.
func (s *Sim) Order(path string, order any) (answer any) {
	s.t.Helper()
	raw, err := json.Marshal(order)
	require.NoError(s.t, err)
	w := s.Do(httptest.NewRequest(http.MethodPost, control.Prefix+path, bytes.NewReader(raw)))
	require.Less(s.t, w.Code, 300, "%s", w.Body)
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer
}

// Text returns an id as text.
func Text(id int64) string { return strconv.FormatInt(id, 10) }

// JSON returns a value as JSON text.
func JSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // Tests pass only values that have a JSON form.
	}
	return string(raw)
}

// Query returns parameters from pairs of names and values.
func Query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q
}

// Decoded decodes an answer without losing digits.
func Decoded(t testing.TB, w *httptest.ResponseRecorder) Fields {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	d.UseNumber()
	var v Fields
	require.NoError(t, d.Decode(&v), "%s", w.Body)
	return v
}

// Code returns the code of an answer.
func Code(t testing.TB, w *httptest.ResponseRecorder) int {
	t.Helper()
	n, err := Decoded(t, w)["code"].(json.Number).Int64()
	require.NoError(t, err)
	return int(n)
}

// Data returns the data of an answer, which must succeed.
func Data(t testing.TB, w *httptest.ResponseRecorder) Fields {
	t.Helper()
	v := Decoded(t, w)
	require.Equal(t, json.Number("0"), v["code"], "%s", w.Body)
	return v["data"].(Fields)
}

// Pages calls get for each page until the last, and checks that all have the same total.
func Pages(t testing.TB, size int, get func(page int) (rows []any, info Fields)) (all []any) {
	t.Helper()
	for page := 1; ; page++ {
		rows, info := get(page)
		all = append(all, rows...)
		total, err := info["total_number"].(json.Number).Int64()
		require.NoError(t, err)
		if page*size >= int(total) {
			require.Len(t, all, int(total))
			require.Equal(t, json.Number(fmt.Sprint((int(total)+size-1)/size)), info["total_page"])
			return all
		}
		require.Len(t, rows, size)
	}
}

// Assume changes behaviour of the platform that its documents do not state.
func (s *Sim) Assume(name string, value int64) {
	s.t.Helper()
	s.Order("limits", Fields{"assumed": Fields{s.spec.Name: Fields{name: value}}})
}

// Texts returns a field of rows, as text.
func Texts(rows []Fields, name string) (list []string) {
	for _, x := range rows {
		switch v := x[name].(type) {
		case json.Number:
			list = append(list, v.String())
		case string:
			list = append(list, v)
		}
	}
	return list
}

// Number returns a number of a row.
func Number(t testing.TB, x Fields, name string) int64 {
	t.Helper()
	n, err := x[name].(json.Number).Int64()
	require.NoError(t, err, name)
	return n
}
