package standalone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/secret"
	"adsync/engine"
	"adsync/media"
	"adsync/simulator"
	"adsync/simulator/control"
	"adsync/standalone/live"
)

// liveHost is the simulator in the place of a platform's real host. Its clock is stopped.
type liveHost struct {
	media   string
	address string // of the control API
	base    string // of the platform
	token   string
	user    string
	account string
	days    int // that are pulled when all figures are compared

	changing sync.Mutex

	mu     sync.Mutex
	others []string // requests that were not GET
	// quotaLeft means that an answer had the number of calls left.
	quotaLeft bool
	change    func(endpoint string, answer map[string]any)
}

// sim calls the control API.
func (h *liveHost) sim() control.Client { return control.Client{Address: h.address} }

// hostLive serves a world of a few accounts. One account with some ads is pulled.
func hostLive(t *testing.T, mediaName string) *liveHost {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Accounts: 40, Seed: 5, Frozen: true})
	require.NoError(t, err)
	h := &liveHost{media: mediaName, days: 7}
	if engine.Platform(mediaName).Reports()[0].MaxDays == 1 {
		h.days = 2 // A week takes a minute under the platform's limits.
	}
	server := httptest.NewServer(h.handler(sim.Handler()))
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	h.address = server.URL
	creds, err := askCredentials(t.Context(), h.address)
	require.NoError(t, err)
	login := creds[mediaName].Apps[0].Logins[0]
	h.base, h.token, h.user = h.address+creds[mediaName].BasePath, login.AccessToken, login.UserName
	h.account = smallest(t, h, login.AccountIDs)
	return h
}

// smallest returns the account with the fewest impressions among those that have all figures in the days of the pull.
func smallest(t *testing.T, h *liveHost, accounts []string) string {
	t.Helper()
	var clock struct {
		Now time.Time `json:"now"`
	}
	require.NoError(t, h.sim().Get(t.Context(), "clock", &clock))
	today := day.Of(clock.Now, time.FixedZone("UTC+8", 8*60*60))
	resp, err := http.Get(h.address + "/_sim/truth?kind=report_daily&level=account&media=" + h.media + "&from=" +
		today.Add(1-h.days).String() + "&to=" + today.String())
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	sums := map[string]map[string]int64{}
	for d := json.NewDecoder(resp.Body); d.More(); {
		var row struct {
			Account string           `json:"account"`
			Metrics map[string]int64 `json:"metrics"`
		}
		require.NoError(t, d.Decode(&row))
		if slices.Contains(accounts, row.Account) {
			if sums[row.Account] == nil {
				sums[row.Account] = map[string]int64{}
			}
			for metric, value := range row.Metrics {
				sums[row.Account][metric] += value
			}
		}
	}
	least := ""
	for account, sum := range sums {
		if !slices.ContainsFunc([]string{"cost", "impressions", "clicks", "conversions"},
			func(metric string) bool { return sum[metric] == 0 }) &&
			(least == "" || sum["impressions"] < sums[least]["impressions"]) {
			least = account
		}
	}
	require.NotEmpty(t, least, "no account of %s has figures", h.media)
	return least
}

// handler records requests to a platform that are not GET, and changes answers as the test wants.
func (h *liveHost) handler(sim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_sim/") {
			sim.ServeHTTP(w, r)
			return
		}
		h.mu.Lock()
		change := h.change
		if r.Method != http.MethodGet && !h.reads(r) {
			h.others = append(h.others, r.Method+" "+r.URL.Path)
		}
		h.mu.Unlock()
		if change == nil {
			sim.ServeHTTP(w, r)
			if teller, ok := engine.Platform(h.media).(media.QuotaReporter); ok && teller.QuotaLeft(w.Header()) != "" {
				h.mu.Lock()
				h.quotaLeft = true
				h.mu.Unlock()
			}
			return
		}
		// An answer and its change are one step: the next answer has the change.
		h.changing.Lock()
		defer h.changing.Unlock()
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

// listsAccounts reports whether a token without its app can read the list of its accounts.
func listsAccounts(mediaName string) bool {
	_, signs := engine.Platform(mediaName).(media.AppSigner)
	return !signs
}

// reads reports whether a POST only reads, according to the platform's package.
func (h *liveHost) reads(r *http.Request) bool {
	platform, ok := engine.Platform(h.media).(media.PostReader)
	endpoint, below := strings.CutPrefix("http://"+r.Host+r.URL.Path, h.base+"/")
	return ok && below && r.Method == http.MethodPost && platform.Reads(endpoint)
}

// live pulls the account and returns the outcome and all output: the outcome's text and the log.
func (h *liveHost) live(t *testing.T, dir string, with func(*Options)) (report live.Report, text string, err error) {
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
		Live: &live.Pull{Media: h.media, Account: h.account, User: h.user, Days: 2, BaseURL: h.base,
			Token: secret.NewText(h.token)},
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
	require.NoError(t, h.sim().Get(t.Context(), "ledger?group=endpoint", &answer))
	calls := map[string]int{}
	for _, g := range answer.Groups {
		calls[g.Endpoint] = g.Calls
	}
	return calls
}

