package jobs

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/store/jobstore"
)

// lmstfy are the metrics with lmstfy's names and labels, which the admin port serves, so that boards and alerts made
// for it show something. Its names say redis, but the figures are the database's.
type lmstfy struct {
	registry *prometheus.Registry

	latency               *prometheus.HistogramVec
	codes, limited        *prometheus.CounterVec
	totals                map[string]prometheus.Counter
	published, consumed   *prometheus.CounterVec
	elapsed, acknowledged *prometheus.HistogramVec
	keys                  prometheus.Gauge
	sizes, dead           *prometheus.GaugeVec

	mu    sync.Mutex
	named map[jobstore.Queue]bool // which queues have series of their own
}

// lmstfyTotals are the counters without a queue. pool_* are rows that were written, read and deleted. timer_due_jobs
// and timer_full_batches stay 0: nothing moves delayed jobs here.
var lmstfyTotals = []string{"publish_jobs", "consume_jobs", "consume_multi_jobs", "pool_add_jobs", "pool_get_jobs",
	"pool_delete_jobs", "timer_add_jobs", "timer_due_jobs", "timer_full_batches", "queue_direct_push_jobs",
	"queue_pop_jobs", "deadletter_respawn_jobs"}

const (
	lmstfyHTTP  = "infra_lmstfy_http_"
	lmstfyRedis = "infra_lmstfy_redis_"

	// namedQueuesFirst is how many queues have series of their own because they came first, and namedQueuesMax also
	// because they were among the largest. The others share one, for whose queue there is otherQueues.
	namedQueuesFirst = 50
	namedQueuesMax   = 500
	otherQueues      = "(others)"
)

// newLmstfy returns the metrics. connections are those to the database, and polls the requests that wait.
func newLmstfy(name string, connections, polls func() float64) *lmstfy {
	pool := prometheus.Labels{"pool": name}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: lmstfyRedis + name, Help: help, ConstLabels: pool})
	}
	perQueue := []string{"namespace", "queue"}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: pool}, labels)
	}
	gauges := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: lmstfyRedis + name, Help: help, ConstLabels: pool}, perQueue)
	}
	histograms := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: pool,
			Buckets: buckets}, labels)
	}
	m := &lmstfy{registry: prometheus.NewRegistry(), totals: map[string]prometheus.Counter{},
		latency: histograms(lmstfyHTTP+"latency_milliseconds", "Time that successful requests took.",
			prometheus.ExponentialBuckets(15, 2.5, 9), "namespace", "api", "method"),
		codes:     counters(lmstfyHTTP+"http_codes", "Answered requests.", "namespace", "api", "method", "code"),
		limited:   counters(lmstfyHTTP+"rate_limit", "Requests beyond a token's limit.", "namespace", "token", "action"),
		published: counters(lmstfyRedis+"publish_queue_jobs", "Published jobs.", perQueue...),
		consumed:  counters(lmstfyRedis+"consume_queue_jobs", "Consumed jobs.", perQueue...),
		elapsed: histograms(lmstfyRedis+"job_elapsed_ms", "From a job's publication to its delivery.",
			prometheus.ExponentialBuckets(15, 3.5, 7), perQueue...),
		acknowledged: histograms(lmstfyRedis+"job_ack_elapsed_ms", "From a job's publication to its acknowledgement.",
			prometheus.ExponentialBuckets(15, 3.5, 7), perQueue...),
		keys:  gauge("total_keys", "Ready jobs and dead letters of the largest queues."),
		sizes: gauges("queue_sizes", "Jobs that are ready, of the largest queues."),
		dead:  gauges("deadletter_sizes", "Dead letters, of the queues with the most."),
		named: map[jobstore.Queue]bool{},
	}
	for _, name := range lmstfyTotals {
		m.totals[name] = prometheus.NewCounter(prometheus.CounterOpts{Name: lmstfyRedis + name, Help: name,
			ConstLabels: pool})
		m.registry.MustRegister(m.totals[name])
	}
	// What only Redis has, or what would be counted row by row, is 0.
	for _, name := range []string{"max_mem_bytes", "used_mem_bytes", "total_ttl_keys", "timer_sizes"} {
		m.registry.MustRegister(gauge(name, "Always 0: jobs are not in memory, and delayed ones are not counted."))
	}
	for name, value := range map[string]func() float64{"connections": connections, "blocking_connections": polls} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: lmstfyRedis + name, Help: name,
			ConstLabels: pool}, value))
	}
	m.registry.MustRegister(m.latency, m.codes, m.limited, m.published, m.consumed, m.elapsed, m.acknowledged, m.keys,
		m.sizes, m.dead)
	return m
}

