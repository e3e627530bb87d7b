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

// Role is the set of things that a caller may do. Each role may do what the ones before it may.
type Role string

// The roles, from the least to the most.
const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // runs and repeats work
	Admin    Role = "admin"    // changes settings
)

// Anyone is the role of a route that needs no token, from any address: its handler identifies callers by other means.
// No token has it.
const Anyone Role = "none"

// rank returns a role's place in the order; 0 for an unknown role.
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

// Caller is the sender of a request.
type Caller struct {
	Name string // the token's name, or "local" where no token is needed
	Role Role

	Unknown bool `json:"-"` // no token is needed, so the sender is not known
}

const callerKey = "adsync.caller"

// CallerOf returns the caller of a registered route.
func CallerOf(c *gin.Context) Caller {
	caller, _ := c.Value(callerKey).(Caller)
	return caller
}

// guard identifies callers by their tokens.
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

// require returns a handler that refuses callers below the role.
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
		if p := g.checkHost(r); p != nil {
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

// checkHost refuses requests to any host name except this machine's if no token is needed. Only this machine reaches
// the server then, but a page in a browser here can let its own name resolve to this address.
func (g *guard) checkHost(r *http.Request) *Problem {
	if host, named := localhost.Named(r); !g.wantsTokens() && !named {
		return NewProblem(http.StatusForbidden, "Without api.tokens only requests to localhost are answered, not to %q.",
			host)
	}
	return nil
}

// requireHost is the handler of checkHost for routes that never need a token.
func (g *guard) requireHost(c *gin.Context) {
	if p := g.checkHost(c.Request); p != nil {
		answer(c, p)
	}
}

// check returns the token's caller. A known token always passes: wrong tokens from the same address, or through the
// same proxy, lock no caller out. Only wrong tokens are counted and have to wait.
func (g *guard) check(c *gin.Context, token string) (Caller, *Problem) {
	// All tokens are compared, as hashes of one length, so that the time taken reveals nothing about them.
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
			"The token is unknown, and too many wrong tokens came from your address. Send the next one after the seconds of "+
				"the Retry-After header.")
	}
	g.logins.fail(c.ClientIP(), hash)
	return Caller{}, NewProblem(http.StatusUnauthorized, "The token is unknown.")
}
