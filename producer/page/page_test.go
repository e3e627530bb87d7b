package page_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"adsync/base/httpapi"
	"adsync/base/store/storetest"
	"adsync/base/telemetry"
	"adsync/client"
	"adsync/producer/overview"
	"adsync/producer/overview/overviewtest"
	"adsync/producer/page"
)

// get shows the page of an overview to a browser on this machine.
func get(t *testing.T, o overview.Overview) (*httptest.ResponseRecorder, *html.Node) {
	t.Helper()
	server, err := httpapi.New(httpapi.DefaultConfig(), telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	first, err := page.New(func(context.Context) overview.Overview { return o })
	require.NoError(t, err)
	require.NoError(t, server.RegisterPages(nil, first))
	require.NoError(t, server.Gate().Start(t.Context()))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", http.NoBody)
	w := httptest.NewRecorder()
	server.Handler().ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	document, err := html.Parse(strings.NewReader(w.Body.String()))
	require.NoError(t, err)
	return w, document
}

func known(t *testing.T) overview.Overview {
	t.Helper()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	return overview.NewReader(overview.Options{Store: s, Platforms: overviewtest.Platforms(),
		Clock: overviewtest.Clock{}}).Read(t.Context())
}

// find returns the elements with a tag, and a class unless that is empty, within a node.
func find(n *html.Node, tag, class string) (found []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == tag &&
			(class == "" || strings.Contains(" "+attribute(d, "class")+" ", " "+class+" ")) {
			found = append(found, d)
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is what a reader sees, with single blanks.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "title" {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func TestPage_ShowsWhatTheTablesSay(t *testing.T) {
	t.Parallel()
	o := known(t)
	_, document := get(t, o)
	require.Contains(t, text(find(document, "p", "asof")[0]), "The tables as of "+o.At.Format("15:04:05 MST"))
	require.Contains(t, text(find(document, "p", "asof")[0]), "2026-11-21 10:30:00 UTC")

	cards := find(document, "article", "media-card")
	require.Len(t, cards, 2)
	tulip := text(cards[0])
	require.Contains(t, tulip, "CNY 38,000.00 Accounts’ day totals 38,300.00 -0.78 %")
	require.Contains(t, tulip, "6 fresh 2 late 0 new 6 parked 1 quiet")
	require.Contains(t, tulip, "Oldest figures of today: never pulled")
	require.Contains(t, tulip, "3 login, 2 frozen, 1 revoked")
	require.Contains(t, text(cards[1]), "USD 37.03 Accounts’ day totals 37.03 equal")
	require.Len(t, find(cards[0], "rect", "today"), 24)
	require.Len(t, find(cards[0], "rect", "present"), 1)

	var attention, notes []string
	for _, item := range find(document, "article", "item") {
		if len(find(item, "span", "word")) == 1 && text(find(item, "span", "word")[0]) == "Note" {
			notes = append(notes, text(item))
		} else {
			attention = append(attention, text(item))
		}
	}
	require.Len(t, attention, len(o.Attention)-len(notes))
	require.NotEmpty(t, notes)
	require.Equal(t,
		"Act The login agency-south must be authorised again tulip The platform refuses the refresh token: code 11017, it "+
			"was revoked by the owner."+
			" Concerned 3 accounts tulip/20000012, tulip/20000013, tulip/20000014 Money CNY 3,900.00 a day is not pulled Since "+
			sinceOf(o, "login")+
			" The owner of the accounts opens the address that the command prints. Its accounts are then pulled again."+
			" adsync bind tulip --app-id 1110000001 --redirect-uri https://HOST/oauth/tulip/callback --wait", attention[0])

	runs := find(document, "table", "runs")
	require.Len(t, runs, 2)
	require.Len(t, find(find(runs[0], "tbody", "")[0], "tr", ""), 3)
	require.Regexp(t, `orchid\.adgroup\.changes adsync runs show \d+ fanning out 3 of …`, text(runs[0]))
	require.Contains(t, text(runs[0]), "3,135 of 12,840")
	require.Regexp(t, `tulip\.creative\.full adsync runs show \d+ 2 of its accounts have no login failed 4 of 4`,
		text(runs[1]))
}

func sinceOf(o overview.Overview, kind string) string {
	for _, a := range o.Attention {
		if a.Kind == kind {
			return a.Since.Format("01-02 15:04 MST")
		}
	}
	return ""
}

func TestPage_TakesNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	w, document := get(t, known(t))
	policy := w.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	require.Equal(t, []string{"nosniff", "no-referrer", "no-store"},
		[]string{w.Header().Get("X-Content-Type-Options"), w.Header().Get("Referrer-Policy"),
			w.Header().Get("Cache-Control")})
	ids := map[string]bool{}
	for n := range document.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "src", "style":
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			case "href", "action":
				require.True(t, strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "#"), a.Val)
			case "id":
				require.False(t, ids[a.Val], "two elements are %s", a.Val)
				ids[a.Val] = true
			}
		}
	}
	require.Len(t, find(document, "noscript", ""), 1, "without a script it refreshes itself all the same")
}

