package consumer

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// The ends of messages without an outcome.
const (
	endRepeated   = "repeated"   // its delivery is answered already, or another is under way
	endMissing    = "missing"    // its row is gone with its day's table
	endUnreadable = "unreadable" // not even its key could be read
	endAbandoned  = "abandoned"  // the work was cut off; the message comes again
)

// metrics holds a consumer's metrics. Those of the pools are read at each scrape.
type metrics struct {
	subtasks     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	panics       *prometheus.CounterVec
	hung         *prometheus.GaugeVec
	killers      prometheus.Counter
	drainsFailed prometheus.Counter
	interrupted  *prometheus.CounterVec
	stale        prometheus.Counter
	batchSize    prometheus.Histogram
	flushSeconds prometheus.Histogram
	flushErrors  prometheus.Counter
	reloadErrors prometheus.Counter

	running  *prometheus.Desc
	capacity *prometheus.Desc
	limited  *prometheus.Desc
	waiting  *prometheus.Desc
	careful  *prometheus.Desc
	consumer *Consumer
}

func newMetrics(c *Consumer) *metrics {
	name := func(s string) string { return "adsync_consumer_" + s }
	counter := func(s, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name(s), Help: help})
	}
	return &metrics{
		consumer: c,
		subtasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("subtasks_total"),
			Help: "Messages finished, by outcome: a state of the subtask, or repeated, missing (its day is dropped), " +
				"unreadable, abandoned (it is delivered again).",
		}, []string{"media", "lane", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name("subtask_seconds"), Help: "Time that a handler took for one subtask.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300},
		}, []string{"media", "handler"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("panics_total"), Help: "Handlers that panicked.",
		}, []string{"handler"}),
		hung: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: name("handlers_hung"), Help: "Handlers that have not returned after their timeout. Each keeps its slot.",
		}, []string{"media", "handler"}),
		interrupted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("interrupted_total"),
			Help: "Subtasks under way whose work an order ended, by order: pause or cancel.",
		}, []string{"media", "verb"}),
		killers: counter("process_killers_total",
			"Subtasks that failed because their process ended each time it worked on them."),
		drainsFailed: counter("exclusive_drains_failed_total",
			"Exclusive subtasks that were deferred because others were not idle in time."),
		stale: counter("outcomes_stale_total",
			"Outcomes that changed nothing: the subtask had ended, was sent again, or no longer exists."),
		batchSize: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name("outcome_batch_size"), Help: "Outcomes written in one transaction.",
			Buckets: []float64{1, 3, 10, 30, 100, 300, 500, 1000, 3000},
		}),
		flushSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name("outcome_flush_seconds"), Help: "Time until a batch of outcomes was written, failed tries included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}),
		flushErrors:  counter("outcome_flush_errors_total", "Failed tries to write a batch of outcomes."),
		reloadErrors: counter("pool_reload_errors_total", "Reloads of the lanes that failed for at least one lane."),
		running:      prometheus.NewDesc(name("pool_running"), "Subtasks under way.", []string{"media", "lane"}, nil),
		capacity: prometheus.NewDesc(name("pool_capacity"),
			"Subtasks that may be under way at a time, without those that wait for a call limit.", []string{"media", "lane"},
			nil),
		limited: prometheus.NewDesc(name("pool_limited"), "Subtasks under way that wait for a call limit.",
			[]string{"media", "lane"}, nil),
		careful: prometheus.NewDesc(name("careful_partitions"),
			"Owned partitions whose messages run one by one because one of them seems to end the process.",
			[]string{"media", "lane"}, nil),
		waiting: prometheus.NewDesc(name("outcomes_waiting"), "Outcomes not yet written.", nil, nil),
	}
}

// register registers the metrics. The consumer must be complete, because each scrape reads it.
func (m *metrics) register(registerer prometheus.Registerer) error {
	for _, collector := range []prometheus.Collector{
		m.subtasks, m.seconds, m.panics, m.hung, m.killers, m.drainsFailed, m.interrupted, m.stale, m.batchSize,
		m.flushSeconds, m.flushErrors, m.reloadErrors, m,
	} {
		if err := registerer.Register(collector); err != nil {
			return fmt.Errorf("register consumer metrics: %w", err)
		}
	}
	return nil
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.running
	out <- m.capacity
	out <- m.limited
	out <- m.careful
	out <- m.waiting
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	for _, p := range m.consumer.open() {
		used, size := p.slots.state()
		out <- prometheus.MustNewConstMetric(m.running, prometheus.GaugeValue, float64(used), p.name.media, p.name.lane)
		out <- prometheus.MustNewConstMetric(m.capacity, prometheus.GaugeValue, float64(size), p.name.media, p.name.lane)
		out <- prometheus.MustNewConstMetric(m.limited, prometheus.GaugeValue, float64(p.slots.waiting()), p.name.media,
			p.name.lane)
		out <- prometheus.MustNewConstMetric(m.careful, prometheus.GaugeValue, float64(p.assigned.count()), p.name.media,
			p.name.lane)
	}
	out <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(len(m.consumer.outcomes.queue)))
}

// end counts a message that ends without an outcome.
func (m *metrics) end(lane laneName, what string) {
	m.subtasks.WithLabelValues(lane.media, lane.lane, what).Inc()
}