// requireSecret checks that a token is in no text and in no file of a directory.
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
	for _, mediaName := range engine.PlatformNames() {
		t.Run(mediaName, func(t *testing.T) {
			t.Parallel()
			h := hostLive(t, mediaName)
			dir, days := t.TempDir(), h.days
			report, text, err := h.live(t, dir, func(o *Options) { o.Live.Days = days })
			require.NoError(t, err, text)
			require.Zero(t, report.Different)
			figures := 4 * (days + 1)
			require.Equal(t, figures, report.Figures, "4 figures of each day, and of all of them")
			require.Equal(t, 1, report.Rounds)
			require.Len(t, report.Days, days)
			require.Equal(t, report.To, report.Days[days-1].Day)
			_, adds := engine.Platform(mediaName).(media.Totaler)
			require.Equal(t, adds, report.TotalTold)
			require.NotEmpty(t, report.Name, "the account's, or the user's")
			for _, f := range report.Total.Figures {
				require.Positive(t, *f.Ours, f.Metric)
				require.Equal(t, *f.Ours, *f.Sums["adgroup"], "the simulator's ads add up to their account")
			}
			calls := map[string]int{}
			for _, c := range report.Calls {
				calls[c.Endpoint] = c.Calls
				require.Equal(t, h.quotaLeft, c.QuotaLeft != "", c.Endpoint)
			}
			require.Equal(t, h.ledger(t), calls, "the log has every call")
			require.Empty(t, h.others, "nothing is sent but GETs, and POSTs that only read")
			requireSecret(t, h.token, text, dir)

			_, text, err = h.live(t, dir, func(o *Options) { o.JSON, o.Live.Days = false, days })
			require.NoError(t, err, "again with what is there")
			require.Contains(t, text, fmt.Sprintf("0 of %d figures differ from what %s says.", figures, mediaName))
			require.Contains(t, text, map[bool]string{true: "100% of the day, ", false: "unknown"}[h.quotaLeft])
		})
	}
}

func TestLive_ReportsDifferencesAndComparesAgain(t *testing.T) {
	t.Parallel()
	night := simulator.Nights()[0]
	h := hostLive(t, night.Media)
	var clock struct {
		Now time.Time `json:"now"`
	}
	require.NoError(t, h.sim().Get(t.Context(), "clock", &clock))
	today := day.Of(clock.Now, time.FixedZone("UTC+8", 8*60*60))
	// Each answer has more than the one before.
	var moved atomic.Bool
	h.change = func(request string, _ map[string]any) {
		if !strings.Contains(request, night.DailyReports) || moved.Load() {
			return
		}
		order := map[string]any{"media": h.media, "account": h.account, "from": today.Add(-6).String(), "to": today.String(),
			"percent": 20}
		assert.NoError(t, h.sim().Post(t.Context(), "truth/correct", order))
	}
	report, text, err := h.live(t, "", nil)
	require.ErrorIs(t, err, live.ErrTotalsDiffer, text)
	require.Equal(t, 3, report.Rounds, "figures that move get another chance")
	cost := report.Total.Figures[0]
	require.False(t, cost.Equal())
	require.Less(t, *cost.Ours, *cost.Platform)

	_, text, err = h.live(t, "", func(o *Options) {
		out := o.Out
		o.JSON, o.Out = false, writerFunc(func(p []byte) (int, error) {
			if bytes.Contains(p, []byte("they are pulled again")) {
				moved.Store(true)
			}
			return out.Write(p)
		})
	})
	require.NoError(t, err, text)
	require.Contains(t, text, "they were pulled and compared 2 times")
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestLive_NamesTheFixOfWhatAPersonMustChange(t *testing.T) {
	t.Parallel()
	for _, platform := range engine.Platforms() {
		name := platform.Name()
		for spoilt, c := range map[string]struct {
			spoil func(o *Options, wrong string)
			want  []string // what the error has, as patterns
		}{
			"a token that is none": {
				func(o *Options, wrong string) { o.Live.Token = secret.NewText(wrong) },
				[]string{name + ` refuses the token \(code \d+: `, "make a new one at " +
					regexp.QuoteMeta(platform.(media.Consoler).Console())},
			},
			"somebody else's account": {
				func(o *Options, _ string) { o.Live.Account = "9" + o.Live.Account[1:] },
				[]string{name + ` does not show account 9\d+ to this token`, `(invalid|bug) error`, "--account"},
			},
		} {
			t.Run(spoilt+", on "+name, func(t *testing.T) {
				t.Parallel()
				h := hostLive(t, name)
				dir := t.TempDir()
				wrong := h.token[1:] + h.token[:1]
				_, text, err := h.live(t, dir, func(o *Options) { c.spoil(o, wrong) })
				require.Error(t, err)
				if listsAccounts(name) && spoilt == "somebody else's account" {
					require.ErrorContains(t, err, "the token reaches ")
				}
				for _, want := range c.want {
					require.Regexp(t, want, err.Error())
				}
				requireSecret(t, h.token, text+err.Error(), dir)
				requireSecret(t, wrong, text+err.Error(), dir)
				require.Empty(t, h.others)
			})
		}
	}
}

func TestLive_EndsWhenTheTokenIsRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	night := simulator.Nights()[0]
	h := hostLive(t, night.Media)
	var once sync.Once
	h.change = func(request string, _ map[string]any) {
		if strings.Contains(request, night.DailyReports) {
			once.Do(func() {
				h.order(t, "/_sim/faults", map[string]any{"kind": "token_death", "media": h.media, "token": "pair"})
			})
		}
	}
	_, text, err := h.live(t, "", nil)
	require.Error(t, err, text)
	require.Regexp(t, night.Media+` refuses the token \(code \d+: `, err.Error())
	require.Empty(t, h.others, "there is nothing to refresh it with")
}

