package standalone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/media"
	"adsync/media/client"
	"adsync/media/tencent"
	"adsync/media/token"
	"adsync/simulator"
)

// liveHost is the simulator as if it were the real host of a platform, whose clock stands still.
type liveHost struct {
	media   string
	address string // of the control API
	base    string // of the platform
	token   string
	account string

	mu     sync.Mutex
	others []string // requests that were no GETs
	change func(endpoint string, answer map[string]any)
}

// hostLive serves a world of a few accounts, of which one with some ads is pulled.
func hostLive(t *testing.T, mediaName string) *liveHost {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Accounts: 40, Seed: 5, Frozen: true})
	require.NoError(t, err)
	h := &liveHost{media: mediaName}
	server := httptest.NewServer(h.handler(sim.Handler()))
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	h.address = server.URL
	creds, err := askCredentials(t.Context(), h.address)
	require.NoError(t, err)
	login := creds[mediaName].Apps[0].Logins[0]
	h.base, h.token, h.account = h.address+creds[mediaName].BasePath, login.AccessToken, login.AccountIDs[map[string]int{"tencent": 4, "oceanengine": 5}[mediaName]]
	return h
}

// handler notes what is no GET of a platform, and changes answers as the test wants.
func (h *liveHost) handler(sim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_sim/") {
			sim.ServeHTTP(w, r)
			return
		}
		h.mu.Lock()
		change := h.change
		if r.Method != http.MethodGet {
			h.others = append(h.others, r.Method+" "+r.URL.Path)
		}
		h.mu.Unlock()
		if change == nil {
			sim.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		sim.ServeHTTP(answer, r)
		var body map[string]any
		d := json.NewDecoder(answer.Body)
		d.UseNumber()
		if err := d.Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		change(r.URL.Path+"?"+r.URL.RawQuery, body)
		_ = json.NewEncoder(w).Encode(body)
	})
}

// live pulls the account and returns the outcome and all that was written: the outcome's text and the log.
func (h *liveHost) live(t *testing.T, dir string, with func(*Options)) (report LiveReport, text string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	o := h.options(dir, &out, &log)
	if with != nil {
		with(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	err = Run(ctx, o)
	if o.JSON && out.Len() > 0 {
		require.NoError(t, json.Unmarshal(out.Bytes(), &report), "%v: %s", err, out.String())
	}
	return report, out.String() + log.String(), err
}

func (h *liveHost) options(dir string, out, log io.Writer) Options {
	api := httpapi.DefaultConfig()
	api.Listen = "127.0.0.1:0"
	return Options{
		DataDir: dir, JSON: true, API: api, RateLimit: ratelimit.DefaultConfig(), Out: out,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Live:   &Live{Media: h.media, Account: h.account, Days: 7, BaseURL: h.base, Token: secret.NewText(h.token)},
	}
}

func (h *liveHost) order(t *testing.T, path string, body map[string]any) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.address+path, bytes.NewReader(text))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusCreated, resp.StatusCode)
}

// ledger returns how many calls the platform has counted, by endpoint.
func (h *liveHost) ledger(t *testing.T) map[string]int {
	t.Helper()
	var answer struct {
		Groups []struct {
			Endpoint string `json:"endpoint"`
			Calls    int    `json:"calls"`
		} `json:"groups"`
	}
	require.NoError(t, getJSON(t.Context(), http.DefaultClient, h.address+"/_sim/ledger?group=endpoint", &answer))
	calls := map[string]int{}
	for _, g := range answer.Groups {
		calls[g.Endpoint] = g.Calls
	}
	return calls
}

// requireSecret checks that a token stands in no text and in no file of a directory.
func requireSecret(t *testing.T, token, text, dir string) {
	t.Helper()
	require.NotContains(t, text, token)
	require.NotContains(t, text, url.QueryEscape(token))
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		require.False(t, bytes.Contains(content, []byte(token)), path)
		return err
	}))
}

