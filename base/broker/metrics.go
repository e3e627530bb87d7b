package broker

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are a client's metrics. Those that describe currently held partitions are read from the live generations at
// each scrape, so partitions that are gone leave no numbers.
type metrics struct {
	read        *prometheus.CounterVec
	lost        *prometheus.CounterVec
	resets      *prometheus.CounterVec
	commits     *prometheus.CounterVec
	rebalances  *prometheus.CounterVec
	groupErrors *prometheus.CounterVec
	drainLeft   *prometheus.CounterVec

	written     *prometheus.CounterVec
	writeErrors *prometheus.CounterVec
	writeTime   prometheus.Histogram
	batchSize   prometheus.Histogram

	lag        *prometheus.Desc
	oldest     *prometheus.Desc
	unfinished *prometheus.Desc
	partitions *prometheus.Desc

	mu   sync.Mutex
	live map[*generation]struct{}
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_broker_" + name, Help: help}, labels)
	}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("adsync_broker_"+name, help, labels, nil)
	}
	m := &metrics{
		read: counter("messages_read_total", "Messages passed to handlers, repeated ones included.", "topic"),
		lost: counter("messages_lost_total", "Messages that the log deleted before they were read.", "topic"),
		resets: counter("log_resets_total",
			"Partitions whose log ended before the committed offset: it was replaced, and is read from its start.", "topic"),
		commits:     counter("commits_total", "Commits of offsets, by result.", "group", "result"),
		rebalances:  counter("rebalances_total", "Generations of the group this member took part in.", "group"),
		groupErrors: counter("group_errors_total", "Failures to join the group, to read and to look up offsets.", "group"),
		drainLeft: counter("drain_unfinished_total",
			"Messages still unfinished when the drain of their partition ended; their next owner repeats them.", "group"),
		written: counter("messages_written_total", "Messages written.", "topic"),
		writeErrors: counter("write_errors_total", "Messages not known to be written when the write ended, by outcome.",
			"topic", "outcome"),
		writeTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "adsync_broker_write_seconds", Help: "Time of a write, its repetitions included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}),
		batchSize: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "adsync_broker_write_batch_messages", Help: "Messages of one write.",
			Buckets: []float64{1, 3, 10, 30, 100, 300, 1000, 3000, 10000},
		}),
		lag: desc("lag_messages", "Messages not finished yet in the currently held partitions.", "topic"),
		oldest: desc("oldest_unfinished_seconds",
			"Age of the oldest message that a handler has not finished, over the currently held partitions.", "topic"),
		unfinished: desc("unfinished_messages", "Messages that handlers have not finished, in the currently held partitions.",
			"topic"),
		partitions: desc("partitions_held", "Currently held partitions.", "topic"),
		live:       make(map[*generation]struct{}),
	}
	for _, collector := range []prometheus.Collector{
		m.read, m.lost, m.resets, m.commits, m.rebalances, m.groupErrors, m.drainLeft,
		m.written, m.writeErrors, m.writeTime, m.batchSize, m,
	} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register broker metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) began(g *generation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live[g] = struct{}{}
}

func (m *metrics) ended(g *generation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, g)
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.lag
	out <- m.oldest
	out <- m.unfinished
	out <- m.partitions
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	type sums struct {
		lag                    int64
		unfinished, partitions int
		oldest                 time.Duration
	}
	topics := make(map[string]*sums)
	m.mu.Lock()
	for g := range m.live {
		for _, p := range g.held() {
			sum := topics[p.topic]
			if sum == nil {
				sum = &sums{}
				topics[p.topic] = sum
			}
			state := p.state()
			sum.partitions++
			sum.lag += state.lag
			sum.unfinished += state.unfinished
			sum.oldest = max(sum.oldest, state.oldest)
		}
	}
	m.mu.Unlock()
	for topic, sum := range topics {
		gauge := func(desc *prometheus.Desc, value float64) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, topic)
		}
		gauge(m.lag, float64(sum.lag))
		gauge(m.oldest, sum.oldest.Seconds())
		gauge(m.unfinished, float64(sum.unfinished))
		gauge(m.partitions, float64(sum.partitions))
	}
}
