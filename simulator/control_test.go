package simulator

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/control"
)

func TestControl_ClockIsReadAndSet(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	want := fields{"now": "2026-11-15T04:34:56Z", "frozen": true}
	got := decoded(t, s.control(http.MethodGet, "clock", nil))
	delete(got, "speed")
	require.Equal(t, want, got)
	require.Equal(t, "2026-11-20T00:00:00Z", s.order("clock", fields{"now": "2026-11-20T08:00:00+08:00"})["now"])
	require.Equal(t, false, s.order("clock", fields{"frozen": false, "speed": 2})["frozen"])
	for _, bad := range []fields{{"now": "2024-01-01T00:00:00Z"}, {"speed": 0}, {"freeze": true}, {"now": "noon"}} {
		require.Equal(t, 400, s.control(http.MethodPost, "clock", bad).Code, "%v", bad)
	}
	require.Equal(t, 404, s.control(http.MethodDelete, "clock", nil).Code)
	require.Equal(t, 200, s.control(http.MethodGet, "", nil).Code)
	require.Equal(t, 404, s.do(httptest.NewRequest(http.MethodGet, "/elsewhere", nil)).Code)
}

func TestControl_RefusesPagesOfOtherSites(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	ask := func(method, path, header, value string) int {
		r := httptest.NewRequest(method, "http://127.0.0.1:9090"+path, strings.NewReader(`{"frozen": true}`))
		if header != "" {
			r.Header.Set(header, value)
		}
		return s.do(r).Code
	}
	require.Equal(t, 200, ask(http.MethodPost, "/_sim/clock", "", ""), "a program")
	require.Equal(t, 200, ask(http.MethodPost, "/_sim/clock", "Origin", "http://127.0.0.1:9090"))
	for header, value := range map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"} {
		require.Equal(t, 403, ask(http.MethodPost, "/_sim/clock", header, value))
		require.Equal(t, 403, ask(http.MethodDelete, "/_sim/faults", header, value))
		require.Equal(t, 403, ask(http.MethodPost, "/oceanengine/open_api/oauth2/refresh_token/", header, value))
	}

	// A page whose host name resolves to this machine has the same site: only the host name differs.
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for _, path := range []string{"/_sim/credentials", "/_sim/clock"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		require.NoError(t, err)
		r.Host = "evil.example"
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, 403, answer.StatusCode)
	}
}

func TestControl_CorrectionsChangeTheTruthOfTheirDaysOnly(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.account("oceanengine", 0)
	daily := set{kind: "report_daily", level: "ad", from: "2026-11-05", to: "2026-11-15"}
	before := s.truthOf("oceanengine", daily)
	order := fields{"media": "oceanengine", "account": idText(a.ID), "from": "2026-11-10", "to": "2026-11-12",
		"percent": 7}
	s.order("truth/correct", order)
	after := s.truthOf("oceanengine", daily)
	changed := 0
	for k, row := range before {
		day := strings.Split(k, "/")[1]
		if !strings.HasPrefix(k, idText(a.ID)+"/") || day < "2026-11-10" || day > "2026-11-12" {
			require.Equal(t, row, after[k])
		} else {
			require.NotEqual(t, row, after[k])
			changed++
		}
	}
	require.Greater(t, changed, 50)
	require.Equal(t, after, s.pull("oceanengine", daily), "the correction is served")
	for _, x := range sets("oceanengine") {
		require.Zero(t, s.pull("oceanengine", x).differences(s.truthOf("oceanengine", x)))
	}
	for name, bad := range map[string]fields{
		"media": {"media": "x"}, "account": {"account": "1"}, "from": {"from": "1.1."}, "to": {"to": "2026-11-09"},
		"percent": {"percent": 0}, "more": {"more": 1},
	} {
		o := maps.Clone(order)
		maps.Copy(o, bad)
		require.Equal(t, 400, s.control(http.MethodPost, "truth/correct", o).Code, name)
	}
}

