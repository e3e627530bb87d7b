package pull

import (
	"github.com/prometheus/client_golang/prometheus"

	"adsync/media"
)

type metrics struct {
	rows     *prometheus.CounterVec
	partial  *prometheus.CounterVec
	suspect  *prometheus.CounterVec
	jobs     *prometheus.CounterVec
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
		jobs: media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_pull_file_jobs_total",
			Help: "Jobs that make files, by what happened to them: created, found by their name after a lost answer, orphaned " +
				"(it may exist, and nobody reads it), expired, failed, split, unusable, read.",
		}, []string{"media", "report", "event"})),
		unusable: media.NewUnusable(r),
	}
}
