package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/secret"
)

// Page is a path that a browser shows. It only reads: what changes something is a Route.
type Page struct {
	Path    string
	Role    Role // the least role that may see it
	Handler HandlerFunc
}

const (
	sessionCookie = "adsync_session"
	// sessionPlace is where sessions are sealed for: what was sealed for anything else is none.
	sessionPlace = "a session of a browser"
	// sessionLife is how long a log-in lasts. A few minutes by which processes' clocks are off are no matter.
	sessionLife = 12 * time.Hour
	loginPath   = "/login"
	logoutPath  = "/logout"
)

//go:embed login.html
var loginTemplate string

//go:embed login.css
var loginStyle string

// sessions let browsers in, which send no token by themselves: a form takes one, and a cookie says from then on whose
// it was. The cookie is sealed and kept nowhere, so that every producer knows it; it opens pages alone, never the
// API. It ends with its time, with its token's entry in api.tokens, and when its holder logs out.
type sessions struct {
	guard   *guard
	box     *secret.Box
	form    *HTML
	ended   *endedSessions
	proxies []netip.Prefix // whose X-Forwarded-Proto is believed
}

// session is what a cookie holds.
type session struct {
	ID    string    `json:"id"`    // random; a session without one was opened by an older release, and is none
	Name  string    `json:"name"`  // of the token
	Print string    `json:"print"` // of the token, of which it tells nothing
	Until time.Time `json:"until"`
}

// RegisterPages adds pages, and /login and /logout for them. What box seals, the boxes of other processes that show
// the pages must open; without one the sessions of this process are its own. It must not be called after Start, and
// at most once.
func (s *Server) RegisterPages(box *secret.Box, pages ...Page) error {
	var err error
	if box == nil {
		if box, err = secret.NewBox(secret.NewKey("session")); err != nil {
			return err
		}
	}
	in := &sessions{guard: s.guard, box: box, ended: s.ended, proxies: s.cfg.proxies()}
	s.sessions = in
	if in.form, err = NewHTML(loginTemplate, loginStyle, "", nil); err != nil {
		return err
	}
	for _, p := range pages {
		s.engine.GET(p.Path, in.require(p.Role), s.gate.handle, s.handle(p.Handler))
	}
	s.engine.POST(loginPath, s.gate.handle, s.handle(in.login))
	s.engine.GET(loginPath, func(c *gin.Context) { c.Redirect(http.StatusSeeOther, "/") })
	s.engine.POST(logoutPath, s.gate.handle, s.handle(in.logout))
	return nil
}

// HasSession tells whether a page is shown for a session, which can be ended.
func HasSession(c *gin.Context) bool {
	_, err := c.Request.Cookie(sessionCookie)
	return err == nil
}

// loginPage is what the form shows.
type loginPage struct{ Problem string }

// require passes on only browsers with a session, and callers with a token, of at least the role. Others get the form.
func (in *sessions) require(role Role) gin.HandlerFunc {
	return func(c *gin.Context) {
		caller, known := in.callerOf(c)
		if !known {
			var p *Problem
			if caller, p = in.guard.identify(c); p != nil {
				in.refuse(c, p)
				return
			}
		}
		if caller.Role.rank() < role.rank() {
			in.refuse(c, NewProblem(http.StatusForbidden, "This needs a token of the role %s; the one of %s has the role %s.",
				role, caller.Name, caller.Role))
			return
		}
		c.Set(callerKey, caller)
	}
}

// refuse shows the form where a token would help, and the problem itself where it would not.
func (in *sessions) refuse(c *gin.Context, p *Problem) {
	if !in.guard.wantsTokens() {
		answer(c, p)
		return
	}
	shown := loginPage{}
	if c.GetHeader("Authorization") != "" || p.Status != http.StatusUnauthorized {
		shown.Problem = p.Detail
	}
	if p.Status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", `Bearer realm="adsync"`)
	}
	if err := in.form.Write(c, p.Status, shown); err != nil {
		answer(c, NewProblem(http.StatusInternalServerError, "The form cannot be shown."))
	}
	c.Abort()
}

