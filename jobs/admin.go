package jobs

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"adsync/base/httpapi"
	"adsync/base/localhost"
	"adsync/base/secret"
	"adsync/base/store/jobstore"
	"adsync/base/telemetry"
)

const (
	tokenMin = 20 // letters of a token that the caller chooses
	tokenMax = 255
)

// admin answers the admin port.
type admin struct {
	api      *api
	pools    []string
	metrics  prometheus.Gatherer // lmstfy's, of all pools
	user     string
	password secret.Text // empty if none is needed
}

// handler returns the routes of the admin port. As in lmstfy, what names no token and changes nothing needs no
// password.
func (a *admin) handler() http.Handler {
	e := newEngine(a.api.queues.logger, a.api.log.observe, a.local)
	e.GET("/version", func(c *gin.Context) {
		b := telemetry.ReadBuild()
		c.JSON(http.StatusOK, gin.H{"version": b.Version, "build_commit": b.Commit, "build_date": b.Time})
	})
	pools := func(c *gin.Context) { c.JSON(http.StatusOK, a.pools) }
	e.GET("/pools", pools)
	e.GET("/pools/", pools) // lmstfy redirects one to the other.
	e.GET("/info", a.info)
	e.GET("/metrics", gin.WrapH(promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{})))
	e.GET("/accesslog", a.accessLog)
	e.Use(a.known)
	e.POST("/accesslog", a.setAccessLog)
	e.GET("/limits", a.limits)
	e.GET("/audit", a.audit)
	e.GET("/namespace/:namespace/quota", a.quota)
	e.PUT("/namespace/:namespace/quota", a.setQuota)
	e.DELETE("/namespace/:namespace/quota", a.deleteQuota)
	e.GET("/token/:namespace", a.tokens)
	e.POST("/token/:namespace", a.newToken)
	one := e.Group("/token/:namespace/:token", a.pooled)
	one.DELETE("", a.deleteToken)
	one.GET("/limit", a.limit)
	one.POST("/limit", a.setLimit(false))
	one.PUT("/limit", a.setLimit(true))
	one.DELETE("/limit", a.deleteLimit)
	e.Any("/debug/pprof/*profile", gin.WrapH(telemetry.ProfilesHandler()))
	return e
}

// local refuses pages of other sites where no password is needed.
func (a *admin) local(c *gin.Context) {
	if a.password.Reveal() == "" && localhost.Rebound(c.Request) {
		refuse(c, http.StatusForbidden, "without a password only requests to localhost are answered")
	}
}

// known refuses callers without the password.
func (a *admin) known(c *gin.Context) {
	if a.password.Reveal() == "" {
		return
	}
	user, password, _ := c.Request.BasicAuth()
	right := subtle.ConstantTimeCompare([]byte(user), []byte(a.user)) &
		subtle.ConstantTimeCompare([]byte(password), []byte(a.password.Reveal()))
	if right != 1 {
		c.Header("WWW-Authenticate", `Basic realm="adsync jobs"`)
		refuse(c, http.StatusUnauthorized, "wrong user or password")
		return
	}
	c.Set(userKey, a.user)
}

// info lists the queues of each namespace. As in lmstfy, the answer for an unknown pool is empty.
func (a *admin) info(c *gin.Context) {
	if c.DefaultQuery("pool", a.api.pool) != a.api.pool {
		return
	}
	all, err := a.api.queues.store.ListNames(c.Request.Context())
	if err != nil {
		a.api.failed(c, "list queues", err)
		return
	}
	names := map[string][]string{}
	for _, q := range all {
		names[q.Namespace] = append(names[q.Namespace], q.Name)
	}
	text, err := json.MarshalIndent(names, "", "    ")
	if err != nil {
		a.api.failed(c, "list queues", err)
		return
	}
	c.Data(http.StatusOK, "text/plain; charset=utf-8", append(text, '\n'))
}

// tokens lists the beginnings of the tokens: the tables have only these of them.
var errUnknownPool = invalid("the pool is unknown")