// labels returns the namespace and the queue of a queue's series.
func (m *lmstfy) labels(q jobstore.Queue) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.named[q] {
		if len(m.named) >= namedQueuesFirst {
			return []string{q.Namespace, otherQueues}
		}
		m.named[q] = true
	}
	return []string{q.Namespace, q.Name}
}

func (m *lmstfy) add(name string, n int) { m.totals[name].Add(float64(n)) }

// publishedInto counts jobs that were published.
func (m *lmstfy) publishedInto(q jobstore.Queue, n int, delayed bool) {
	m.add("publish_jobs", n)
	m.add("pool_add_jobs", n)
	if delayed {
		m.add("timer_add_jobs", n)
	} else {
		m.add("queue_direct_push_jobs", n)
	}
	m.published.WithLabelValues(m.labels(q)...).Add(float64(n))
}

// consumedFrom counts jobs that were delivered.
func (m *lmstfy) consumedFrom(q jobstore.Queue, jobs []jobstore.Job, several bool, now time.Time) {
	if several {
		m.add("consume_multi_jobs", len(jobs))
	} else {
		m.add("consume_jobs", len(jobs))
	}
	m.add("pool_get_jobs", len(jobs))
	m.add("queue_pop_jobs", len(jobs))
	labels := m.labels(q)
	m.consumed.WithLabelValues(labels...).Add(float64(len(jobs)))
	for _, j := range jobs {
		m.elapsed.WithLabelValues(labels...).Observe(float64(now.Sub(j.ID.Published()).Milliseconds()))
	}
}

// endedIn counts jobs that were acknowledged.
func (m *lmstfy) endedIn(q jobstore.Queue, ids []jobstore.ID, now time.Time) {
	m.add("pool_delete_jobs", len(ids))
	labels := m.labels(q)
	for _, id := range ids {
		m.acknowledged.WithLabelValues(labels...).Observe(float64(now.Sub(id.Published()).Milliseconds()))
	}
}

// observe counts an answered request.
func (m *lmstfy) observe(c *gin.Context, route string, took time.Duration) {
	namespace := ""
	if c.GetBool(admittedKey) { // Otherwise it may have any name.
		namespace = c.Param("namespace")
	}
	if c.Writer.Status() < http.StatusMultipleChoices {
		m.latency.WithLabelValues(namespace, route, c.Request.Method).Observe(float64(took) / float64(time.Millisecond))
	}
	m.codes.WithLabelValues(namespace, route, c.Request.Method, strconv.Itoa(c.Writer.Status())).Inc()
}

// measured shows the sizes of the largest queues.
func (m *lmstfy) measured(all []jobstore.QueueSize) {
	m.sizes.Reset()
	m.dead.Reset()
	m.mu.Lock()
	defer m.mu.Unlock()
	total := int64(0)
	for _, s := range all {
		if len(m.named) < namedQueuesMax {
			m.named[s.Queue] = true
		}
		m.sizes.WithLabelValues(s.Namespace, s.Name).Set(float64(s.Ready))
		m.dead.WithLabelValues(s.Namespace, s.Name).Set(float64(s.Dead))
		total += s.Ready + s.Dead
	}
	m.keys.Set(float64(total))
}
