package jobs

import (
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
)

// metrics are those of a process's job queue.
type metrics struct {
	published, delivered, acknowledged, returned, buried prometheus.Counter

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	polls    prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "adsync_jobs_" + name, Help: help})
	}
	m := &metrics{
		published:    counter("published_total", "Jobs whose publication was committed."),
		delivered:    counter("delivered_total", "Claims of jobs that were committed."),
		acknowledged: counter("acknowledged_total", "Acknowledgements that were committed, also of unknown jobs."),
		returned:     counter("returned_total", "Claimed jobs that were made ready again because nobody read the answer."),
		buried:       counter("buried_total", "Jobs whose last try lapsed: they became dead letters, or had expired."),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_jobs_requests_total",
			Help: "Requests that were answered."}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "adsync_jobs_request_seconds",
			Help:    "Time that requests took which did not wait for a job.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"method", "route"}),
		polls: prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_jobs_polls", Help: "Requests that wait for a job."}),
	}
	r.MustRegister(m.published, m.delivered, m.acknowledged, m.returned, m.buried, m.requests, m.seconds, m.polls)
	return m
}

// observe counts requests. Those with a timeout wait for others, so that their time says nothing.
func (m *metrics) observe(c *gin.Context) {
	began := clock.Mark()
	c.Next()
	route := c.FullPath()
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(c.Request.Method, route, strconv.Itoa(c.Writer.Status())).Inc()
	if c.Query("timeout") == "" {
		m.seconds.WithLabelValues(c.Request.Method, route).Observe(clock.Since(began).Seconds())
	}
}