func (a *admin) tokens(c *gin.Context) {
	if c.DefaultQuery("pool", a.api.pool) != a.api.pool {
		a.api.answerError(c, "list tokens", errUnknownPool)
		return
	}
	all, err := a.api.queues.store.ListTokens(c.Request.Context(), c.Param("namespace"))
	if err != nil {
		a.api.failed(c, "list tokens", err)
		return
	}
	list := gin.H{}
	for _, t := range all {
		list[a.inPool(t.Prefix+"…")] = t.Description
	}
	c.JSON(http.StatusOK, gin.H{"tokens": list})
}

func (a *admin) newToken(c *gin.Context) {
	token, roles, err := a.wanted(c)
	description := c.Request.FormValue("description")
	if err != nil {
		a.api.answerError(c, "add a token", err)
		return
	}
	err = a.api.changed(c, "token added", prefixOf(token), roles, func() error {
		added, err := a.api.queues.store.AddToken(c.Request.Context(), c.Param("namespace"), token, description, roles,
			a.api.queues.clock.Now())
		if err == nil && !added {
			err = invalid("the token exists")
		}
		return err
	})
	if err != nil {
		a.api.answerError(c, "add a token", err)
		return
	}
	c.JSON(http.StatusCreated, gin.H{"token": a.inPool(token.Reveal())})
}

// wanted reads which token a request wants.
func (a *admin) wanted(c *gin.Context) (token secret.Text, roles []jobstore.Role, err error) {
	description, text := c.Request.FormValue("description"), c.Request.FormValue("token")
	if pool, rest, is := strings.Cut(text, ":"); is && pool == a.api.pool {
		text = rest
	}
	switch {
	case strings.Contains(text, ":"):
		return token, nil, invalid("invalid token: want TOKEN, or POOL:TOKEN with a known pool, without other colons")
	case c.DefaultQuery("pool", a.api.pool) != a.api.pool:
		return token, nil, errUnknownPool
	case description == "" || len([]rune(description)) > nameMax:
		return token, nil, invalid("invalid description")
	case text != "" && len(text) < tokenMin:
		return token, nil, invalid("the user token was too short")
	case len(text) > tokenMax:
		return token, nil, invalid("the user token was too long")
	case len(c.Param("namespace")) > nameMax:
		return token, nil, invalid("the namespace name was too long")
	case !isName(c.Param("namespace")):
		return token, nil, invalid("namespace name contains forbidden characters")
	}
	roles = jobstore.Roles()
	if names := c.Request.FormValue("roles"); names != "" {
		roles = nil
		for name := range strings.SplitSeq(names, ",") {
			role := jobstore.Role(name)
			if !slices.Contains(jobstore.Roles(), role) || slices.Contains(roles, role) {
				return token, nil, invalid("invalid roles: want some of produce, consume and admin, with commas")
			}
			roles = append(roles, role)
		}
	}
	if text == "" {
		return httpapi.NewToken(), roles, nil
	}
	return secret.NewText(text), roles, nil
}

// pooled refuses a token of a store that does not exist.
func (a *admin) pooled(c *gin.Context) {
	pool, _, is := strings.Cut(c.Param("token"), ":")
	if is && pool != a.api.pool || c.DefaultQuery("pool", a.api.pool) != a.api.pool {
		refuse(c, http.StatusBadRequest, "the pool is unknown")
	}
}

// inPool returns a token as clients send it.
func (a *admin) inPool(token string) string {
	if a.api.pool == poolDefault {
		return token
	}
	return a.api.pool + ":" + token
}

// prefixOf returns what people may see of a token.
func prefixOf(token secret.Text) string { return jobstore.Prefix(token) + "…" }

// named returns the token of a request's path.
func named(c *gin.Context) secret.Text {
	_, token := poolOf(c.Param("token"))
	return secret.NewText(token)
}

func (a *admin) deleteToken(c *gin.Context) {
	err := a.api.changed(c, "token withdrawn", prefixOf(named(c)), nil, func() error {
		defer a.api.tokens.forget()
		return a.api.queues.store.DeleteToken(c.Request.Context(), c.Param("namespace"), named(c))
	})
	if err != nil {
		a.api.failed(c, "delete a token", err)
		return
	}
	c.Status(http.StatusNoContent)
}

// tokenLimit is the limit of a token, as the protocol has it. A number of 0 is no limit.
type tokenLimit struct {
	Read     int64 `json:"read"`
	Write    int64 `json:"write"`
	Interval int64 `json:"interval"` // seconds
}

