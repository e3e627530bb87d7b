package jobs

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/localhost"
	"adsync/base/secret"
	"adsync/base/store/jobstore"
)

// poolDefault is the store of a token that names none.
const poolDefault = "default"

// nameMax is the longest name of a namespace or a queue.
const nameMax = 255

// api answers the protocol.
type api struct {
	queues    *queues
	tokens    *tokens // nil if none are needed
	openSizes bool
}

// handler returns the routes of the protocol.
func (a *api) handler() http.Handler {
	e := newEngine(a.queues.logger, a.queues.counts.observe)
	// A consumer may name several queues, with commas.
	e.GET("/api/:namespace/:queue", a.named(true), a.admitted, a.consume)
	one := e.Group("/api/:namespace/:queue", a.named(false))
	if a.openSizes {
		one.GET("/size", a.pooled, a.size)
		one.GET("/deadletter/size", a.pooled, a.deadSize)
	} else {
		one.GET("/size", a.admitted, a.size)
		one.GET("/deadletter/size", a.admitted, a.deadSize)
	}
	one.Use(a.admitted)
	one.PUT("", a.publish)
	one.PUT("/bulk", a.publishBulk)
	one.PUT("/job/:job_id", a.publish)
	one.DELETE("", a.destroy)
	one.DELETE("/job/:job_id", a.ack)
	one.GET("/peek", a.peek)
	one.GET("/job/:job_id", a.peekJob)
	one.GET("/deadletter", a.deadLetters)
	one.PUT("/deadletter", a.respawn)
	one.DELETE("/deadletter", a.dropDead)
	// Beyond lmstfy.
	one.POST("/ack", a.ackMany)
	one.POST("/pause", a.pause(true))
	one.POST("/resume", a.pause(false))
	one.POST("/job/:job_id/nack", a.nack)
	one.POST("/job/:job_id/touch", a.touch)
	one.GET("/deadletter/jobs", a.listDead)
	e.GET("/api/:namespace", a.inNamespace, a.admitted, a.listQueues)
	return e
}

// newEngine returns an engine whose unknown routes answer as the protocol does.
func newEngine(logger *slog.Logger, before ...gin.HandlerFunc) *gin.Engine {
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.Use(before...)
	e.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, reason any) {
		logger.Error("request panicked", "route", c.FullPath(), "panic", reason,
			"stack", string(debug.Stack()))
		internalError(c)
	}))
	e.NoRoute(func(c *gin.Context) { refuse(c, http.StatusNotFound, "api not found") })
	return e
}

// refuse ends a request with an error.
func refuse(c *gin.Context, status int, reason string) {
	c.AbortWithStatusJSON(status, gin.H{"error": reason})
}

func internalError(c *gin.Context) { refuse(c, http.StatusInternalServerError, "internal error") }

// named checks the names of the namespace and the queue, or of several queues.
func (a *api) named(several bool) gin.HandlerFunc {
	return func(c *gin.Context) {
		if a.tokens == nil && localhost.Rebound(c.Request) {
			refuse(c, http.StatusForbidden, "without tokens only requests to localhost are answered")
			return
		}
		namespace, queue := c.Param("namespace"), c.Param("queue")
		switch {
		case len(namespace) > nameMax || len(queue) > nameMax && !several:
			refuse(c, http.StatusBadRequest, "namespace or queue name too long")
		case !isName(namespace):
			refuse(c, http.StatusBadRequest, "namespace name contains forbidden characters")
		case several:
			for name := range strings.SplitSeq(queue, ",") {
				if len(name) > nameMax {
					refuse(c, http.StatusBadRequest, "namespace or queue name too long")
					return
				}
				if name != "" && !isQueueName(name) {
					refuse(c, http.StatusBadRequest, "queue name contains forbidden characters")
					return
				}
			}
		case !isQueueName(queue):
			refuse(c, http.StatusBadRequest, "queue name contains forbidden characters")
		}
	}
}

// inNamespace checks the name of the namespace.
func (a *api) inNamespace(c *gin.Context) {
	if name := c.Param("namespace"); !isName(name) || len(name) > nameMax {
		refuse(c, http.StatusBadRequest, "namespace name contains forbidden characters")
	}
}

func isQueueName(name string) bool { return isName(name) && name[0] != '_' }

func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

// token returns the pool and the token that a request names.
func tokenOf(c *gin.Context) (pool string, token secret.Text) {
	text := c.GetHeader("X-Token")
	if text == "" {
		text = c.Query("token")
	}
	if pool, rest, named := strings.Cut(text, ":"); named {
		return pool, secret.NewText(rest)
	}
	return poolDefault, secret.NewText(text)
}

// pooled refuses a request to a store that does not exist.
func (a *api) pooled(c *gin.Context) {
	if pool, _ := tokenOf(c); pool != poolDefault {
		refuse(c, http.StatusNotFound, "pool not found")
	}
}

// admitted refuses a request without a token of its namespace.
func (a *api) admitted(c *gin.Context) {
	a.pooled(c)
	if c.IsAborted() || a.tokens == nil {
		return
	}
	_, token := tokenOf(c)
	if token.Reveal() == "" {
		refuse(c, http.StatusUnauthorized, "token not found")
		return
	}
	known, err := a.tokens.has(c.Request.Context(), c.Param("namespace"), token)
	if err != nil {
		a.failed(c, "look up a token", err)
	} else if !known {
		refuse(c, http.StatusUnauthorized, "invalid token")
	}
}

// failed answers a request that an error ended, and logs it.
func (a *api) failed(c *gin.Context, what string, err error) {
	if c.Request.Context().Err() == nil {
		a.queues.logger.ErrorContext(c.Request.Context(), "a request failed", "what", what, "namespace", c.Param("namespace"),
			"queue", c.Param("queue"), "err", err)
	}
	internalError(c)
}

func queueOf(c *gin.Context) jobstore.Queue {
	return jobstore.Queue{Namespace: c.Param("namespace"), Name: c.Param("queue")}
}

// tokens remembers which tokens are allowed.
type tokens struct {
	store *jobstore.Store

	mu    sync.Mutex
	known map[tokenKey]time.Time // when it was looked up
}

type tokenKey struct{ namespace, token string }

const (
	// tokenFor is for how long an allowed token is used without a look at the tables: so long does a withdrawn one
	// work.
	tokenFor = 5 * time.Second
	// tokensMax bounds the tokens that a process remembers.
	tokensMax = 10_000
)

// has reports whether a token is allowed for a namespace.
func (t *tokens) has(ctx context.Context, namespace string, token secret.Text) (bool, error) {
	key := tokenKey{namespace, token.Reveal()}
	t.mu.Lock()
	seen, known := t.known[key]
	t.mu.Unlock()
	if known && clock.Since(seen) < tokenFor {
		return true, nil
	}
	allowed, err := t.store.HasToken(ctx, namespace, token)
	if err != nil || !allowed {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= tokensMax {
		t.known = map[tokenKey]time.Time{}
	}
	t.known[key] = clock.Mark()
	return true, nil
}
