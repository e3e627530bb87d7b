package client

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/media"
)

type metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	late    *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	return &metrics{
		calls: media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_media_calls_total",
			Help: "Calls sent to platforms, by result: ok, an error class, or none if the caller was cancelled.",
		}, []string{"media", "endpoint", "answer"})),
		seconds: media.Register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "adsync_media_call_seconds", Help: "Time of a call from its start to the end of the answer.",
			Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"media", "endpoint"})),
		late: media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_media_unwritten_total",
			Help: "Requests that were not sent, as they were not written by the end of their grant.",
		}, []string{"media"})),
	}
}

func (m *metrics) observe(mediaName, endpoint string, err error, took time.Duration) {
	answer := "ok"
	if e, ok := errors.AsType[*media.Error](err); ok {
		answer = string(e.Class)
	} else if err != nil {
		answer = "none"
	}
	m.calls.WithLabelValues(mediaName, endpoint, answer).Inc()
	m.seconds.WithLabelValues(mediaName, endpoint).Observe(took.Seconds())
}
