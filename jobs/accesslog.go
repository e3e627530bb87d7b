package jobs

import (
	"log/slog"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
)

// accessLog logs each request while it is enabled, without its query, which may have a token.
type accessLog struct {
	logger  *slog.Logger
	enabled atomic.Bool
}

func (l *accessLog) status() string {
	if l.enabled.Load() {
		return "enabled"
	}
	return "disabled"
}

func (l *accessLog) observe(c *gin.Context) {
	if !l.enabled.Load() {
		return
	}
	began := clock.Mark()
	c.Next()
	l.logger.InfoContext(c.Request.Context(), "request", "request", c.Writer.Header().Get(requestHeader),
		"method", c.Request.Method, "route", c.FullPath(), "namespace", c.Param("namespace"), "queue", c.Param("queue"),
		"status", c.Writer.Status(), "ms", clock.Since(began).Milliseconds(), "from", c.RemoteIP())
}