func TestControl_ACorrectionOfAnAdRemovesItsRows(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.account("tencent", 0)
	daily := set{kind: "report_daily", level: "ad", from: "2026-11-12", to: "2026-11-13"}
	before := s.truthOf("tencent", daily)
	var gone string // a row of the account
	for k := range before {
		if strings.HasPrefix(k, idText(a.ID)+"/2026-11-13/") {
			gone = k
		}
	}
	order := fields{
		"media": "tencent", "account": idText(a.ID), "object": gone[strings.LastIndex(gone, "/")+1:], "from": "2026-11-13",
		"to": "2026-11-13", "percent": -100,
	}
	s.order("truth/correct", order)
	delete(before, gone)
	require.Equal(t, before, s.truthOf("tencent", daily))
	for _, x := range sets("tencent") {
		require.Zero(t, s.pull("tencent", x).differences(s.truthOf("tencent", x)))
	}
	order["object"] = "an ad"
	require.Equal(t, 400, s.control(http.MethodPost, "truth/correct", order).Code)
}

// The figures that a client pulled are compared with those published at that moment, not with later ones.
func TestControl_ReturnsTheTruthPublishedAtAMoment(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	a := s.account("tencent", 0)
	ask := func(at string) []string {
		return s.truthLines("media", "tencent", "kind", "report_hourly", "level", "ad", "account", idText(a.ID), "from",
			"2026-11-13", "to", "2026-11-16", "at", at)
	}
	type published struct {
		at   time.Time
		rows []string
	}
	var told []published
	// the last one is after late figures were published
	for _, at := range []time.Time{noon, noon.Add(time.Hour), noon.Add(14 * time.Hour)} {
		s.order("clock", fields{"now": at})
		told = append(told, published{at, ask("")})
		s.order("clock", fields{"now": at.Add(time.Minute)})
		s.order("truth/correct", fields{"media": "tencent", "account": idText(a.ID), "from": "2026-11-14", "to": "2026-11-14",
			"percent": 7})
		told = append(told, published{at.Add(time.Minute), ask("")})
	}
	for i, p := range told {
		require.Equal(t, p.rows, ask(p.at.Format(time.RFC3339)), "%s", p.at)
		require.Equal(t, p.rows, ask(idText(p.at.UnixMilli())), "%s", p.at)
		if i > 0 {
			require.NotEqual(t, told[i-1].rows, p.rows, "%s", p.at)
		}
	}

	now := s.sim.Clock.Now()
	order := fields{"media": "tencent", "account": idText(a.ID), "from": "2026-11-14", "to": "2026-11-14", "percent": 7,
		"at": now.Unix() - 1}
	require.Equal(t, 400, s.control(http.MethodPost, "truth/correct", order).Code, "published figures do not change")
	order["at"] = now.Unix() + 10
	s.order("truth/correct", order)
	before := ask("")
	require.Equal(t, told[len(told)-1].rows, before, "it is not published yet")
	s.order("clock", fields{"now": now.Add(10 * time.Second)})
	require.NotEqual(t, before, ask(""))
}

func TestControl_TruthRefusesInvalidQueries(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	for _, bad := range []string{
		"", "media=x&kind=account", "media=tencent&kind=promotion", "media=oceanengine&kind=adgroup",
		"media=tencent&kind=report_daily&from=2026-11-01&to=2026-11-02",
		"media=tencent&kind=report_daily&level=ad&from=2026-11-01",
		"media=tencent&kind=report_daily&level=ad&from=2026-11-02&to=2026-11-01",
		"media=tencent&kind=report_daily&level=ad&from=2025-01-01&to=2026-11-01", "media=tencent&kind=account&account=1",
		"media=tencent&kind=account&at=noon", "media=tencent&kind=account&at=2024-01-01T00:00:00Z",
		"media=tencent&kind=account&at=1763180000",
	} {
		require.Equal(t, 400, s.do(httptest.NewRequest(http.MethodGet, "/_sim/truth?"+bad, nil)).Code, bad)
	}
	one := s.truthLines("media", "tencent", "kind", "account", "account", idText(s.account("tencent", 3).ID))
	require.Len(t, one, 1)
	require.Equal(t, s.truthLines("media", "tencent", "kind", "account")[3], one[0])
}