// What platforms and people write goes into the page as text.
func TestPage_WritesNoMarkupOfOthers(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script><img src=x onerror="alert(1)">`
	_, document := get(t, overview.Overview{Overview: client.Overview{
		At: time.Now(), Business: time.Now(), Troubles: []client.Trouble{{What: evil, Why: evil}},
		Attention: []client.Attention{{Severity: overview.Bad, Title: evil, Cause: evil, Accounts: 1,
			Examples: []string{evil}, Remedy: evil, Command: evil, Media: evil}},
		Media: []client.MediaOverview{{Name: evil, ParkedReasons: []client.ParkedReason{{Reason: evil, Accounts: 1}},
			Spend: []client.Spend{{Currency: evil, Zone: evil}}}},
		Open:   []client.RunOverview{{Task: evil, Error: evil}},
		Limits: []client.LimitOverview{{Media: evil, Endpoint: evil, Subject: evil}},
	}})
	require.Len(t, find(document, "script", ""), 1, "its own")
	require.Empty(t, find(document, "img", ""))
	require.Contains(t, text(find(document, "article", "item")[0]), evil)
}

func TestPage_SaysWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	_, document := get(t,
		overview.Overview{Overview: client.Overview{Troubles: []client.Trouble{{What: "data database",
			Why: "no answer within 2s"}}}})
	require.Contains(t, text(find(document, "section", "troubles")[0]), "data database no answer within 2s")
	require.Contains(t, text(find(document, "header", "top")[0]), "The tables cannot be read")
	require.Empty(t, find(document, "article", "media-card"))

	at := time.Now()
	_, document = get(t, overview.Overview{Overview: client.Overview{At: at, Business: at,
		Troubles: []client.Trouble{{What: "redis", Why: "gone"}}, Media: []client.MediaOverview{{Name: "tulip"}}}})
	require.Contains(t, text(find(document, "section", "troubles")[0]), "What is shown below is of "+
		at.UTC().Format("15:04:05 MST"))
	require.Len(t, find(document, "article", "media-card"), 1)

	_, document = get(t, overview.Overview{Overview: client.Overview{At: at, Business: at}})
	require.Contains(t, text(find(document, "header", "top")[0]), "All is well")
}

func TestPage_SaysHowFarTheFirstPullIs(t *testing.T) {
	t.Parallel()
	media := client.MediaOverview{Name: "tulip", Accounts: 100, Pulled: 100, Fresh: 7, New: 93, FirstPull: true,
		OldestSeconds: -1}
	_, document := get(t, overview.Overview{Overview: client.Overview{At: time.Now(), Business: time.Now(),
		Media: []client.MediaOverview{media}}})
	require.Contains(t, text(find(document, "header", "top")[0]), "First pull under way, 7 of 100 accounts")
	require.NotContains(t, text(find(document, "header", "top")[0]), "All is well")
	card := text(find(document, "article", "media-card")[0])
	require.Contains(t, card, "First pull under way, 7 of 100 accounts.")
	require.NotContains(t, card, "No spend is known")
	media.FirstPull, media.Fresh, media.New = false, 100, 0
	_, document = get(t, overview.Overview{Overview: client.Overview{At: time.Now(), Business: time.Now(),
		Media: []client.MediaOverview{media}}})
	require.Contains(t, text(find(document, "header", "top")[0]), "All is well")
	require.Contains(t, text(find(document, "article", "media-card")[0]), "No spend is known of today.")
}

// A run is opened by a command: a link into the API would show JSON, and be refused where there are tokens. So would
// links to /readyz and /metrics: each link stays on the page.
func TestPage_NamesTheCommandOfARun(t *testing.T) {
	t.Parallel()
	_, document := get(t, overview.Overview{Overview: client.Overview{At: time.Now(), Business: time.Now(),
		Open: []client.RunOverview{{ID: "7529853616300212345", Task: "tulip.adgroup.full", Total: 3}}}})
	run := find(document, "td", "task")[0]
	require.Contains(t, text(run), "adsync runs show 7529853616300212345")
	for _, a := range find(document, "a", "") {
		require.True(t, strings.HasPrefix(attribute(a, "href"), "#"), "the link to %s opens what is not for people",
			attribute(a, "href"))
	}
}