func TestLive_TotalsEqualThePlatforms(t *testing.T) {
	t.Parallel()
	for _, mediaName := range []string{"tencent", "oceanengine"} {
		t.Run(mediaName, func(t *testing.T) {
			t.Parallel()
			h := hostLive(t, mediaName)
			dir := t.TempDir()
			report, text, err := h.live(t, dir, nil)
			require.NoError(t, err, text)
			require.Zero(t, report.Different)
			require.Equal(t, 32, report.Figures, "4 figures of 7 days, and of all of them")
			require.Equal(t, 1, report.Rounds)
			require.Len(t, report.Days, 7)
			require.Equal(t, report.To, report.Days[6].Day)
			require.Equal(t, mediaName == "oceanengine", report.TotalTold)
			require.NotEmpty(t, report.Name)
			for _, f := range report.Total.Figures {
				require.Positive(t, *f.Ours, f.Metric)
				require.Equal(t, *f.Ours, *f.Sums["adgroup"], "the simulator's ads add up to their account")
			}
			calls := map[string]int{}
			for _, c := range report.Calls {
				calls[c.Endpoint] = c.Calls
				require.Equal(t, mediaName == "tencent", c.QuotaLeft != "", c.Endpoint)
			}
			require.Equal(t, h.ledger(t), calls, "every call is told")
			require.Empty(t, h.others, "nothing but GETs is sent")
			requireSecret(t, h.token, text, dir)

			_, text, err = h.live(t, dir, func(o *Options) { o.JSON = false })
			require.NoError(t, err, "again with what is there")
			require.Contains(t, text, "0 of 32 figures differ from what "+mediaName+" says.")
			require.Contains(t, text, map[string]string{"tencent": "100% of the day, ", "oceanengine": "not told"}[mediaName])
		})
	}
}

func TestLive_TellsAndRepeatsDifferences(t *testing.T) {
	t.Parallel()
	h := hostLive(t, "tencent")
	n, until := 0, 1000
	// Each answer tells a fen more of one day than the one before.
	h.change = func(request string, answer map[string]any) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !strings.Contains(request, "daily_reports/get") || !strings.Contains(request, "ADVERTISER") || n >= until {
			return
		}
		n++
		days := answer["data"].(map[string]any)["list"].([]any)
		first := days[0].(map[string]any)
		fen, _ := first["cost"].(json.Number).Int64()
		first["cost"] = fen + int64(n)
	}
	report, text, err := h.live(t, "", nil)
	require.ErrorIs(t, err, ErrTotalsDiffer, text)
	require.Equal(t, liveRounds, report.Rounds, "figures that move get another chance")
	require.Equal(t, 2, report.Different, "a day's cost, and that of all days")
	require.False(t, report.Total.Figures[0].Equal())
	require.EqualValues(t, -10_000, report.Total.Figures[0].difference(), "a fen")

	n, until = 0, 3 // The question before the pull, the pull, and the one after.
	report, text, err = h.live(t, "", nil)
	require.NoError(t, err, text)
	require.Equal(t, 2, report.Rounds)
}

func TestLive_NamesTheFixOfWhatAPersonMustMend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		media string
		spoil func(o *Options, wrong string)
		want  []string
	}{
		"a token that is none, on Tencent": {
			"tencent", func(o *Options, wrong string) { o.Live.Token = secret.NewText(wrong) },
			[]string{"tencent refuses the token (code 11002: ", "make a new one at https://developers.e.qq.com"},
		},
		"a token that is none, on Ocean Engine": {
			"oceanengine", func(o *Options, wrong string) { o.Live.Token = secret.NewText(wrong) },
			[]string{"oceanengine refuses the token (code 40104: ", "make a new one at https://open.oceanengine.com"},
		},
		"somebody else's account, on Tencent": {
			"tencent", func(o *Options, _ string) { o.Live.Account = "20999999" },
			[]string{"tencent does not show account 20999999 to this token", "12201", "the token reaches ", "--account"},
		},
		"somebody else's account, on Ocean Engine": {
			"oceanengine", func(o *Options, _ string) { o.Live.Account = "1700009999999999" },
			[]string{"oceanengine does not show account 1700009999999999 to this token", "40002", "the token reaches ", "--account"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hostLive(t, c.media)
			dir := t.TempDir()
			wrong := h.token[1:] + h.token[:1]
			_, text, err := h.live(t, dir, func(o *Options) { c.spoil(o, wrong) })
			require.Error(t, err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			requireSecret(t, h.token, text+err.Error(), dir)
			requireSecret(t, wrong, text+err.Error(), dir)
			require.Empty(t, h.others)
		})
	}
}

func TestLive_EndsWhenTheTokenIsRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	h := hostLive(t, "oceanengine")
	var once sync.Once
	h.change = func(request string, _ map[string]any) {
		if strings.Contains(request, "promotion/list") {
			once.Do(func() {
				h.order(t, "/_sim/faults", map[string]any{"kind": "token_death", "media": h.media, "token": "pair"})
			})
		}
	}
	_, text, err := h.live(t, "", nil)
	require.ErrorContains(t, err, "oceanengine refuses the token (code 40104: ", text)
	require.Empty(t, h.others, "there is nothing to refresh it with")
}

// Else it would wait for the account's return.
func TestLive_EndsWhenTheAccountIsClosedMeanwhile(t *testing.T) {
	t.Parallel()
	h := hostLive(t, "tencent")
	var once sync.Once
	h.change = func(request string, _ map[string]any) {
		if strings.Contains(request, "adgroups/get") {
			once.Do(func() {
				order := map[string]any{"media": h.media, "account": h.account, "state": "frozen"}
				require.NoError(t, postJSON(t.Context(), http.DefaultClient, h.address+"/_sim/accounts", order))
			})
		}
	}
	_, text, err := h.live(t, "", nil)
	require.ErrorContains(t, err, "tencent has closed the account "+h.account+" to this token: frozen: invalid error 32211", text)
}

func TestLive_GoesOnAfterThePlatformFailed(t *testing.T) {
	t.Parallel()
	for mediaName, endpoints := range map[string][]string{
		"tencent":     {"organization_account_relation/get", "adgroups/get", "hourly_reports/get"},
		"oceanengine": {"oauth2/advertiser/get", "v3.0/promotion/list", "v3.0/report/custom/get"},
	} {
		t.Run(mediaName, func(t *testing.T) {
			t.Parallel()
			h := hostLive(t, mediaName)
			for i, kind := range []string{"status", "half_body", "over_limit"} {
				if mediaName == "tencent" && kind == "over_limit" {
					kind = "lost_row" // Tencent wants five minutes of waiting after its limit: not for a test.
				}
				h.order(t, "/_sim/faults", map[string]any{"kind": kind, "media": mediaName, "endpoint": endpoints[i], "count": 2})
			}
			report, text, err := h.live(t, "", nil)
			require.NoError(t, err, text)
			require.Zero(t, report.Different)
			require.Empty(t, h.others)
		})
	}
}

func TestLive_ShowsWhatItHasWhenAPullFails(t *testing.T) {
	t.Parallel()
	h := hostLive(t, "tencent")
	h.change = func(request string, answer map[string]any) {
		if strings.Contains(request, "adgroups/get") {
			clear(answer)
			answer["code"], answer["message"] = 11014, "outside the granted scope"
		}
	}
	report, text, err := h.live(t, "", nil)
	require.ErrorContains(t, err, "1 of the pulls did not succeed, the first: tencent.adgroup.full failed: ", text)
	require.ErrorContains(t, err, "outside the granted scope")
	require.Len(t, report.Failed, 1)
	require.Zero(t, report.Different, "the reports are there")
}

func TestLive_DoesNotMixItsDirectoryWithOthers(t *testing.T) {
	t.Parallel()
	h := hostLive(t, "tencent")
	refused := func(dir string, with func(*Options)) string {
		_, _, err := h.live(t, dir, with)
		require.Error(t, err)
		return err.Error()
	}
	simulated := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(simulated, "config.db"), nil, 0o600))
	require.Contains(t, refused(simulated, nil), "holds simulated accounts: give this run another --data")

	own := t.TempDir()
	dir, err := openDir(own)
	require.NoError(t, err)
	require.NoError(t, dir.holds(&Live{Media: "tencent", Account: "1"}))
	require.NoError(t, dir.holds(&Live{Media: "tencent", Account: "1"}), "again")
	require.NoError(t, dir.close())
	require.Contains(t, refused(own, nil), "holds tencent account 1: give this run another --data")
	require.Contains(t, refused(own, func(o *Options) { o.Live, o.Once, o.Accounts = nil, true, 6 }), "holds tencent account 1")
}

