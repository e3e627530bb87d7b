package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/simulator/fault/trap"
	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is about noon on a Sunday, two years after the start of the world.
var noon = time.Date(2026, 11, 15, 12, 34, 56, 0, world.Zone)

// sim is a simulator with clients of some platforms.
type sim struct {
	*Simulator
	t testing.TB
}

// ofEach returns the number of accounts of a world with n of each platform.
func ofEach(n int) int { return n * len(platforms()) }

// clients holds the listed platforms for which the tests have a client.
var clients = slices.DeleteFunc([]string{"tencent", "oceanengine"}, func(media string) bool {
	return !slices.ContainsFunc(platforms(), func(p platform.Platform) bool { return p.Spec().Name == media })
})

func newSim(t testing.TB, cfg Config) *sim {
	t.Helper()
	if cfg.Accounts == 0 {
		cfg.Accounts = ofEach(40)
	}
	if cfg.Seed == 0 {
		cfg.Seed = 7
	}
	if cfg.Start.IsZero() {
		cfg.Start, cfg.Frozen = noon, true
	}
	s, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &sim{s, t}
}

// unlimited removes all limits.
func (s *sim) unlimited() *sim {
	for _, p := range s.sim.World.Specs {
		for _, r := range p.Limits {
			r.Limit = 0
			s.sim.Limits.Change([]limit.Rule{r}, nil)
		}
	}
	return s
}

// spec returns a platform's Spec. It skips the test if the platform is not in the list of platforms.
func (s *sim) spec(media string) *world.Spec {
	s.t.Helper()
	p := s.sim.World.Spec(media)
	if p == nil {
		s.t.Skip("unknown platform " + media)
	}
	return p
}

// account returns a platform's account by index.
func (s *sim) account(media string, index int) *world.Account {
	a := s.sim.World.Account(s.spec(media), index)
	return &a
}

// find returns the first account of a class.
func (s *sim) find(media string, c world.Class) *world.Account {
	for i := range s.sim.World.Count(s.spec(media)) {
		if a := s.account(media, i); a.Class == c {
			return a
		}
	}
	s.t.Fatalf("no account of class %d", c)
	return nil
}

func (s *sim) truth() *world.View {
	return &world.View{Now: s.sim.Clock.Now().Unix(), Corrections: s.sim.World.Corrections}
}

func (s *sim) token(a *world.Account) string {
	for i, t := range s.sim.Vault.All() {
		if l := s.sim.Vault.Logins[i]; l.Platform == a.Platform && l.Reaches(a.Index) {
			return t.Access
		}
	}
	s.t.Fatal("no login")
	return ""
}

func (s *sim) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func idText(id int64) string { return strconv.FormatInt(id, 10) }

var nonces atomic.Int64

// query returns parameters from pairs.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q
}

// tencentRequest returns a call with the parameters that every call has.
func (s *sim) tencentRequest(token, path string, q url.Values) *http.Request {
	s.spec("tencent")
	all := query("access_token", token, "timestamp", idText(s.sim.Clock.Now().Unix()), "nonce",
		fmt.Sprintf("n%d", nonces.Add(1)))
	maps.Copy(all, q)
	return httptest.NewRequest(http.MethodGet, "/tencent/v3.0/"+path+"?"+all.Encode(), nil)
}

// tencentCall makes a call for an account, with its login's token.
func (s *sim) tencentCall(a *world.Account, path string, pairs ...string) *httptest.ResponseRecorder {
	q := query(pairs...)
	q.Set("account_id", idText(a.ID))
	return s.do(s.tencentRequest(s.token(a), path, q))
}

func (s *sim) oceanRequest(token, path string, q url.Values) *http.Request {
	s.spec("oceanengine")
	r := httptest.NewRequest(http.MethodGet, "/oceanengine/open_api/"+path+"?"+q.Encode(), nil)
	r.Header.Set("Access-Token", token)
	return r
}

func (s *sim) oceanCall(a *world.Account, path string, pairs ...string) *httptest.ResponseRecorder {
	q := query(pairs...)
	q.Set("advertiser_id", idText(a.ID))
	return s.do(s.oceanRequest(s.token(a), path, q))
}

// adsRequest returns a request for the first page of an account's ads, with the token of its login.
func (s *sim) adsRequest(a *world.Account) *http.Request {
	if a.Platform.Name == "tencent" {
		return s.tencentRequest(s.token(a), "adgroups/get", query("account_id", idText(a.ID)))
	}
	return s.oceanRequest(s.token(a), "v3.0/promotion/list/", query("advertiser_id", idText(a.ID)))
}

// ads lists the first page of an account's ads.
func (s *sim) ads(a *world.Account) *httptest.ResponseRecorder { return s.do(s.adsRequest(a)) }

// decoded decodes an answer without losing digits.
func decoded(t testing.TB, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	d.UseNumber()
	var v map[string]any
	require.NoError(t, d.Decode(&v), "%s", w.Body)
	return v
}

func code(t testing.TB, w *httptest.ResponseRecorder) int {
	t.Helper()
	n, err := decoded(t, w)["code"].(json.Number).Int64()
	require.NoError(t, err)
	return int(n)
}

// data returns the data of an answer, which must succeed.
func data(t testing.TB, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	v := decoded(t, w)
	require.Equal(t, json.Number("0"), v["code"], "%s", w.Body)
	return v["data"].(map[string]any)
}

// control calls the control API; body may be nil.
func (s *sim) control(method, path string, body any) *httptest.ResponseRecorder {
	s.t.Helper()
	raw := []byte(nil)
	if body != nil {
		var err error
		raw, err = json.Marshal(body)
		require.NoError(s.t, err)
	}
	return s.do(httptest.NewRequest(method, "/_sim/"+path, bytes.NewReader(raw)))
}

// order posts to the control API, which must accept it.
func (s *sim) order(path string, body any) map[string]any {
	s.t.Helper()
	w := s.control(http.MethodPost, path, body)
	require.Less(s.t, w.Code, 300, "%s", w.Body)
	return decoded(s.t, w)
}

type fields = map[string]any

// truthLines returns a part of the truth from the control API.
func (s *sim) truthLines(pairs ...string) []string {
	s.t.Helper()
	w := s.do(httptest.NewRequest(http.MethodGet, "/_sim/truth?"+query(pairs...).Encode(), nil))
	require.Equal(s.t, http.StatusOK, w.Code, "%s", w.Body)
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	last := lines[len(lines)-1]
	require.Equal(s.t, fmt.Sprintf(`{"count":%d}`, len(lines)-1), last)
	return lines[:len(lines)-1]
}

// trapList returns the traps from the control API.
func (s *sim) trapList() (list []trap.Trap) {
	s.t.Helper()
	w := s.control(http.MethodGet, "traps", nil)
	require.Equal(s.t, http.StatusOK, w.Code, "%s", w.Body)
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &list))
	return list
}
