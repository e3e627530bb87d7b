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
	caughtUp   prometheus.Counter
	givenUp    *prometheus.CounterVec
	missing    prometheus.Gauge
	orders     *prometheus.CounterVec
	sent       *prometheus.CounterVec
	skipped    *prometheus.CounterVec
	replaced   prometheus.Counter
	resent     *prometheus.CounterVec
	outcomes   prometheus.Counter
	runsOpen   *prometheus.GaugeVec
	due        *prometheus.GaugeVec
	dead       *prometheus.GaugeVec
	differing  *prometheus.GaugeVec
	stops      *prometheus.GaugeVec
	loopErrors *prometheus.CounterVec
	dueFound   *prometheus.CounterVec
	orphans    prometheus.Counter
	swept      *prometheus.CounterVec
	oldestRun  *prometheus.GaugeVec
	backlog    *prometheus.GaugeVec
	oldest     *prometheus.GaugeVec
	braked     *prometheus.CounterVec
	fanOut     *prometheus.HistogramVec
}

// forget removes the values that only the leader exports.
func (m *metrics) forget() {
	for _, vector := range []*prometheus.GaugeVec{m.runsOpen, m.due, m.dead, m.differing, m.stops, m.oldestRun, m.backlog,
		m.oldest} {
		vector.Reset()
	}
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		leader: prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_producer_leader",
			Help: "1 while this producer leads."}),
		tasks: prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_producer_tasks",
			Help: "Tasks that are loaded and enabled."}),
		badTasks: prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_producer_bad_tasks",
			Help: "Invalid rows of cron_task; /api/v1/tasks returns why."}),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "adsync_producer_tick_lateness_seconds",
			Help:    "Time from a tick's planned moment to its entry in the ledger, without caught-up ticks.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40, 60},
		}),
		ticks: prometheus.NewCounter(prometheus.CounterOpts{Name: "adsync_producer_ticks_total",
			Help: "Ticks made into runs."}),
		caughtUp: prometheus.NewCounter(prometheus.CounterOpts{Name: "adsync_producer_ticks_caught_up_total",
			Help: "Ticks made for moments that had been missed."}),
		givenUp: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_ticks_given_up_total",
			Help: "Planned moments that were missed and will not be made, by the task's catch_up."}, []string{"catch_up"}),
		missing: prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_producer_ticks_missing",
			Help: "Planned moments of more than two minutes ago that their tasks' catch_up requires and that have no tick; " +
				"every producer exports it."}),
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_orders_total",
			Help: "Orders by hand, by whether they were taken or refused."}, []string{"result"}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_subtasks_sent_total",
			Help: "Subtasks written to Kafka by fan-outs."}, []string{"media", "lane"}),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_subtasks_skipped_total",
			Help: "Subtasks not made: overlap = an earlier one is still open, refused = the account's parts could not be " +
				"planned."}, []string{"reason"}),
		replaced: prometheus.NewCounter(prometheus.CounterOpts{Name: "adsync_producer_subtasks_replaced_total",
			Help: "Open subtasks of earlier runs that a newer run of the same task has replaced."}),
		resent: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_subtasks_resent_total",
			Help: "Subtasks sent again, by what they waited for."}, []string{"after"}),
		outcomes: prometheus.NewCounter(prometheus.CounterOpts{Name: "adsync_producer_outcomes_sent_total",
			Help: "Ends of subtasks sent to the topic of outcomes."}),
		runsOpen: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_runs_open",
			Help: "Runs that have not ended, by state; exported by the leader."}, []string{"state"}),
		due: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_due_subtasks",
			Help: "Rows of subtask_due by state; exported by the leader."}, []string{"state"}),
		dead: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_dead_subtasks",
			Help: "Rows of subtask_dead by media; exported by the leader."}, []string{"media"}),
		differing: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_reconciliation_open",
			Help: "Figures of accounts that differ from the sum of a level below after both were pulled again, by media; " +
				"exported by " +
				"the leader."}, []string{"media"}),
		stops: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_stops_active",
			Help: "Stop orders in force, by order: pause or cancel; exported by the leader."},
			[]string{"verb"}),
		loopErrors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_errors_total",
			Help: "Failed passes of the leader's loops."}, []string{"loop"}),
		dueFound: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_due_found_total",
			Help: "Due subtasks, by how they were found: the timer in Redis, or the scan of subtask_due."}, []string{"by"}),
		orphans: prometheus.NewCounter(prometheus.CounterOpts{Name: "adsync_producer_due_orphans_total",
			Help: "Due subtasks that were dropped because their run no longer exists."}),
		swept: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_subtasks_swept_total",
			Help: "Subtasks whose message was lost, found by the sweep and sent again."}, []string{"media", "lane"}),
		oldestRun: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_oldest_run_seconds",
			Help: "Age of the oldest run that is fanned out and has not ended; exported by the leader."},
			[]string{"media", "lane"}),
		backlog: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_backlog_messages",
			Help: "Messages of a lane that are not finished; exported by the leader."}, []string{"media", "lane"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "adsync_producer_oldest_waiting_seconds",
			Help: "How long the oldest message of a lane has waited, at most since this leader began."},
			[]string{"media", "lane"}),
		braked: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_producer_braked_seconds_total",
			Help: "Time for which a lane's fan-outs rested: backlog = its own is at its bound, late = a more important lane " +
				"of the media is late."}, []string{"media", "lane", "reason"}),
		fanOut: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "adsync_producer_fan_out_seconds",
			Help:    "Time from the start of a run until all its subtasks were in Kafka, including rests for its lane's brake.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600},
		}, []string{"media", "lane"}),
	}
	return m, m.register(r)
}

func (m *metrics) register(r prometheus.Registerer) error {
	var errs []error
	for _, c := range []prometheus.Collector{
		m.leader, m.tasks, m.badTasks, m.lateness, m.ticks, m.caughtUp, m.givenUp, m.missing, m.orders, m.sent, m.skipped,
		m.replaced, m.resent, m.runsOpen, m.due, m.dead, m.differing, m.loopErrors, m.stops,
		m.dueFound, m.orphans, m.swept, m.outcomes, m.oldestRun, m.backlog, m.oldest, m.braked, m.fanOut,
	} {
		errs = append(errs, r.Register(c))
	}
	return errors.Join(errs...)
}