func TestCallBook_LetsNothingThroughButGETsOfThePlatform(t *testing.T) {
	t.Parallel()
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent++
		w.Header().Set("X-RateLimit-Remaining", "90%,80%")
	}))
	defer server.Close()
	base, err := url.Parse(server.URL + "/v3.0")
	require.NoError(t, err)
	book := newCallBook(tencent.New(), base, http.DefaultTransport)
	do := func(ctx context.Context, method, address string) error {
		req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader("{}"))
		require.NoError(t, err)
		resp, err := (&http.Client{Transport: book}).Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	for _, c := range [][2]string{
		{http.MethodPost, "/v3.0/adgroups/update"}, {http.MethodPut, "/v3.0/adgroups/get"}, {http.MethodDelete, "/v3.0/adgroups/get"},
		{http.MethodGet, "/oauth/token"}, {http.MethodGet, "/v3.0x/adgroups/get"},
	} {
		err := do(t.Context(), c[0], server.URL+c[1])
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, "%s %s: %v", c[0], c[1], err)
		require.Equal(t, media.Bug, e.Class)
	}
	require.Error(t, do(t.Context(), http.MethodGet, "http://127.0.0.1:1/v3.0/adgroups/get"), "another host")
	require.Zero(t, sent)
	require.Empty(t, book.list())

	require.NoError(t, do(t.Context(), http.MethodGet, server.URL+"/v3.0/adgroups/get"))
	require.NoError(t, do(t.Context(), http.MethodGet, server.URL+"/v3.0/adgroups/get/"))
	late, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, do(late, http.MethodGet, server.URL+"/v3.0/adgroups/get"), context.Canceled)
	// As when a grant ends after the request was given to its connection, which has not sent it yet.
	overtaken := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { _ = got.Conn.SetWriteDeadline(time.Unix(1, 0)) },
	})
	require.ErrorIs(t, do(overtaken, http.MethodGet, server.URL+"/v3.0/adgroups/get"), os.ErrDeadlineExceeded)
	require.Equal(t, 2, sent)
	require.Equal(t, []EndpointCalls{{Endpoint: "adgroups/get", Calls: 2, QuotaLeft: "90% of the day, 80% of the minute"}}, book.list(), "what was never written is no call")
}

func TestLiveFigure_NullIsNotZero(t *testing.T) {
	t.Parallel()
	zero, one := int64(0), int64(1)
	require.True(t, LiveFigure{}.Equal())
	require.True(t, LiveFigure{Ours: &one, Platform: &one}.Equal())
	require.False(t, LiveFigure{Ours: &zero}.Equal())
	require.False(t, LiveFigure{Platform: &zero}.Equal())
	require.False(t, LiveFigure{Ours: &one, Platform: &zero}.Equal())
}

// grants ends the grant of the first call before it can be written.
type grants struct{ given int }

func (g *grants) Wait(context.Context, grant.Call) (ratelimit.Grant, error) {
	if g.given++; g.given == 1 {
		return ratelimit.Grant{Until: time.Now()}, nil
	}
	return ratelimit.Grant{}, nil
}

func (*grants) Settle(grant.Call, ratelimit.Grant, int) {}

func (*grants) Pause(context.Context, grant.Call, grant.Scope, time.Duration) error {
	return nil
}

func (*grants) Used(context.Context, grant.Call, grant.Scope, []ratelimit.Usage) error {
	return nil
}

// oneToken has the token of one login.
type oneToken struct{ client.Tokens }

func (oneToken) Login(context.Context, int64) (token.Login, error) { return token.Login{ID: 1}, nil }

// The HTTP client tells that a request is written before it sends the last of it: one whose grant ends in that moment was never sent, and is sent
// again. Under load this was counted as a call that the platform had not seen.
func TestCallBook_ARequestThatItsGrantsEndOvertookIsNoCall(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("http://platform.test/v3.0")
	require.NoError(t, err)
	tries := 0
	book := newCallBook(tencent.New(), base, roundTripper(func(req *http.Request) (*http.Response, error) {
		tries++
		httptrace.ContextClientTrace(req.Context()).WroteRequest(httptrace.WroteRequestInfo{})
		if tries == 1 {
			<-req.Context().Done()
			return nil, context.Cause(req.Context())
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"code":0,"data":{}}`)), Request: req}, nil
	}))
	c := client.New(client.Options{
		Platform: tencent.New(), Transport: client.NewTransport(tencent.New(), base.String(), &http.Client{Transport: book}),
		Waiter: &grants{}, Tokens: oneToken{}, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	api := c.For(media.Account{})
	_, err = api.Get(t.Context(), "adgroups/get", nil)
	require.NoError(t, err)
	require.Equal(t, 2, tries)
	require.Equal(t, 1, api.Calls())
	require.Equal(t, 1, book.total())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
