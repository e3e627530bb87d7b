package publish

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/media"
)

// metrics are those of the files that one process makes.
type metrics struct {
	lateness  *prometheus.HistogramVec
	spoolFull prometheus.Counter
	webhooks  *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, spool *Spool) *metrics {
	r = cmp.Or[prometheus.Registerer](r, prometheus.NewRegistry())
	gauge := func(name, help string, read func() int64) {
		media.Register[prometheus.Collector](r, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(read()) }))
	}
	if spool != nil {
		gauge("adsync_files_spool_bytes", "Bytes of report files on this machine that are made and not delivered yet.",
			func() int64 { used, _ := spool.Usage(); return used })
		gauge("adsync_files_spool_max_bytes", "The most bytes that these files may have.",
			func() int64 { _, most := spool.Usage(); return most })
	}
	return &metrics{
		lateness: media.Register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "adsync_files_lateness_seconds",
			Help: "Time from the moment of a report file, or its order, until it was published for the first time.",
			Buckets: []float64{30, 60, 120, 300, 600, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 48 * 3600,
				7 * 24 * 3600},
		}, []string{"destination"})),
		spoolFull: media.Register(r, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adsync_files_spool_full_total",
			Help: "How often a report file had to wait because files.max_mib was reached.",
		})),
		webhooks: media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_files_webhook_calls_total",
			Help: "Calls of webhooks, by result: ok, failed, or given_up for a failed one that is the last.",
		}, []string{"subscription", "result"})),
	}
}
