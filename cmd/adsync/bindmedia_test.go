package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/plural"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/engine"
	seam "adsync/media"
	"adsync/producer/login"
)

// simulatedApp is an app of a simulated platform, with the secrets that must not be printed.
type simulatedApp struct {
	id, secret string
	accounts   []string
	tokens     []string
	login      seam.Login
	authorise  string // the address where its logins are authorised
}

func askSimulator(t *testing.T, simulator, name string) simulatedApp {
	t.Helper()
	_, body := get(t, simulator+"/_sim/credentials")
	var all map[string]struct {
		AuthorisePath string `json:"authorise_url_path"`
		Apps          []struct {
			AppID, Secret string
			Logins        []struct {
				UserID   string   `json:"user_id"`
				UserName string   `json:"user_name"`
				Access   string   `json:"access_token"`
				Refresh  string   `json:"refresh_token"`
				Accounts []string `json:"account_ids"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(body, `"app_id"`, `"AppID"`)), &all))
	a := all[name].Apps[0]
	l := a.Logins[0]
	tokens := []string{l.Access}
	if l.Refresh != "" {
		tokens = append(tokens, l.Refresh)
	}
	return simulatedApp{a.AppID, a.Secret, l.Accounts, tokens, seam.Login{ID: l.UserID, Name: l.UserName},
		simulator + all[name].AuthorisePath}
}

// stopAndReadLog sends SIGTERM and returns the rest of the log.
func (p *process) stopAndReadLog(t *testing.T) string {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	var all strings.Builder
	for p.log.Scan() {
		all.WriteString(p.log.Text() + "\n")
	}
	require.NoError(t, p.cmd.Wait(), all.String())
	return all.String()
}

// startBind starts a command that waits. It returns the address that the command prints, and a function that waits
// for its result.
func startBind(t *testing.T, environ []string, args ...string) (address string, ended func() result) {
	t.Helper()
	in, out := io.Pipe()
	done := make(chan result, 1)
	go func() {
		var stderr bytes.Buffer
		code := run(args, environ, out, &stderr)
		_ = out.Close()
		done <- result{code: code, stderr: stderr.String()}
	}()
	lines := bufio.NewReader(in)
	var printed strings.Builder
	for !strings.HasPrefix(address, "http") {
		line, err := lines.ReadString('\n')
		if err != nil {
			require.Failf(t, "the command ended", "%s%s", printed.String(), (<-done).stderr)
		}
		printed.WriteString(line)
		address = strings.TrimSpace(line)
	}
	return address, func() result {
		more, err := io.ReadAll(lines)
		require.NoError(t, err)
		r := <-done
		r.stdout = printed.String() + string(more)
		return r
	}
}

// A person authorises a login in a browser; its accounts are chosen, pulled, moved and unbound; nothing shows a secret.
func TestBindMedia_FromTheBrowserToThePull(t *testing.T) {
	t.Parallel()
	world := start(t, nil, "simulate", "--listen=127.0.0.1:0", fmt.Sprint("--accounts=", 2*len(engine.PlatformNames())))
	simulator := "http://" + world.await(t, "msg", served)["addr"].(string)
	for _, media := range engine.PlatformNames() {
		t.Run(media, func(t *testing.T) {
			t.Parallel()
			app := askSimulator(t, simulator, media)
			environ := append(serveEnviron(t),
				platformsAt(t, simulator),
				fmt.Sprintf(`ADSYNC_MEDIA_AUTHORISE_URL={"%s": "%s"}`, media, app.authorise),
			)
			p := start(t, environ, "serve", "--role=all")
			server := "http://" + p.await(t, "msg", "listening")["addr"].(string)
			p.await(t, "part", "api")
			redirect := server + "/oauth/" + media + "/callback"
			first := app.accounts[0]
			withSecret := append(slices.Clone(environ), "ADSYNC_APP_SECRET="+app.secret)
			if media == onePlatform { // By the API, without any other setting.
				withSecret = []string{"ADSYNC_SERVER=" + server, "ADSYNC_APP_SECRET=" + app.secret}
			}
			var seen strings.Builder // all output
			show := func(r result) result {
				seen.WriteString(r.stdout + r.stderr)
				return r
			}

			address, ended := startBind(t, withSecret, "bind", media, "--app-id", app.id, "--redirect-uri", redirect, "--wait",
				"--accounts", first, "--game", "starfall", "--game-name", "Starfall", "--os", "ios")
			status, page := get(t, address) // The browser follows to the callback.
			require.Equal(t, http.StatusOK, status, page)
			require.Contains(t, page, "<h1>Authorised</h1>")
			require.Contains(t, page, first)
			require.Contains(t, page, "not pulled")
			r := show(ended())
			require.Zero(t, r.code, r.stderr)
			require.Contains(t, r.stdout, fmt.Sprintf("with %d accounts", len(app.accounts)))
			require.Contains(t, r.stdout, "Bound: 1 account of ")
			require.Contains(t, r.stdout, "1 of them to starfall on ios")
			state, err := url.Parse(address)
			require.NoError(t, err)
			secrets := append(slices.Clone(askSimulator(t, simulator, media).tokens), app.secret, state.Query().Get("state"))

			// The same callback again.
			authoriser, ok := engine.Platform(media).(seam.Authoriser)
			require.True(t, ok)
			code := "&" + authoriser.CodeParameter() + "=x"
			status, again := get(t, redirect+"?state="+state.Query().Get("state")+code)
			require.Equal(t, http.StatusConflict, status)
			require.Contains(t, again, "This address has been used")
			status, none := get(t, redirect+"?state=x"+code)
			require.Equal(t, http.StatusNotFound, status)
			status, denied := get(t, redirect+"?state=x")
			require.Equal(t, http.StatusBadRequest, status)
			require.Contains(t, denied, "The platform has sent no code")

			// Only the bound account is pulled.
			run := order(t, server, media+".report_daily.account")
			require.Equal(t, "succeeded", run.State)
			require.EqualValues(t, 1, run.Counts.Total)
			r = show(adsync(environ, "coverage", media+"/"+first, "--server", server))
			require.Contains(t, r.stdout, "complete")
			r = show(adsync(environ, "coverage", media+"/"+app.accounts[1], "--server", server))
			require.NotContains(t, r.stdout, "complete", "nobody chose it")

			// A move, a correction, all the rest, and the end.
			r = show(adsync(environ, "bind", "account", media+"/"+first, "--game", "tinyfarm", "--game-name", "Tiny Farm",
				"--os", "ios", "--from", "2026-11-01"))
			require.Zero(t, r.code, r.stderr)
			require.Regexp(t, `(?m)^now +- +2026-10-31 +starfall +ios\nnow +2026-11-01 +- +tinyfarm +ios$`, r.stdout)
			r = show(adsync(environ, "bind", "account", media+"/"+first, "--game", "starfall", "--os", "android", "--correct"))
			require.Zero(t, r.code, r.stderr)
			require.Regexp(t, `(?s)now .*2026-11-01 +- +starfall +android\n`, r.stdout)
			r = show(adsync(environ, "bind", media, "--app-id", app.id, "--accounts", "all", "--game", "tinyfarm", "--os", "pc"))
			require.Zero(t, r.code, r.stderr)
			require.Contains(t, r.stdout, plural.Count(len(app.accounts)-1, "account of ", "accounts of "),
				"the first one has a game")
			r = show(adsync(environ, "unbind", media+"/"+first, "--from", "2026-11-10"))
			require.Zero(t, r.code, r.stderr)
			require.Contains(t, r.stdout, "It is not pulled.\n")
			r = show(adsync(environ, "accounts", "show", media+"/"+first, "--server", server))
			require.Zero(t, r.code, r.stderr)
			require.Contains(t, r.stdout, "not bound: nothing of it is pulled")
			require.Contains(t, r.stdout, "in use; chosen")
			require.Regexp(t, `2026-11-01 +2026-11-09 +starfall +android`, r.stdout)

			if media == onePlatform { // By the API, with a code.
				shown, code, err := enterCode(t, []string{"ADSYNC_SERVER=" + server}, app.id)
				require.NoError(t, err)
				require.Contains(t, shown, "There was nothing to bind: each account of ")
				seen.WriteString(shown)
				secrets = append(secrets, code)
			}

			// No secret is in the output, the log, or the tables.
			log := p.stopAndReadLog(t)
			require.Contains(t, log, "login authorised")
			text := map[string]string{"pages": page + again + none + denied, "log": log}
			text["commands"] = strings.ReplaceAll(seen.String(), address, "")
			for _, variable := range environ {
				if _, file, ok := strings.Cut(variable, "_WRITER="); ok {
					for _, f := range []string{file, file + "-wal"} {
						raw, err := os.ReadFile(f)
						if err == nil {
							text[filepath.Base(f)] = string(raw)
						}
					}
				}
			}
			require.Contains(t, text["config.db"]+text["config.db-wal"], "starfall", "the tables are what is searched")
			for where, all := range text {
				for _, s := range secrets {
					require.NotEmpty(t, s)
					require.NotContains(t, all, s, "a secret stands in the %s", where)
				}
			}
		})
	}
}

// ordered is the result of an order.
type ordered struct {
	State  string
	Counts struct{ Total, Succeeded int64 }
}

// order runs a task now and waits for its end.
func order(t *testing.T, server, task string) ordered {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/api/v1/tasks/"+task+"/run",
		strings.NewReader(`{"scope": "all"}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, response.StatusCode, string(body))
	var run ordered
	require.Eventually(t, func() bool {
		_, body := get(t, server+response.Header.Get("Location"))
		require.NoError(t, json.Unmarshal([]byte(body), &run))
		return !slices.Contains([]string{"pending", "fanning_out", "running"}, run.State)
	}, 2*time.Minute, 100*time.Millisecond)
	return run
}

var codeRedirect = "https://adsync.example.com/oauth/" + onePlatform + "/callback"

// bindWithCode binds all accounts of a login, with the code on standard input.
func bindWithCode(t *testing.T, simulator, api string) (app simulatedApp, environ []string, stdout string, err error) {
	t.Helper()
	app = askSimulator(t, simulator, onePlatform)
	environ = append(sqliteEnviron(t), secretEnviron[0], "ADSYNC_REDIS_ADDRS=127.0.0.1:1",
		platformsAt(t, api),
		fmt.Sprintf(`ADSYNC_MEDIA_AUTHORISE_URL={"%s": "%s"}`, onePlatform, app.authorise))
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	shown, code, err := enterCode(t, environ, app.id, app.secret)
	for _, s := range []string{code, app.secret} {
		require.NotContains(t, shown, s)
	}
	return app, environ, shown, err
}

// enterCode authorises a login of onePlatform with --code, and binds all its accounts. It enters the answers, and then
// the code, on standard input. It returns what the command printed, and the code.
func enterCode(t *testing.T, environ []string, appID string, answers ...string) (shown, code string, err error) {
	t.Helper()
	in, terminal := io.Pipe()
	var stdout, stderr bytes.Buffer
	out, printed := io.Pipe()
	a := newRoot(environ)
	a.SetArgs([]string{"bind", onePlatform, "--app-id", appID, "--redirect-uri", codeRedirect, "--code", "--accounts",
		"all"})
	a.SetIn(in)
	a.SetOut(io.MultiWriter(&stdout, printed))
	a.SetErr(&stderr)
	ended := make(chan error, 1)
	go func() {
		ended <- a.ExecuteContext(t.Context())
		_ = printed.Close()
	}()
	for _, answer := range answers {
		_, err = io.WriteString(terminal, answer+"\n")
		require.NoError(t, err)
	}
	lines := bufio.NewReader(out)
	address := ""
	for !strings.HasPrefix(address, "http") {
		line, err := lines.ReadString('\n')
		if err != nil {
			require.NoError(t, <-ended)
		}
		address = strings.TrimSpace(line)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	response, err := browser.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	target, err := url.Parse(response.Header.Get("Location"))
	require.NoError(t, err)
	code = target.Query().Get(engine.Platform(onePlatform).(seam.Authoriser).CodeParameter())
	require.NotEmpty(t, code)
	_, err = io.WriteString(terminal, code+"\n")
	require.NoError(t, err)
	err = <-ended
	return strings.ReplaceAll(stdout.String()+stderr.String(), address, ""), code, err
}

// If a platform cannot reach a producer, the command reads the code.
func TestBindMedia_WithACodeFromTheTerminal(t *testing.T) {
	t.Parallel()
	world := start(t, nil, "simulate", "--listen=127.0.0.1:0", "--accounts=4")
	simulator := "http://" + world.await(t, "msg", served)["addr"].(string)
	var calls, answered atomic.Int64
	answered.Store(math.MaxInt64)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > answered.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		target, err := url.Parse(simulator)
		if err == nil {
			httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	app, environ, stdout, err := bindWithCode(t, simulator, proxy.URL)
	require.NoError(t, err)
	require.Contains(t, stdout, "Accounts that it reaches later are pulled too")

	// The last call lists the accounts. Those before it exchange the code.
	answered.Store(calls.Swap(0) - 1)
	_, _, _, err = bindWithCode(t, simulator, proxy.URL)
	require.ErrorContains(t, err, "the login is authorised and stored, but: Its accounts were not all listed")

	// An account may be named with or without its platform, and counts once.
	one := app.accounts[0]
	again := adsync(environ, "bind", onePlatform, "--app-id", app.id, "--accounts", onePlatform+"/"+one+","+one)
	require.Zero(t, again.code, again.stderr)
	require.Contains(t, again.stdout, "Bound: 1 account of ")
	again = adsync(environ, "bind", onePlatform, "--app-id", app.id, "--accounts", "all")
	require.Zero(t, again.code, again.stderr)
	require.Zero(t, adsync(append(environ, "ADSYNC_APP_SECRET="+app.secret), "bind", onePlatform, "--app-id", app.id,
		"--redirect-uri", codeRedirect).code)
	for _, action := range []string{"login.bind", "app.put"} {
		var n int
		require.NoError(t,
			openStore(t, environ).Config.Writer(t.Context()).Raw("SELECT COUNT(*) FROM audit_log WHERE action = ?",
				action).Row().Scan(&n))
		require.Equal(t, 1, n, "%s: what changes nothing has no entry", action)
	}
	again = adsync(environ, "bind", onePlatform, "--app-id", app.id, "--accounts", "tulip/"+one)
	require.Equal(t, exitUsage, again.code)
	require.Contains(t, again.stderr, `--accounts: "tulip/`+one+`" is not an account of `+onePlatform+
		`: want the platform's id, or `+onePlatform+`/ID`)
}

func TestBindMedia_RefusesAWrongCommandLine(t *testing.T) {
	t.Parallel()
	uri := codeRedirect
	for want, args := range map[string][]string{
		`"facebook" cannot be bound: want one of account, ` +
			strings.Join(slices.Sorted(slices.Values(engine.PlatformNames())), ", "): {"bind", "facebook"},
		"--app-id is missing": {"bind", onePlatform, "--redirect-uri", uri},
		"want --redirect-uri to authorise a login, --accounts": {"bind", onePlatform, "--app-id", "1"},
		"--wait and --code need --redirect-uri": {"bind", onePlatform, "--app-id", "1", "--accounts", "all",
			"--wait"},
		"--accounts with --redirect-uri needs --wait": {"bind", onePlatform, "--app-id", "1", "--redirect-uri", uri,
			"--accounts", "all"},
		"--game and --os go together": {"bind", onePlatform, "--app-id", "1", "--accounts", "all",
			"--game", "g"},
		`--os is "symbian": want ios, android or pc`: {"bind", onePlatform, "--app-id", "1", "--accounts", "all",
			"--game", "g", "--os", "symbian"},
		`--from is "0000-01-01": want a day from 2010-01-01 to`: {"bind", "account", onePlatform + "/1", "--game", "g",
			"--os", "pc", "--from", "0000-01-01"},
		`--from is "1970-01-01": want a day from 2010-01-01 to`: {"bind", onePlatform, "--app-id", "1", "--accounts", "all",
			"--game", "g", "--os", "pc", "--from", "1970-01-01"},
		`--from is "2999-01-01": want a day from 2010-01-01 to`: {"unbind", onePlatform + "/1", "--from", "2999-01-01"},
		`--to is "9998-01-01": want a day from 2010-01-01 to`: {"bind", "account", onePlatform + "/1", "--game", "g",
			"--os", "pc", "--from", "2026-11-01", "--to", "9998-01-01"},
		`--from is "0001-01-01": want a day from 2010-01-01`: {"fields", "backfill", onePlatform, "order_uv",
			"--from", "0001-01-01", "--to", "2026-11-01"},
		`--to is "2031-01-01": want a day from 2010-01-01`: {"fields", "backfill", onePlatform, "order_uv",
			"--from", "2026-11-01", "--to", "2031-01-01"},
		`--from is "today": want a day`: {"bind", "account", onePlatform + "/1", "--game", "g",
			"--os", "pc", "--from", "today"},
		"want https, since the code": {"bind", onePlatform, "--app-id", "1",
			"--redirect-uri", "http://adsync.example.com/cb"},
		"it rewrites the days of the present binding": {"bind", "account", onePlatform + "/1", "--game", "g",
			"--os", "pc", "--correct", "--from", "2026-11-01"},
		"want MEDIA/ACCOUNT with the platform's id": {"unbind", onePlatform},
		`--to is "2026-10-01": want 2026-11-01 or later`: {"bind", "account", onePlatform + "/1", "--game", "g",
			"--os", "pc", "--from", "2026-11-01", "--to", "2026-10-01"},
	} {
		r := adsync(nil, args...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.stderr, want)
	}
	environ := append(sqliteEnviron(t), secretEnviron[0])
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	r := adsync(environ, "bind", "account", onePlatform+"/1", "--game", "g", "--os", "pc")
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, onePlatform+` has no account "1" that is known here`)
	r = adsync(environ, "bind", onePlatform, "--app-id", "1", "--accounts", "all", "--game", "strafall", "--os", "pc")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, `there is no game "strafall": want one of unassigned, or a new one with its name`)
	r = adsync(environ, "bind", onePlatform, "--app-id", "1", "--accounts", "all")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, "app 1 of "+onePlatform+" has no login yet")
}

func TestBindMedia_WaitsForTheEndOfTheCallback(t *testing.T) {
	t.Parallel()
	environ := sqliteEnviron(t)
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	s := openStore(t, environ)
	require.NoError(t, s.Config.Writer(t.Context()).Exec("INSERT INTO media_token (id, media, app_id, login, "+
		"access_token, refresh_token, access_expires_at, refresh_expires_at) SELECT 7, '"+onePlatform+
		"', 'done', '20009001', '', '', '2026-12-01', '2026-12-01'").Error)
	tables := loginTables{login.Actions{Store: s}}
	for name, c := range map[string]struct {
		step  settings.OAuthStep
		note  string
		used  time.Duration // ago
		left  time.Duration
		waits bool
		want  string // the error; empty = none
	}{
		"done": {step: settings.OAuthDone},
		"done, with a note": {step: settings.OAuthDone, note: "2 accounts cannot be pulled",
			want: "stored, but: 2 accounts cannot be pulled"},
		"failed": {step: settings.OAuthFailed, note: "code 11012",
			want: "the authorisation failed: code 11012"},
		"nobody came": {step: settings.OAuthWaiting, left: -time.Second,
			want: "nobody authorised it in time"},
		"the code was never exchanged": {step: settings.OAuthExchanging, used: 3 * time.Minute,
			want: "its process died before it exchanged the code"},
		"the accounts were never listed": {step: settings.OAuthStored, used: 4 * time.Minute,
			want: "not all listed within 3m0s; the task " + onePlatform + ".account_list lists them"},
		"nor were they, with the reason": {step: settings.OAuthStored, used: 4 * time.Minute, note: "page 3 failed",
			want: "stored, but: page 3 failed"},
		"the person has yet to come": {step: settings.OAuthWaiting, left: time.Minute, waits: true},
		"the code is being exchanged": {step: settings.OAuthExchanging, left: -time.Minute, used: time.Minute,
			waits: true},
		"the accounts are being listed": {step: settings.OAuthStored, left: -time.Minute, used: 2 * time.Minute,
			waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := settings.OAuthID(secret.NewText(name))
			require.NoError(t, s.PutOAuthState(t.Context(),
				settings.OAuthState{ID: id, Media: onePlatform, AppID: "done", RedirectURI: "https://adsync.example.com",
					AskedBy: "otto"}))
			require.NoError(t, s.UpdateOAuthState(t.Context(),
				settings.OAuthState{ID: id, Step: c.step, TokenID: 7, Note: c.note}))
			now := time.Now()
			err := s.Config.Writer(t.Context()).Exec("UPDATE oauth_state SET expires_at = ?, used_at = ? WHERE state_hash = ?",
				sqldb.At(now.Add(c.left)), sqldb.At(now.Add(-c.used)), id).Error
			require.NoError(t, err)
			patience := 30 * time.Second
			if c.waits {
				patience = 200 * time.Millisecond
			}
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			login, err := awaitAuthorisation(ctx, io.Discard, tables, id)
			switch {
			case c.waits:
				require.Error(t, err)
				require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded, "it waits: %v", err)
			case c.want != "":
				require.ErrorContains(t, err, c.want)
			default:
				require.NoError(t, err)
				require.Equal(t, "7", login)
			}
		})
	}
}

// awayFirst are the calls of a producer that is away at first.
type awayFirst struct {
	logins

	asked int
}

func (a *awayFirst) GetAuthorisation(ctx context.Context, id string) (client.Authorisation, error) {
	if a.asked++; a.asked == 1 {
		return client.New("http://127.0.0.1:1", "").GetAuthorisation(ctx, id)
	}
	return client.Authorisation{State: client.AuthorisationStateDone, Login: &client.Login{ID: "7", Login: "x"}}, nil
}

func TestBindMedia_WaitsForAProducerThatRestarts(t *testing.T) {
	t.Parallel()
	login, err := awaitAuthorisation(t.Context(), io.Discard, &awayFirst{}, "an id")
	require.NoError(t, err)
	require.Equal(t, "7", login)
}
