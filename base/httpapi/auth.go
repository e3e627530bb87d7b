package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/base/localhost"
)

// Role says what a caller may do. Each role may do what the ones before it may.
type Role string

// The roles, from the least to the most.
const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // runs and repeats work
	Admin    Role = "admin"    // changes settings
)

// Anyone is the role of a route that needs no token, wherever the request comes from: its handler tells by other
// means whom it answers. No token has it.
const Anyone Role = "none"

// rank is 0 for what is no role.
func (r Role) rank() int {
	switch r {
	case Viewer:
		return 1
	case Operator:
		return 2
	case Admin:
		return 3
	default:
		return 0
	}
}

// Caller is who sent a request.
type Caller struct {
	Name string // the token's name, or "local" where no token is needed
	Role Role

	Unknown bool `json:"-"` // no token is needed, so nobody says who it is
}

const callerKey = "adsync.caller"

// CallerOf returns who sent the request of a registered route.
func CallerOf(c *gin.Context) Caller {
	caller, _ := c.Value(callerKey).(Caller)
	return caller
}

// guard lets callers in by their tokens.
type guard struct {
	tokens []hashedToken
	logins *logins
}

type hashedToken struct {
	hash      [sha256.Size]byte
	lengthMin int
	caller    Caller
}

func newGuard(tokens []Token) *guard {
	g := &guard{logins: newLogins()}
	for _, t := range tokens {
		hash, lengthMin, _ := t.hash() // The configuration was checked.
		g.tokens = append(g.tokens, hashedToken{hash, lengthMin, Caller{Name: t.Name, Role: t.Role}})
	}
	return g
}

// require returns a handler that passes on only callers of at least the role.
func (g *guard) require(role Role) gin.HandlerFunc {
	return func(c *gin.Context) {
		caller, p := g.identify(c)
		if p == nil && caller.Role.rank() < role.rank() {
			p = NewProblem(http.StatusForbidden, "This needs a token of the role %s; the one of %s has the role %s.", role,
				caller.Name, caller.Role)
		}
		if p != nil {
			if p.Status == http.StatusUnauthorized {
				c.Header("WWW-Authenticate", `Bearer realm="adsync"`)
			}
			answer(c, p)
			return
		}
		c.Set(callerKey, caller)
	}
}

func (g *guard) identify(c *gin.Context) (Caller, *Problem) {
	r := c.Request
	if len(g.tokens) == 0 {
		if p := g.fromHere(r); p != nil {
			return Caller{}, p
		}
		return Caller{Name: "local", Role: Admin, Unknown: true}, nil
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Caller{}, NewProblem(http.StatusUnauthorized, "Send a token: Authorization: Bearer TOKEN.")
	}
	return g.check(c, token)
}

// fromHere refuses requests under another name than this machine's where no token is needed: only this machine
// reaches the server then, but a page that is open in a browser here can have its own name resolve to this address.
func (g *guard) fromHere(r *http.Request) *Problem {
	if host, named := localhost.Named(r); !g.wantsTokens() && !named {
		return NewProblem(http.StatusForbidden, "Without api.tokens only requests to localhost are answered, not to %q.",
			host)
	}
	return nil
}

// addressed is fromHere for routes that need no token where others do.
func (g *guard) addressed(c *gin.Context) {
	if p := g.fromHere(c.Request); p != nil {
		answer(c, p)
	}
}

// check returns whose token it is. A known token always passes: wrong tokens from the same address, or through the
// same proxy, lock nobody out. Only wrong tokens are counted and have to wait.
func (g *guard) check(c *gin.Context, token string) (Caller, *Problem) {
	// All tokens are compared, as hashes of one length: the time taken tells nothing of them.
	token = strings.TrimSpace(token)
	hash := sha256.Sum256([]byte(token))
	var found *hashedToken
	for i := range g.tokens {
		if subtle.ConstantTimeCompare(hash[:], g.tokens[i].hash[:]) == 1 && len(token) >= g.tokens[i].lengthMin {
			found = &g.tokens[i]
		}
	}
	if found != nil {
		return found.caller, nil
	}
	if wait := g.logins.wait(c.ClientIP()); wait > 0 {
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		return Caller{}, NewProblem(http.StatusTooManyRequests,
			"The token is not known here, and too many wrong tokens came from your address: the Retry-After header says when "+
				"the next one is counted again.")
	}
	g.logins.fail(c.ClientIP(), hash)
	return Caller{}, NewProblem(http.StatusUnauthorized, "The token is not known here.")
}
