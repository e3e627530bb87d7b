// Package simclient has a platform's client for a simulated world, and the tables that it fills.
package simclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/engine"
	"adsync/media"
	"adsync/media/mediatest"
	"adsync/simulator"
	"adsync/standalone/verify"

	"github.com/stretchr/testify/require"
)

// Zone is the time zone of the simulated accounts.
var Zone = must(time.LoadLocation("Asia/Shanghai"))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// OfEach returns the number of a world's accounts that makes n for each platform.
func OfEach(n int) int { return n * len(engine.PlatformNames()) }

// World is one platform of a simulated world behind HTTP.
type World struct {
	Media   string
	Address string
}

// Serve returns a function that makes a fresh world's server for a platform. The world stands still, in the afternoon
// unless the configuration has another start.
func Serve(mediaName string) func(t *testing.T) *mediatest.Server {
	return ServeWorld(simulator.Config{Accounts: OfEach(60), Seed: 7}, mediaName)
}

// ServeWorld is Serve for another world.
func ServeWorld(cfg simulator.Config, mediaName string) func(t *testing.T) *mediatest.Server {
	return func(t *testing.T) *mediatest.Server {
		t.Helper()
		cfg := cfg
		if cfg.Frozen = true; cfg.Start.IsZero() {
			cfg.Start = time.Date(2026, 11, 21, 15, 34, 56, 0, Zone)
		}
		sim, err := simulator.New(cfg)
		require.NoError(t, err)
		server := httptest.NewServer(sim.Handler())
		t.Cleanup(func() {
			server.Close()
			require.NoError(t, sim.Close())
		})
		w := World{Media: mediaName, Address: server.URL}
		var limits []any
		for _, scope := range []string{"app", "account"} {
			for _, seconds := range []int{1, 60} {
				limits = append(limits, map[string]any{"media": mediaName, "endpoint": "*", "scope": scope,
					"period_seconds": seconds, "limit": 0})
			}
		}
		for _, r := range engine.Platform(mediaName).Limits() {
			limits = append(limits, map[string]any{"media": mediaName, "endpoint": r.Endpoint, "scope": r.Scope,
				"period_seconds": int(r.Period.Seconds()), "limit": 0})
		}
		w.Order(t, "limits", map[string]any{"rules": limits})
		return w.server(t, cfg.Start)
	}
}

func (w World) server(t *testing.T, now time.Time) *mediatest.Server {
	t.Helper()
	var credentials map[string]struct {
		BasePath string `json:"base_url_path"`
		Apps     []struct {
			AppID  string `json:"app_id"`
			Secret string `json:"secret"`
			Logins []struct {
				UserID   string   `json:"user_id"`
				UserName string   `json:"user_name"`
				Access   string   `json:"access_token"`
				Refresh  string   `json:"refresh_token"`
				Accounts []string `json:"account_ids"`
			} `json:"logins"`
		} `json:"apps"`
	}
	require.NoError(t, json.Unmarshal(w.Get(t, "credentials", nil), &credentials))
	app := credentials[w.Media].Apps[0]
	login := app.Logins[0]
	ads := map[string]map[string]Fact{} // by account
	for _, line := range w.Truth(t, url.Values{"kind": {w.AdKind()}}) {
		if ads[line.Account] == nil {
			ads[line.Account] = map[string]Fact{}
		}
		ads[line.Account][line.Object] = line
	}
	accounts := slices.Clone(login.Accounts)
	slices.SortStableFunc(accounts, func(a, b string) int { return len(ads[b]) - len(ads[a]) })
	fault := func(t *testing.T, kind string, more map[string]any) {
		t.Helper()
		order := map[string]any{"kind": kind, "media": w.Media}
		maps.Copy(order, more)
		w.Order(t, "faults", order)
	}
	return &mediatest.Server{
		BaseURL:   w.Address + credentials[w.Media].BasePath,
		App:       media.App{ID: app.AppID, Secret: secret.NewText(app.Secret)},
		Access:    secret.NewText(login.Access),
		Refresh:   secret.NewText(login.Refresh),
		Login:     media.Login{ID: login.UserID, Name: login.UserName},
		Names:     w.names(t),
		Accounts:  accounts,
		Zone:      Zone,
		Today:     day.Of(now, Zone),
		Objects:   w.objects(ads),
		Rows:      w.rows,
		Balance:   w.balance,
		Flow:      w.flow,
		Expire:    func(t *testing.T) { t.Helper(); fault(t, "token_death", nil) },
		OverLimit: func(t *testing.T) { t.Helper(); fault(t, "over_limit", map[string]any{"count": 1}) },
		Fail: func(t *testing.T, calls int) {
			t.Helper()
			fault(t, "status", map[string]any{"status": 503, "count": calls})
		},
		Cut: func(t *testing.T, calls int) { t.Helper(); fault(t, "half_body", map[string]any{"count": calls}) },
	}
}