func TestControl_LimitsRefuseBadRules(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	good := fields{"media": "tencent", "endpoint": "*", "scope": "app", "period_seconds": 1, "limit": 1}
	for _, bad := range []fields{{"media": "x"}, {"endpoint": ""}, {"scope": "user"}, {"period_seconds": 0}, {"limit": -1},
		{"per": 1}} {
		rule := maps.Clone(good)
		maps.Copy(rule, bad)
		require.Equal(t, 400, s.control(http.MethodPost, "limits", fields{"rules": []fields{good, rule}}).Code, "%v", bad)
	}
	require.Equal(t, 400, s.control(http.MethodPost, "limits", fields{"old_access_survives": fields{"x": true}}).Code)
	require.Equal(t, s.spec("tencent").Limits, s.sim.Limits.Settings().Rules[:3], "none of the rules is in force")
}

// The parts of a curl command in the documentation.
var (
	curlWord = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
	variable = regexp.MustCompile(`\$[A-Z_]+`)
)

// parseCurl returns the request that a curl command of the documentation would send.
func parseCurl(t *testing.T, line string, values map[string]string) *http.Request {
	t.Helper()
	line = variable.ReplaceAllStringFunc(line, func(name string) string {
		v, ok := values[name[1:]]
		require.True(t, ok, "%s in %s", name, line)
		return v
	})
	method, target, body := "", "", []string(nil)
	header := http.Header{}
	asQuery := false
	words := curlWord.FindAllString(line, -1)
	for i := 1; i < len(words); i++ {
		next := func() string { i++; return strings.Trim(words[i], `'"`) }
		switch word := strings.Trim(words[i], `'"`); word {
		case "-s":
		case "-G":
			asQuery = true
		case "-X":
			method = next()
		case "-d":
			body = append(body, next())
		case "-H":
			k, v, ok := strings.Cut(next(), ": ")
			require.True(t, ok)
			header.Set(k, v)
		default:
			require.Empty(t, target, "unknown word %q in %s", word, line)
			target = word
		}
	}
	u, err := url.Parse("http://" + target)
	require.NoError(t, err)
	if asQuery {
		u.RawQuery, body = strings.Join(body, "&"), nil
	} else if body != nil && method == "" {
		method = http.MethodPost
	}
	if method == "" {
		method = http.MethodGet
	}
	r := httptest.NewRequest(method, u.String(), strings.NewReader(strings.Join(body, "&")))
	r.Header = header
	return r
}

func TestDocs_EveryExampleWorks(t *testing.T) {
	t.Parallel()
	var pages string
	for _, page := range []string{"simulator.md", "simulator-control.md"} {
		text, err := os.ReadFile("../docs/" + page)
		require.NoError(t, err)
		pages += string(text)
	}
	s := newSim(t, Config{Accounts: 200, Seed: 1, Start: noon, Frozen: true})
	ten, oce := s.account("tencent", 0), s.account("oceanengine", 0)
	app := s.credentials("tencent")
	for _, sample := range []string{app.AppID, idText(ten.ID), app.Logins[0].AccountIDs[1], idText(oce.ID)} {
		if !strings.Contains(pages, sample) { // require.Contains would print the whole page on a failure
			t.Fatalf("%s of this world is not the sample", sample)
		}
	}
	examples := 0
	for line := range strings.Lines(strings.ReplaceAll(pages, "\\\n", "")) {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		examples++
		r := parseCurl(t, strings.TrimSpace(line), map[string]string{
			"TENCENT_TOKEN": s.token(ten), "OCEANENGINE_TOKEN": s.token(oce), "NOW": idText(s.sim.Clock.Now().Unix()),
			"NONCE": "never-used",
		})
		w := s.do(r)
		require.Less(t, w.Code, 300, "%s\n%s", line, w.Body)
		if !strings.HasPrefix(r.URL.Path, control.Prefix) {
			require.NotEmpty(t, data(t, w)["list"], line)
		}
	}
	require.Greater(t, examples, 30)
}
