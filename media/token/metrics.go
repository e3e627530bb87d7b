package token

import (
	"github.com/prometheus/client_golang/prometheus"

	"adsync/media"
)

type metrics struct {
	refreshes   *prometheus.CounterVec
	redisErrors *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	return &metrics{
		refreshes: media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_token_refreshes_total",
			Help: "Refreshes of tokens: renewed, failed (tried again later), refused (a person must authorise the login again), lost (answered and not stored).",
		}, []string{"media", "outcome"})),
		redisErrors: media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_token_redis_errors_total", Help: "Tokens that could not be read from or shared through Redis.",
		}, []string{"media"})),
	}
}
