package token

import (
	"github.com/prometheus/client_golang/prometheus"

	"adsync/media"
)

type metrics struct {
	refreshes   *prometheus.CounterVec
	redisErrors *prometheus.CounterVec
	parked      *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	return &metrics{
		refreshes: media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_token_refreshes_total",
			Help: "Refreshes of tokens: renewed, failed (retried later), refused and unusable (a person must authorise " +
				"the login again).",
		}, []string{"media", "outcome"})),
		redisErrors: media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_token_redis_errors_total", Help: "Tokens that could not be read from or shared through Redis.",
		}, []string{"media"})),
		parked: media.Register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "adsync_token_parked_logins",
			Help: "Logins known to this process that wait for a person: the platform refused their refresh token.",
		}, []string{"media"})),
	}
}
