package producer

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	leader     prometheus.Gauge
	tasks      prometheus.Gauge
	badTasks   prometheus.Gauge
	lateness   prometheus.Histogram
	ticks      prometheus.Counter
	orders     *prometheus.CounterVec
	sent       *prometheus.CounterVec
	skipped    *prometheus.CounterVec
	resent     *prometheus.CounterVec
	runsOpen   *prometheus.GaugeVec
	due        *prometheus.GaugeVec
	loopErrors *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		leader:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_producer_leader", Help: "1 while this producer leads."}),
		tasks:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_producer_tasks", Help: "Tasks that are loaded and enabled."}),
		badTasks: prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_producer_bad_tasks", Help: "Rows of cron_task that cannot be used as they are; /api/v1/tasks says why."}),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "adsync_producer_tick_lateness_seconds", Help: "Time from a tick's planned moment to its entry in the ledger, without what is caught up.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40, 60},
		}),
		ticks:      prometheus.NewCounter(prometheus.CounterOpts{Name: "adsync_producer_ticks_total", Help: "Ticks made into runs."}),
		orders:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_orders_total", Help: "Orders by hand, by whether they were taken or refused."}, []string{"result"}),
		sent:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_subtasks_sent_total", Help: "Subtasks written to Kafka by fan-outs."}, []string{"media", "lane"}),
		skipped:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_subtasks_skipped_total", Help: "Subtasks not made: overlap = an earlier one is still open, refused = the account's parts could not be planned."}, []string{"reason"}),
		resent:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_subtasks_resent_total", Help: "Subtasks sent again, by what they waited for."}, []string{"after"}),
		runsOpen:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_runs_open", Help: "Runs that have not ended, by state; told by the leader."}, []string{"state"}),
		due:        prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_due_subtasks", Help: "Rows of subtask_due by state; told by the leader."}, []string{"state"}),
		loopErrors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_errors_total", Help: "Failed passes of the leader's loops."}, []string{"loop"}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.leader, m.tasks, m.badTasks, m.lateness, m.ticks, m.orders, m.sent, m.skipped, m.resent, m.runsOpen, m.due, m.loopErrors,
	} {
		errs = append(errs, r.Register(c))
	}
	return m, errors.Join(errs...)
}
