package ratelimit

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics show the cost of limits and whether they are shared.
type metrics struct {
	wait        *prometheus.HistogramVec
	waiting     *prometheus.GaugeVec
	taken       *prometheus.CounterVec
	requests    *prometheus.CounterVec
	wouldExceed *prometheus.CounterVec
	late        *prometheus.CounterVec
	paused      *prometheus.CounterVec
	tightened   *prometheus.CounterVec
	fallback    *prometheus.GaugeVec
	redisErrors prometheus.Counter
}

// newMetrics registers on reg, or nowhere when it is nil.
func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "adsync_ratelimit_" + name, Help: help}, labels)
	}
	return &metrics{
		wait: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "adsync_ratelimit_wait_seconds",
			Help:    "How long granted calls waited for their grant.",
			Buckets: []float64{0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"media"}),
		waiting: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "adsync_ratelimit_waiting_calls", Help: "Calls of this process that wait for a grant.",
		}, []string{"media"}),
		taken:    counter("taken_total", "Calls granted.", "media"),
		requests: counter("asks_total", "Requests to the ledger, each for all waiting calls.", "media"),
		wouldExceed: counter("would_exceed_total",
			"Calls ended early because their grant would have come after their deadline.", "media"),
		late: counter("late_total",
			"Grants that could not be used in time, in most cases because the process had no CPU.", "media"),
		paused: counter("paused_total", "Pauses ordered, in most cases by an over-limit answer.", "media", "scope"),
		tightened: counter("tightened_total",
			"Limits tightened by a tenth for a while, because the platform refused calls that they allow.", "media"),
		fallback: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "adsync_ratelimit_fallback_active",
			Help: "1 while the Redis of a media is away and this process keeps to its own part of the limits.",
		}, []string{"media"}),
		redisErrors: f.NewCounter(prometheus.CounterOpts{
			Name: "adsync_ratelimit_redis_errors_total",
			Help: "Requests that Redis did not answer in time or answered with an error.",
		}),
	}
}
