package jobs

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/store/jobstore"
)

// metrics are those of a process's job queue.
type metrics struct {
	published, delivered, acknowledged, returned, buried prometheus.Counter

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	polls    prometheus.GaugeFunc
	waiting  atomic.Int64 // polls

	ready, oldest, dead *prometheus.GaugeVec // of the largest queues

	lmstfy *lmstfy
}

func newMetrics(pool string, r prometheus.Registerer, connections func() int) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "adsync_jobs_" + name, Help: help})
	}
	perQueue := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_jobs_" + name, Help: help},
			[]string{"namespace", "queue"})
	}
	m := &metrics{
		ready:        perQueue("ready", "Jobs that may be consumed, of the largest queues."),
		oldest:       perQueue("oldest_ready_seconds", "How long the first of them has been ready."),
		dead:         perQueue("dead", "Dead letters, of the largest queues."),
		published:    counter("published_total", "Jobs whose publication was committed."),
		delivered:    counter("delivered_total", "Claims of jobs that were committed."),
		acknowledged: counter("acknowledged_total", "Acknowledgements that were committed, also of unknown jobs."),
		returned:     counter("returned_total", "Claimed jobs that were made ready again because nobody read the answer."),
		buried:       counter("buried_total", "Jobs whose last try failed or lapsed: dead letters, or expired ones."),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_jobs_requests_total",
			Help: "Requests that were answered."}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "adsync_jobs_request_seconds",
			Help:    "Time that requests took which did not wait for a job.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"method", "route"}),
	}
	waiting := func() float64 { return float64(m.waiting.Load()) }
	m.polls = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "adsync_jobs_polls",
		Help: "Requests that wait for a job."}, waiting)
	m.lmstfy = newLmstfy(pool, func() float64 { return float64(connections()) }, waiting)
	r.MustRegister(m.published, m.delivered, m.acknowledged, m.returned, m.buried, m.requests, m.seconds, m.polls, m.ready,
		m.oldest, m.dead)
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
	took := clock.Since(began)
	if c.Query("timeout") == "" {
		m.seconds.WithLabelValues(c.Request.Method, route).Observe(took.Seconds())
	}
	m.lmstfy.observe(c, route, took)
}

// measured shows the sizes of the largest queues.
func (m *metrics) measured(all []jobstore.QueueSize, now time.Time) {
	for _, v := range []*prometheus.GaugeVec{m.ready, m.oldest, m.dead} {
		v.Reset()
	}
	for _, s := range all {
		m.ready.WithLabelValues(s.Namespace, s.Name).Set(float64(s.Ready))
		m.dead.WithLabelValues(s.Namespace, s.Name).Set(float64(s.Dead))
		if !s.Oldest.IsZero() {
			m.oldest.WithLabelValues(s.Namespace, s.Name).Set(now.Sub(s.Oldest).Seconds())
		}
	}
	m.lmstfy.measured(all)
}
