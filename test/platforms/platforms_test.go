// Package platforms_test proves the platforms' packages against the simulated platforms, over HTTP.
package platforms_test

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

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/engine"
	"adsync/media"
	"adsync/media/mediatest"
	"adsync/media/oceanengine"
	"adsync/media/tencent"
	"adsync/simulator"
)

func TestTencent(t *testing.T) {
	t.Parallel()
	mediatest.Run(t, tencent.New(), serve(tencent.Name, map[string]string{"adgroup": "adgroup", "dynamic_creative": "creative", "image": "image", "video": "video"}))
}

func TestOceanEngine(t *testing.T) {
	t.Parallel()
	mediatest.Run(t, oceanengine.New(), serve(oceanengine.Name, map[string]string{"promotion": "promotion", "project": "project", "promotion_material": "creative", "image": "image", "video": "video"}))
}

var zone = must(time.LoadLocation("Asia/Shanghai"))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// ofEach is how many accounts a world has that has so many of each platform.
func ofEach(n int) int { return n * len(engine.PlatformNames()) }

// world is a simulated world behind HTTP.
type world struct {
	media   string
	address string
}

// serve returns what makes a fresh world's server for a platform, whose lists are of kinds of the world's truth. The world stands
// still, in the afternoon if nothing else is said.
func serve(mediaName string, kinds map[string]string) func(t *testing.T) *mediatest.Server {
	return serveWorld(simulator.Config{Accounts: ofEach(60), Seed: 7}, mediaName, kinds)
}

func serveWorld(cfg simulator.Config, mediaName string, kinds map[string]string) func(t *testing.T) *mediatest.Server {
	return func(t *testing.T) *mediatest.Server {
		t.Helper()
		cfg := cfg
		if cfg.Frozen = true; cfg.Start.IsZero() {
			cfg.Start = time.Date(2026, 11, 21, 15, 34, 56, 0, zone)
		}
		sim, err := simulator.New(cfg)
		require.NoError(t, err)
		server := httptest.NewServer(sim.Handler())
		t.Cleanup(func() {
			server.Close()
			require.NoError(t, sim.Close())
		})
		w := world{media: mediaName, address: server.URL}
		var limits []any
		for _, scope := range []string{"app", "account"} {
			for _, seconds := range []int{1, 60} {
				limits = append(limits, map[string]any{"media": mediaName, "endpoint": "*", "scope": scope, "period_seconds": seconds, "limit": 0})
			}
		}
		w.order(t, "limits", map[string]any{"rules": limits})
		return w.server(t, cfg.Start, kinds)
	}
}

func (w world) server(t *testing.T, now time.Time, kinds map[string]string) *mediatest.Server {
	t.Helper()
	var credentials map[string]struct {
		BasePath string `json:"base_url_path"`
		Apps     []struct {
			AppID  string `json:"app_id"`
			Secret string `json:"secret"`
			Logins []struct {
				Access   string   `json:"access_token"`
				Refresh  string   `json:"refresh_token"`
				Accounts []string `json:"account_ids"`
			} `json:"logins"`
		} `json:"apps"`
	}
	require.NoError(t, json.Unmarshal(w.get(t, "credentials", nil), &credentials))
	app := credentials[w.media].Apps[0]
	login := app.Logins[0]
	ads := map[string]map[string]fact{} // by account
	for _, line := range w.truth(t, url.Values{"kind": {w.adKind()}}) {
		if ads[line.Account] == nil {
			ads[line.Account] = map[string]fact{}
		}
		ads[line.Account][line.Object] = line
	}
	accounts := slices.Clone(login.Accounts)
	slices.SortStableFunc(accounts, func(a, b string) int { return len(ads[b]) - len(ads[a]) })
	fault := func(t *testing.T, kind string, more map[string]any) {
		t.Helper()
		order := map[string]any{"kind": kind, "media": w.media}
		maps.Copy(order, more)
		w.order(t, "faults", order)
	}
	return &mediatest.Server{
		BaseURL:  w.address + credentials[w.media].BasePath,
		App:      media.App{ID: app.AppID, Secret: secret.NewText(app.Secret)},
		Access:   secret.NewText(login.Access),
		Refresh:  secret.NewText(login.Refresh),
		Accounts: accounts,
		Zone:     zone,
		Today:    day.Of(now, zone),
		Objects: func(t *testing.T, list, account string) []mediatest.Object {
			t.Helper()
			objects := []mediatest.Object{}
			for _, line := range w.truth(t, url.Values{"kind": {kinds[list]}, "account": {account}}) {
				if line.Unlisted {
					continue
				}
				if list == "promotion_material" {
					// It has no name and no time of its own.
					line.Name, line.Modified = "", ads[account][line.Parent].Modified
				}
				objects = append(objects, mediatest.Object{
					ID: line.Object, Name: line.Name, Modified: time.Unix(line.Modified, 0).UTC(), Deleted: line.Deleted,
				})
			}
			return objects
		},
		Rows: func(t *testing.T, report, level, account string, from, to day.Day) []mediatest.Row {
			t.Helper()
			level = map[string]string{"account": "account", "campaign": "project", "adgroup": "ad", "creative": "creative"}[level]
			rows := []mediatest.Row{}
			for _, line := range w.truth(t, url.Values{
				"kind": {report}, "level": {level}, "account": {account}, "from": {from.String()}, "to": {to.String()},
			}) {
				rows = append(rows, mediatest.Row{Day: day.Day(line.Day), Hour: line.Hour, Object: line.Object, Metrics: w.renamed(line.Metrics)})
			}
			return rows
		},
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

// adKind is what the truth calls the platform's ads.
func (w world) adKind() string {
	return map[string]string{tencent.Name: "adgroup", oceanengine.Name: "promotion"}[w.media]
}

// renamed gives conversions the name of what they are counted by: Ocean Engine's are by the moment they happen.
func (w world) renamed(metrics map[string]int64) map[string]int64 {
	if value, ok := metrics["conversions"]; ok && w.media == oceanengine.Name {
		delete(metrics, "conversions")
		metrics["conversions_event"] = value
	}
	return metrics
}

// fact is a line of the simulator's truth.
type fact struct {
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
	money
	Count *int `json:"count"`
}

func (w world) truth(t *testing.T, query url.Values) []fact {
	t.Helper()
	query.Set("media", w.media)
	lines := bufio.NewScanner(bytes.NewReader(w.get(t, "truth", query)))
	lines.Buffer(nil, 1<<20)
	var facts []fact
	for lines.Scan() {
		var f fact
		require.NoError(t, json.Unmarshal(lines.Bytes(), &f))
		if f.Count != nil {
			require.Len(t, facts, *f.Count)
			return facts
		}
		facts = append(facts, f)
	}
	require.Fail(t, "the truth has no last line", "%v", query)
	return nil
}

func (w world) get(t *testing.T, path string, query url.Values) []byte {
	t.Helper()
	return w.send(t, http.MethodGet, path+"?"+query.Encode(), nil)
}

func (w world) order(t *testing.T, path string, order any) {
	t.Helper()
	body, err := json.Marshal(order)
	require.NoError(t, err)
	w.send(t, http.MethodPost, path, body)
}

func (w world) send(t *testing.T, method, path string, body []byte) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.address+"/_sim/"+path, bytes.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 300, "%s %s: %s", method, path, answer)
	return answer
}
