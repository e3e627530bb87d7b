package pull

import (
	"github.com/prometheus/client_golang/prometheus"

	"adsync/media"
)

type metrics struct {
	rows     *prometheus.CounterVec
	partial  *prometheus.CounterVec
	suspect  *prometheus.CounterVec
	unusable media.Unusable
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help},
			[]string{"media", "report"}))
	}
	return &metrics{
		rows:    counter("adsync_pull_rows_total", "Rows of results that pulls inserted, changed or deleted."),
		partial: counter("adsync_pull_partial_total", "Pulls that were not whole after all tries."),
		suspect: counter("adsync_pull_suspect_days_total",
			"Days whose answer was not believed, as it would have removed too much."),
		unusable: media.NewUnusable(r),
	}
}
