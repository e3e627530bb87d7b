package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// Role says what a caller may do. Each role may do what the ones before it may.
type Role string

// The roles, from the least to the most.
const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // runs and repeats work
	Admin    Role = "admin"    // changes settings
)

// Anyone is the role of a route that needs no token, wherever the request comes from: its handler tells by other means whom
// it answers. No token has it.
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
}

type hashedToken struct {
	hash   [sha256.Size]byte
	caller Caller
}

func newGuard(tokens []Token) *guard {
	g := &guard{}
	for _, t := range tokens {
		g.tokens = append(g.tokens, hashedToken{
			hash:   sha256.Sum256([]byte(t.Token.Reveal())),
			caller: Caller{Name: t.Name, Role: t.Role},
		})
	}
	return g
}

// require returns a handler that passes on only callers of at least the role.
func (g *guard) require(role Role) gin.HandlerFunc {
	return func(c *gin.Context) {
		caller, p := g.identify(c.Request)
		if p == nil && caller.Role.rank() < role.rank() {
			p = NewProblem(http.StatusForbidden, "This needs a token of the role %s; the one of %s has the role %s.", role, caller.Name, caller.Role)
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

func (g *guard) identify(r *http.Request) (Caller, *Problem) {
	if len(g.tokens) == 0 {
		// Only this machine reaches the server then; but a web page that is open in a browser here can have its
		// own name resolve to this address, and its Host header gives it away.
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		if !isLoopback(host) {
			return Caller{}, NewProblem(http.StatusForbidden, "Without api.tokens only requests to localhost are answered, not to %q.", host)
		}
		return Caller{Name: "local", Role: Admin}, nil
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Caller{}, NewProblem(http.StatusUnauthorized, "Send a token: Authorization: Bearer TOKEN.")
	}
	// All tokens are compared, as hashes of one length: the time taken tells nothing of them.
	hash := sha256.Sum256([]byte(strings.TrimSpace(token)))
	var found *hashedToken
	for i := range g.tokens {
		if subtle.ConstantTimeCompare(hash[:], g.tokens[i].hash[:]) == 1 {
			found = &g.tokens[i]
		}
	}
	if found == nil {
		return Caller{}, NewProblem(http.StatusUnauthorized, "The token is not known here.")
	}
	return found.caller, nil
}
