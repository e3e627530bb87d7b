package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"adsync/base/localhost"
)

const metricsPath = "/metrics"

// registerMetrics serves the registry to viewers, because it shows spend by game. A session suffices too, so that a
// browser can follow a link.
func (s *Server) registerMetrics(registry *prometheus.Registry) {
	s.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	byToken := s.guard.require(Viewer)
	s.engine.GET(metricsPath, func(c *gin.Context) {
		if s.sessions != nil {
			if caller, known := s.sessions.callerOf(c); known {
				c.Set(callerKey, caller)
				return
			}
		}
		byToken(c)
	}, gin.WrapH(s.metrics))
}

// metricsAlone returns the handler of api.metrics_listen. It needs no token, and refuses pages whose own name resolves
// to a loopback address.
func (s *Server) metricsAlone() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metricsPath, func(w http.ResponseWriter, r *http.Request) {
		if localhost.Rebound(r) {
			http.Error(w, "only requests to localhost are answered on a loopback address", http.StatusForbidden)
			return
		}
		setSafeHeaders(w.Header())
		s.metrics.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			// The handler does not read the body, but the server does after the answer.
			deadline := time.Now().Add(unreadTimeout) //nolint:forbidigo // The network measures its deadlines by this clock.
			_ = http.NewResponseController(w).SetReadDeadline(deadline)
		}
		mux.ServeHTTP(w, r)
	})
}