// accounts returns the truth about all accounts by their ids.
func (w World) accounts(t *testing.T) map[string]Fact {
	t.Helper()
	accounts := map[string]Fact{}
	for _, line := range w.Truth(t, url.Values{"kind": {"account"}}) {
		accounts[line.Account] = line
	}
	return accounts
}

// names returns the names of all accounts by their ids.
func (w World) names(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	for id, account := range w.accounts(t) {
		names[id] = account.Name
	}
	return names
}

// Authorise agrees on a platform's page, and returns the query of the address that it redirects to.
func Authorise(t *testing.T, page string) url.Values {
	t.Helper()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, http.NoBody)
	require.NoError(t, err)
	resp, err := browser.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusFound, resp.StatusCode)
	callback, err := resp.Location()
	require.NoError(t, err)
	return callback.Query()
}

// objects returns a function that lists the objects of a list by the truth. ads are the ads by account.
func (w World) objects(ads map[string]map[string]Fact) func(t *testing.T, list, account string) []mediatest.Object {
	return func(t *testing.T, list, account string) []mediatest.Object {
		t.Helper()
		objects := []mediatest.Object{}
		kind, named := verify.Kind(w.Media + "_" + list)
		for _, line := range w.Truth(t, url.Values{"kind": {kind}, "account": {account}}) {
			if line.Unlisted {
				continue
			}
			if !named {
				line.Name = ""
				if line.Parent != "" { // It has no time of its own either.
					line.Modified = ads[account][line.Parent].Modified
				}
			}
			objects = append(objects, mediatest.Object{
				ID: line.Object, Name: line.Name, Modified: time.Unix(line.Modified, 0).UTC(), Deleted: line.Deleted,
			})
		}
		return objects
	}
}

// rows returns the rows of an account's report by the truth.
func (w World) rows(t *testing.T, report, level, account string, from, to day.Day) []mediatest.Row {
	t.Helper()
	level = map[string]string{"account": "account", "campaign": "project", "adgroup": "ad", "creative": "creative"}[level]
	rows := []mediatest.Row{}
	for _, line := range w.Truth(t, url.Values{
		"kind": {report}, "level": {level}, "account": {account}, "from": {from.String()}, "to": {to.String()},
	}) {
		rows = append(rows, mediatest.Row{Day: day.Day(line.Day), Hour: line.Hour, Object: line.Object,
			Metrics: verify.Metrics(w.Media, report, line.Metrics)})
	}
	return rows
}

// AdKind returns the truth's kind of the platform's ads.
func (w World) AdKind() string {
	for _, list := range engine.Platform(w.Media).Lists() {
		if list.Level == "adgroup" {
			kind, _ := verify.Kind(list.Table.Name)
			return kind
		}
	}
	return ""
}

// Fact is a line of the simulator's truth.
type Fact struct {
	Account  string           `json:"account"`
	Day      string           `json:"day"`
	Hour     int              `json:"hour"`
	Object   string           `json:"object"`
	Metrics  map[string]int64 `json:"metrics"`
	Name     string           `json:"name"`
	Modified int64            `json:"modified"`
	Deleted  bool             `json:"deleted"`
	Parent   string           `json:"parent"`
	Unlisted bool             `json:"unlisted"`
	Kind     string           `json:"kind"`
	Currency string           `json:"currency"`
	Zone     string           `json:"timezone"`
	Count    *int             `json:"count"`

	line json.RawMessage
}

// Truth reads a part of the simulator's truth about the platform.
func (w World) Truth(t *testing.T, query url.Values) []Fact {
	t.Helper()
	query.Set("media", w.Media)
	lines := bufio.NewScanner(bytes.NewReader(w.Get(t, "truth", query)))
	lines.Buffer(nil, 1<<20)
	var facts []Fact
	for lines.Scan() {
		var f Fact
		require.NoError(t, json.Unmarshal(lines.Bytes(), &f))
		f.line = bytes.Clone(lines.Bytes())
		if f.Count != nil {
			require.Len(t, facts, *f.Count)
			return facts
		}
		facts = append(facts, f)
	}
	require.Fail(t, "the truth has no last line", "%v", query)
	return nil
}

// Get reads an answer of the control API.
func (w World) Get(t *testing.T, path string, query url.Values) []byte {
	t.Helper()
	return w.Send(t, http.MethodGet, path+"?"+query.Encode(), nil)
}

// Order posts to the control API.
func (w World) Order(t *testing.T, path string, order any) {
	t.Helper()
	body, err := json.Marshal(order)
	require.NoError(t, err)
	w.Send(t, http.MethodPost, path, body)
}

// Send sends a request to the control API, which must accept it.
func (w World) Send(t *testing.T, method, path string, body []byte) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.Address+"/_sim/"+path, bytes.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 300, "%s %s: %s", method, path, answer)
	return answer
}
