// Package page_test tests the first page in a browser, at the sizes of a phone and of a wide screen, in the light and
// the dark theme.
//
// It is its own module, so that the program does not depend on the library that drives a browser.
package page_test

import (
	"cmp"
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/telemetry"
	"adsync/client"
	"adsync/producer/overview"
	"adsync/producer/overview/overviewtest"
	"adsync/producer/page"
)

// outEnv names the directory for the pictures; without it they go away with the test.
const outEnv = "ADSYNC_PAGE_SHOTS"

// wait is how long a browser may take for one thing.
const wait = 30 * time.Second

// site is the page on a server, over known rows.
type site struct {
	*httptest.Server

	store *store.Store
	shown atomic.Int64 // how often the page was asked for
	away  atomic.Bool
}

func newSite(t *testing.T, tokens ...httpapi.Token) *site {
	t.Helper()
	s := &site{store: storetest.New(t)}
	overviewtest.Fill(t, s.store)
	reader := overview.NewReader(overview.Options{Store: s.store, Platforms: overviewtest.Platforms(),
		Clock: overviewtest.Clock{}, Limits: limits{}})
	cfg := httpapi.DefaultConfig()
	cfg.Tokens = tokens
	server, err := httpapi.New(cfg, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	first, err := page.New(func(ctx context.Context) overview.Overview {
		s.shown.Add(1)
		o := reader.Read(ctx)
		if s.away.Load() {
			o.Troubles = []client.Trouble{{What: "data database", Why: "dial tcp 10.0.0.7:3306: connect: connection refused"}}
		}
		return o
	})
	require.NoError(t, err)
	require.NoError(t, server.RegisterPages(nil, first))
	require.NoError(t, server.Gate().Start(t.Context()))
	s.Server = httptest.NewServer(server.Handler())
	t.Cleanup(s.Close)
	return s
}

// tab is a page of a browser; what the browser complains of fails the test.
type tab struct {
	testing.TB

	ctx context.Context
	mu  sync.Mutex
	bad []string
}

func newTab(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true))
	allocated, free := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(free)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(end)
	b := &tab{TB: t, ctx: ctx}
	// The browser lives as long as the context of its first action, which must have no deadline.
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			b.bad = append(b.bad, e.Entry.Text)
		case *runtime.EventExceptionThrown:
			b.bad = append(b.bad, e.ExceptionDetails.Text)
		}
	}))
	b.do(command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}))
	return b
}

// command is an action of one command of the protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, c, params)
		return v, err
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait)
	defer cancel()
	require.NoError(b, chromedp.Do(ctx, actions...))
}

func run[T any](b *tab, action chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	require.NoError(b, err)
	return v
}

// value is what an expression comes to in the page.
func value[T any](b *tab, expression string) T {
	b.Helper()
	return run(b, chromedp.Evaluate[T](expression))
}

func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bad
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.Helper()
	b.do(chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(wait)))
}

func (b *tab) screen(wide, high int64, theme string) {
	b.Helper()
	b.do(chromedp.EmulateViewport(wide, high), command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
	}))
}

func (b *tab) shoot(name string) {
	b.Helper()
	dir := cmp.Or(os.Getenv(outEnv), b.TempDir())
	require.NoError(b, os.MkdirAll(dir, 0o755))
	first, whole := run(b, chromedp.CaptureScreenshot()), run(b, chromedp.FullScreenshot(100))
	require.NotEmpty(b, first)
	require.NoError(b, os.WriteFile(filepath.Join(dir, name+".png"), first, 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(dir, name+"-whole.png"), whole, 0o600))
}

var screens = []struct {
	name       string
	wide, high int64
}{{"phone", 390, 844}, {"wide", 1440, 900}}

func TestPage_FitsEveryScreen(t *testing.T) {
	s := newSite(t)
	b := newTab(t)
	for _, screen := range screens {
		for _, theme := range []string{"light", "dark"} {
			b.screen(screen.wide, screen.high, theme)
			b.do(chromedp.Navigate(s.URL), chromedp.WaitVisible(chromedp.CSS("main")))
			name := screen.name + "-" + theme
			b.shoot(name)
			require.Equal(t, screen.wide, value[int64](b, "document.documentElement.scrollWidth"), "%s scrolls sideways", name)
			require.Empty(t,
				value[[]string](b,
					`[...document.querySelectorAll("main *")]
						.filter(e => !e.closest("svg") && e.getBoundingClientRect().right > innerWidth + 0.5)
						.map(e => e.outerHTML.slice(0, 200))`), name)
			require.Empty(t, value[[]string](b, brokenNames), name)
			require.Empty(t, value[[]string](b, lowContrast), name)
			require.Equal(t, theme == "dark", value[bool](b, `matchMedia("(prefers-color-scheme: dark)").matches`))
		}
	}
	require.Empty(t, b.complaints(), "the policy lets all in that the page has")
}