// login takes a token from the form. It is checked as one in a header is, so that whatever slows down those who guess
// slows them down here too.
func (in *sessions) login(c *gin.Context) error {
	if !in.guard.wantsTokens() {
		c.Redirect(http.StatusSeeOther, "/")
		return nil
	}
	caller, p := in.guard.check(c, c.PostForm("token"))
	if p != nil {
		return in.form.Write(c, p.Status, loginPage{Problem: p.Detail})
	}
	hash, _ := in.guard.hashOf(caller.Name)
	text, err := json.Marshal(session{ID: rand.Text(), Name: caller.Name, Print: printOf(hash),
		Until: clock.Mark().Add(sessionLife).UTC()})
	if err != nil {
		return err
	}
	sealed, err := in.box.Seal(string(text), sessionPlace)
	if err != nil {
		return err
	}
	in.setCookie(c, base64.RawURLEncoding.EncodeToString([]byte(sealed)), int(sessionLife/time.Second))
	c.Redirect(http.StatusSeeOther, "/")
	return nil
}

// logout ends the session for every process, not in this browser alone: somebody else may have its cookie.
func (in *sessions) logout(c *gin.Context) error {
	if s, _, known := in.sessionOf(c); known {
		in.ended.end(c.Request.Context(), s)
	}
	in.setCookie(c, "", -1)
	c.Redirect(http.StatusSeeOther, "/")
	return nil
}

func (in *sessions) setCookie(c *gin.Context, value string, seconds int) {
	// Strict: a page of another site cannot even have this one shown with a session.
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // It is Secure wherever the browser speaks TLS.
		Name: sessionCookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: in.encrypted(c),
	})
}

// encrypted reports whether the browser speaks TLS: with this server, or with a trusted proxy that says so.
func (in *sessions) encrypted(c *gin.Context) bool {
	if c.Request.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddr(c.RemoteIP())
	if err != nil {
		return false
	}
	// The first is that of the browser, where proxies add theirs.
	scheme, _, _ := strings.Cut(c.GetHeader("X-Forwarded-Proto"), ",")
	for _, proxy := range in.proxies {
		if proxy.Contains(peer.Unmap()) {
			return strings.EqualFold(strings.TrimSpace(scheme), "https")
		}
	}
	return false
}

// callerOf returns whose session a request comes with.
func (in *sessions) callerOf(c *gin.Context) (Caller, bool) {
	_, caller, known := in.sessionOf(c)
	return caller, known
}

// sessionOf returns the session that a request comes with: one that was sealed here, is not over, was not ended, and
// whose token is still the one of its name.
func (in *sessions) sessionOf(c *gin.Context) (session, Caller, bool) {
	if !in.guard.wantsTokens() {
		return session{}, Caller{}, false
	}
	cookie, err := c.Request.Cookie(sessionCookie)
	if err != nil {
		return session{}, Caller{}, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return session{}, Caller{}, false
	}
	text, err := in.box.Open(string(sealed), sessionPlace)
	if err != nil {
		return session{}, Caller{}, false
	}
	var s session
	if json.Unmarshal([]byte(text), &s) != nil || s.ID == "" || !clock.Mark().Before(s.Until) || in.ended.has(s.ID) {
		return session{}, Caller{}, false
	}
	hash, caller := in.guard.hashOf(s.Name)
	return s, caller, caller.Name != "" && printOf(hash) == s.Print
}

func printOf(hash [sha256.Size]byte) string {
	sum := sha256.Sum256(append([]byte(sessionPlace), hash[:]...))
	return hex.EncodeToString(sum[:8])
}

// wantsTokens tells whether callers need one.
func (g *guard) wantsTokens() bool { return len(g.tokens) > 0 }

// hashOf finds a token by its name; nobody has one of a name that is not known.
func (g *guard) hashOf(name string) ([sha256.Size]byte, Caller) {
	for i := range g.tokens {
		if g.tokens[i].caller.Name == name {
			return g.tokens[i].hash, g.tokens[i].caller
		}
	}
	return [sha256.Size]byte{}, Caller{}
}