// Otherwise it would wait for the account's return.
func TestLive_EndsWhenTheAccountIsClosedMeanwhile(t *testing.T) {
	t.Parallel()
	night := simulator.Nights()[0]
	h := hostLive(t, night.Media)
	var once sync.Once
	h.change = func(request string, _ map[string]any) {
		if strings.Contains(request, night.DailyReports) {
			once.Do(func() {
				order := map[string]any{"media": h.media, "account": h.account, "state": "frozen"}
				require.NoError(t, h.sim().Post(t.Context(), "accounts", order))
			})
		}
	}
	_, text, err := h.live(t, "", nil)
	require.ErrorContains(t, err, night.Media+" has closed the account "+h.account+" to this token: ", text)
	require.ErrorContains(t, err, ": invalid error ")
}

func TestLive_GoesOnAfterThePlatformFailed(t *testing.T) {
	t.Parallel()
	for _, night := range simulator.Nights() {
		t.Run(night.Media, func(t *testing.T) {
			t.Parallel()
			h := hostLive(t, night.Media)
			for _, fault := range []map[string]any{
				{"kind": "status"}, // of any of the first calls
				{"kind": "half_body", "endpoint": night.DailyReports},
				{"kind": "lost_row", "endpoint": night.HourlyReports},
			} {
				fault["media"], fault["count"] = night.Media, 2
				h.order(t, "/_sim/faults", fault)
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
	spec, night := simulator.First().Spec(), simulator.Nights()[0]
	h := hostLive(t, spec.Name)
	wrong := invalidCode(t, engine.Platform(spec.Name))
	var ad struct{ Object string }
	require.NoError(t, h.sim().Get(t.Context(), "truth?media="+spec.Name+"&kind="+spec.ObjectKind+"&account="+h.account,
		&ad))
	require.NotEmpty(t, ad.Object)
	// An answer that names an ad and is no report is a list of ads.
	h.change = func(request string, answer map[string]any) {
		text, _ := json.Marshal(answer) // it was read from JSON
		if !strings.Contains(request, night.DailyReports) && !strings.Contains(request, night.HourlyReports) &&
			bytes.Contains(text, []byte(ad.Object)) {
			clear(answer)
			answer["code"], answer["message"] = wrong, "outside the granted scope"
		}
	}
	report, text, err := h.live(t, "", nil)
	require.ErrorContains(t, err, " of the pulls did not succeed, the first: "+spec.Name+".", text)
	require.ErrorContains(t, err, "outside the granted scope")
	require.NotEmpty(t, report.Failed)
	require.Zero(t, report.Different, "the reports are there")
}

// invalidCode returns a platform's code for a wrong call that is not about a token or an account.
func invalidCode(t *testing.T, p media.Platform) int {
	t.Helper()
	for code := range 100_000 {
		_, err := p.Decode(http.StatusOK, nil, fmt.Appendf(nil, `{"code":%d}`, code))
		if e, is := errors.AsType[*media.Error](err); is && e.Class == media.Invalid && e.Parks == "" {
			return code
		}
	}
	require.Fail(t, "no such code", p.Name())
	return 0
}

func TestLive_DoesNotMixItsDirectoryWithOthers(t *testing.T) {
	t.Parallel()
	platform := engine.PlatformNames()[0]
	h := hostLive(t, platform)
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
	require.NoError(t, dir.holds(&live.Pull{Media: platform, Account: "1"}))
	require.NoError(t, dir.holds(&live.Pull{Media: platform, Account: "1"}), "again")
	require.NoError(t, dir.close())
	require.Contains(t, refused(own, nil), "holds "+platform+" account 1: give this run another --data")
	require.Contains(t, refused(own, func(o *Options) { o.Live, o.Once, o.Accounts = nil, true, 6 }), "holds "+platform+
		" account 1")
}