// lowContrast lists texts of less than 4.5 : 1 against what is behind them.
const lowContrast = `(() => {
  const read = c => { const m = c.match(/[\d.]+/g).map(Number); return {rgb: m.slice(0, 3), a: m[3] ?? 1}; };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = read(getComputedStyle(e).backgroundColor);
      if (c.a > 0) return c.rgb;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll('main *')) {
    if (e.closest('svg') || !e.getClientRects().length) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const a = light(read(getComputedStyle(e).color).rgb), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push(ratio.toFixed(2) + ' ' + e.outerHTML.slice(0, 120));
  }
  return bad;
})()`

// brokenNames lists words with a hyphen or a slash that stand on two lines, though they are no longer than a line of
// a phone.
const brokenNames = `(() => {
  const bad = [], walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    if (n.parentElement.closest('svg') || !n.parentElement.getClientRects().length) continue;
    for (const m of n.data.matchAll(/[^\s]*[-\/][^\s]*/g)) {
      const r = document.createRange();
      r.setStart(n, m.index); r.setEnd(n, m.index + m[0].length);
      if (m[0].length <= 28 && new Set([...r.getClientRects()].map(x => Math.round(x.top))).size > 1) bad.push(m[0]);
    }
  }
  return bad;
})()`

func TestPage_RefreshesItselfWhereTheReaderIs(t *testing.T) {
	s := newSite(t)
	b := newTab(t)
	b.screen(390, 844, "light")
	began := time.Now()
	b.do(chromedp.Navigate(s.URL), chromedp.WaitVisible(chromedp.CSS("main")))
	require.False(t, value[bool](b, `document.getElementById("notes").open`))
	require.NoError(t,
		s.store.Data.Writer(t.Context()).Exec("UPDATE run SET succeeded = 7 WHERE state = 'running' AND total = 8").Error)
	value[int](b,
		`document.getElementById("notes").open = true; scrollTo(0, 900);
		document.querySelector("main").dataset.first = "yes"; 0`)
	before := value[float64](b, "scrollY")
	require.Positive(t, before)
	b.until(`!document.querySelector("main").dataset.first`)
	require.InDelta(t, before, value[float64](b, "scrollY"), 1)
	require.True(t, value[bool](b, `document.getElementById("notes").open`))
	require.True(t, value[bool](b, `document.querySelector(".runs").textContent.includes("7 of 8")`))
	require.LessOrEqual(t, s.shown.Load(), 1+int64(time.Since(began)/(5*time.Second)),
		"no more often than every five seconds")

	s.away.Store(true)
	b.until(`document.querySelector(".troubles")`)
	require.Contains(t, value[string](b, `document.querySelector(".state").textContent`), "Something does not answer")
	value[int](b, "scrollTo(0, 0); 0")
	b.shoot("away")
	require.Empty(t, b.complaints())

	s.Close()
	b.until(`!document.getElementById("stale").hidden`)
	require.Contains(t, value[string](b, `document.getElementById("stale").textContent`), "has not answered since")
}

func TestPage_ABrowserLogsInAndOut(t *testing.T) {
	const token = "a token of twenty letters"
	s := newSite(t, httpapi.Token{Name: "vera", Token: secret.NewText(token), Role: httpapi.Viewer})
	b := newTab(t)
	b.screen(390, 844, "dark")
	b.do(chromedp.Navigate(s.URL), chromedp.WaitVisible(chromedp.CSS("#token")))
	b.shoot("login")
	require.Empty(t, value[[]string](b, lowContrast))
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), "a guess\n"), chromedp.WaitVisible(chromedp.CSS(".problem")))
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), token+"\n"), chromedp.WaitVisible(chromedp.CSS("main")))
	require.Empty(t, value[string](b, "document.cookie"), "no script reads the session")
	b.do(chromedp.Click(chromedp.CSS(".brand button")), chromedp.WaitVisible(chromedp.CSS("#token")))
	b.do(chromedp.Navigate(s.URL), chromedp.WaitVisible(chromedp.CSS("#token")))
}
