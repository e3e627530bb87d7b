package jobs

import (
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gin-gonic/gin"
	"github.com/oklog/ulid/v2"

	"adsync/base/localhost"
	"adsync/base/secret"
	"adsync/base/store/jobstore"
)

// nameMax is the longest name of a namespace or a queue.
const nameMax = 255

// api answers the protocol.
type api struct {
	pool      string
	queues    *queues
	tokens    *tokens // nil if none are needed
	limits    *limits
	quotas    *quotas
	openSizes bool
	log       accessLog
}

// handler returns the routes of the protocol.
func (a *api) handler() http.Handler {
	e := newEngine(a.queues.logger, a.log.observe, a.queues.counts.observe)
	// A consumer may name several queues, with commas.
	produce, consume, admin := a.admitted(jobstore.Produce), a.admitted(jobstore.Consume), a.admitted(jobstore.Admin)
	reads, writes := a.throttled(false), a.throttled(true)
	e.GET("/api/:namespace/:queue", a.named(true), consume, reads, a.consume)
	one := e.Group("/api/:namespace/:queue", a.named(false))
	sizes := a.admitted()
	if a.openSizes {
		sizes = a.pooled
	}
	one.GET("/size", sizes, a.size)
	one.GET("/deadletter/size", sizes, a.deadSize)
	one.PUT("", produce, writes, a.publish)
	one.PUT("/bulk", produce, writes, a.publishBulk)
	one.PUT("/job/:job_id", a.admitted(jobstore.Produce, jobstore.Consume), a.publish)
	one.DELETE("", admin, a.destroy)
	one.DELETE("/job/:job_id", consume, a.ack)
	one.GET("/peek", consume, a.peek)
	one.GET("/job/:job_id", consume, a.peekJob)
	one.GET("/deadletter", a.admitted(), a.deadLetters)
	one.PUT("/deadletter", admin, a.respawn)
	one.DELETE("/deadletter", admin, a.dropDead)
	// Beyond lmstfy.
	one.POST("/ack", consume, a.ackMany)
	one.POST("/pause", admin, a.pause(true))
	one.POST("/resume", admin, a.pause(false))
	one.POST("/job/:job_id/nack", consume, a.nack)
	one.POST("/job/:job_id/touch", consume, a.touch)
	one.POST("/job/:job_id/release", consume, a.release)
	one.GET("/deadletter/jobs", admin, a.listDead)
	one.GET("/settings", a.admitted(), a.settings)
	one.PUT("/settings", admin, a.setSettings)
	one.GET("/due", a.admitted(), a.due)
	e.GET("/api/:namespace", a.inNamespace, a.admitted(), a.listQueues)
	return e
}

// newEngine returns an engine whose unknown routes answer as the protocol does.
func newEngine(logger *slog.Logger, before ...gin.HandlerFunc) *gin.Engine {
	e := gin.New()
	e.RedirectTrailingSlash = false
	process := ulid.Make().String() + "-"
	var requests atomic.Uint64
	e.Use(func(c *gin.Context) { c.Header(requestHeader, process+strconv.FormatUint(requests.Add(1), 10)) })
	e.Use(before...)
	e.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, reason any) {
		logger.Error("request panicked", "route", c.FullPath(), "panic", reason,
			"stack", string(debug.Stack()))
		internalError(c)
	}))
	e.NoRoute(func(c *gin.Context) { refuse(c, http.StatusNotFound, "api not found") })
	return e
}

// requestHeader of an answer is what its request is called in the log.
const requestHeader = "X-Request-Id"

// refuse ends a request with an error.
func refuse(c *gin.Context, status int, reason string) {
	c.AbortWithStatusJSON(status, gin.H{"error": reason})
}

// Where a request's context has the token, and that the request may use its namespace.
const (
	tokenKey    = "token"
	admittedKey = "admitted"
)

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

// tokenOf returns the pool and the token that a request names.
func tokenOf(r *http.Request) (pool string, token secret.Text) {
	text := r.Header.Get("X-Token")
	if text == "" {
		text = r.URL.Query().Get("token")
	}
	pool, text = poolOf(text)
	return pool, secret.NewText(text)
}

// poolOf splits POOL:TOKEN.
func poolOf(text string) (pool, token string) {
	if pool, rest, named := strings.Cut(text, ":"); named {
		return pool, rest
	}
	return poolDefault, text
}

// pooled refuses a request to a store that does not exist.
func (a *api) pooled(c *gin.Context) {
	if pool, _ := tokenOf(c.Request); pool != a.pool {
		refuse(c, http.StatusNotFound, "pool not found")
	}
}

// admitted refuses a request without a token of its namespace that allows it.
func (a *api) admitted(roles ...jobstore.Role) gin.HandlerFunc {
	return func(c *gin.Context) {
		a.pooled(c)
		if c.IsAborted() {
			return
		}
		if a.tokens == nil {
			c.Set(admittedKey, true)
			return
		}
		_, token := tokenOf(c.Request)
		if token.Reveal() == "" {
			refuse(c, http.StatusUnauthorized, "token not found")
			return
		}
		known, err := a.tokens.find(c.Request.Context(), c.Param("namespace"), token)
		if err != nil {
			a.failed(c, "look up a token", err)
			return
		}
		if known == nil {
			refuse(c, http.StatusUnauthorized, "invalid token")
			return
		}
		for _, r := range roles {
			if !known.Allows(r) {
				refuse(c, http.StatusForbidden, "the token does not have the role "+string(r))
				return
			}
		}
		c.Set(tokenKey, known)
		c.Set(admittedKey, true)
	}
}

// failed answers a request that an error ended, and logs it.
func (a *api) failed(c *gin.Context, what string, err error) {
	if c.Request.Context().Err() == nil {
		a.queues.logger.ErrorContext(c.Request.Context(), "a request failed", "what", what,
			"request", c.Writer.Header().Get(requestHeader),
			"namespace", c.Param("namespace"), "queue", c.Param("queue"), "err", err)
	}
	internalError(c)
}

func queueOf(c *gin.Context) jobstore.Queue {
	return jobstore.Queue{Namespace: c.Param("namespace"), Name: c.Param("queue")}
}