func limitAnswer(l jobstore.Limit) tokenLimit {
	return tokenLimit{l.Read, l.Write, int64(l.Interval / time.Second)}
}

func (a *admin) limits(c *gin.Context) {
	all, err := a.api.queues.store.ListTokens(c.Request.Context(), "")
	if err != nil {
		a.api.failed(c, "list the limits of tokens", err)
		return
	}
	list := []gin.H{}
	for _, t := range all {
		if t.Limited() {
			list = append(list, gin.H{"namespace": t.Namespace, "token": a.inPool(t.Prefix + "…"),
				"limiter": limitAnswer(t.Limit)})
		}
	}
	c.JSON(http.StatusOK, list)
}

func (a *admin) limit(c *gin.Context) {
	t, err := a.api.queues.store.FindToken(c.Request.Context(), c.Param("namespace"), named(c))
	switch {
	case err != nil:
		a.api.failed(c, "read the limit of a token", err)
	case t == nil || !t.Limited():
		c.JSON(http.StatusNotFound, nil)
	default:
		c.JSON(http.StatusOK, limitAnswer(t.Limit))
	}
}

const (
	// intervalMax is the longest time that a limit of a token may have, in seconds.
	intervalMax  = 24 * 60 * 60
	limitBodyMax = 4096
)

// setLimit gives a token a limit. One that has a limit already is refused, unless it is replaced.
func (a *admin) setLimit(replace bool) gin.HandlerFunc {
	status := http.StatusCreated
	if replace {
		status = http.StatusOK
	}
	return func(c *gin.Context) {
		var l tokenLimit
		text, err := readBody(c, limitBodyMax, "body too large")
		if err == nil && json.Unmarshal(text, &l) != nil {
			err = invalid("the body is not a limit: want read, write and interval as whole numbers")
		}
		if err == nil && l.Read == 0 && l.Write == 0 {
			c.AbortWithStatusJSON(http.StatusBadRequest, gin.H{"limiter": l})
			return
		}
		if err == nil && l.Interval == 0 {
			err = invalid("interval should be > 0")
		}
		if err == nil && (l.Read < 0 || l.Write < 0 || l.Interval < 0 || l.Interval > intervalMax) {
			err = invalid("read and write should be 0 or more, and interval 1 to %d seconds", intervalMax)
		}
		if err == nil {
			err = a.api.changed(c, "limit of a token", prefixOf(named(c)), l, func() error {
				return a.changeLimit(c, l, replace)
			})
		}
		if err != nil {
			a.api.answerError(c, "change the limit of a token", err)
			return
		}
		c.JSON(status, gin.H{"limiter": l})
	}
}

func (a *admin) changeLimit(c *gin.Context, l tokenLimit, replace bool) error {
	ctx, namespace := c.Request.Context(), c.Param("namespace")
	t, err := a.api.queues.store.FindToken(ctx, namespace, named(c))
	switch {
	case err != nil:
		return err
	case t == nil:
		return &requestError{http.StatusNotFound, "token not found"}
	case t.Limited() && !replace:
		return &requestError{http.StatusInternalServerError, "the token has a limit already"} // lmstfy's status.
	}
	defer a.api.tokens.forget()
	return a.api.queues.store.SetTokenLimit(ctx, namespace, named(c), jobstore.Limit{Read: l.Read, Write: l.Write,
		Interval: time.Duration(l.Interval) * time.Second})
}

func (a *admin) deleteLimit(c *gin.Context) {
	err := a.api.changed(c, "limit of a token removed", prefixOf(named(c)), nil, func() error {
		defer a.api.tokens.forget()
		return a.api.queues.store.SetTokenLimit(c.Request.Context(), c.Param("namespace"), named(c), jobstore.Limit{})
	})
	if err != nil {
		a.api.failed(c, "delete the limit of a token", err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"msg": "success"})
}

func (a *admin) accessLog(c *gin.Context) {
	c.JSON(http.StatusOK, gin.H{"status": a.api.log.status()})
}

func (a *admin) setAccessLog(c *gin.Context) {
	switch c.Query("status") {
	case "enable":
		a.api.log.enabled.Store(true)
	case "disable":
		a.api.log.enabled.Store(false)
	default:
		refuse(c, http.StatusBadRequest, "invalid status")
		return
	}
	a.accessLog(c)
}
