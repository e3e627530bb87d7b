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

// Page is a path that a browser shows. It must only read: use a Route for what changes something.
type Page struct {
	Path    string
	Role    Role // the least role that may see it
	Handler HandlerFunc
}

const (
	sessionCookie = "adsync_session"
	// sessionPlace is the place for which sessions are sealed: a text that was sealed for another place is no session.
	sessionPlace = "a session of a browser"
	// sessionLife is the time for which a log-in lasts. Clocks of processes may differ by some minutes.
	sessionLife = 12 * time.Hour
	loginPath   = "/login"
	logoutPath  = "/logout"
)

//go:embed login.html
var loginTemplate string

//go:embed login.css
var loginStyle string

// sessions identifies browsers, which send no bearer token: a form takes the token, and a cookie then names its owner.
// The cookie is sealed and not stored, so that every producer accepts it. It opens only pages, never the API. It ends
// with its time, with its token's entry in api.tokens, and with a log-out.
type sessions struct {
	guard   *guard
	box     *secret.Box
	form    *HTML
	ended   *endedSessions
	proxies []netip.Prefix // whose X-Forwarded-Proto is believed
}

// session is the content of a cookie.
type session struct {
	ID    string    `json:"id"`    // random; a cookie without it is of an older release, and refused
	Name  string    `json:"name"`  // of the token
	Print string    `json:"print"` // of the token; it reveals nothing about the token
	Until time.Time `json:"until"`
}

// RegisterPages adds pages, and /login and /logout for them. All processes that show the pages need a box with the same
// keys; with a nil box this process accepts only its own sessions. It must not be called after Start, and at most once.
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

// HasSession reports whether a request comes with a session's cookie.
func HasSession(c *gin.Context) bool {
	_, err := c.Request.Cookie(sessionCookie)
	return err == nil
}

// loginPage is the data of the form.
type loginPage struct{ Problem string }

// require returns a handler that admits only browsers with a session, and callers with a token, of at least the role.
// Others get the form.
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

// refuse shows the form if a token would help, otherwise the problem itself.
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

// login reads a token from the form. It is checked like a token in a header, so that guesses have to wait here too.
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

// logout ends the session in every process, not only in this browser: others may have a copy of its cookie.
func (in *sessions) logout(c *gin.Context) error {
	if s, _, known := in.sessionOf(c); known {
		in.ended.end(c.Request.Context(), s)
	}
	in.setCookie(c, "", -1)
	c.Redirect(http.StatusSeeOther, "/")
	return nil
}

func (in *sessions) setCookie(c *gin.Context, value string, seconds int) {
	// Strict: a page of another site cannot open this page with a session.
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // It is Secure if the browser speaks TLS.
		Name: sessionCookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: in.encrypted(c),
	})
}

// encrypted reports whether the browser speaks TLS with this server, or, by the proxy's header, with a trusted proxy.
func (in *sessions) encrypted(c *gin.Context) bool {
	if c.Request.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddr(c.RemoteIP())
	if err != nil {
		return false
	}
	// The first scheme is the browser's: proxies add theirs after it.
	scheme, _, _ := strings.Cut(c.GetHeader("X-Forwarded-Proto"), ",")
	for _, proxy := range in.proxies {
		if proxy.Contains(peer.Unmap()) {
			return strings.EqualFold(strings.TrimSpace(scheme), "https")
		}
	}
	return false
}

// callerOf returns the owner of a request's session.
func (in *sessions) callerOf(c *gin.Context) (Caller, bool) {
	_, caller, known := in.sessionOf(c)
	return caller, known
}

// sessionOf returns the session of a request's cookie, and its owner. The cookie must open with the box, be neither
// over nor ended, and its owner's name must still have the same token.
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

// wantsTokens reports whether callers need a token.
func (g *guard) wantsTokens() bool { return len(g.tokens) > 0 }

// hashOf returns a token's hash and caller by its name; the zero Caller for an unknown name.
func (g *guard) hashOf(name string) ([sha256.Size]byte, Caller) {
	for i := range g.tokens {
		if g.tokens[i].caller.Name == name {
			return g.tokens[i].hash, g.tokens[i].caller
		}
	}
	return [sha256.Size]byte{}, Caller{}
}
