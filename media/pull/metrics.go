package pull

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	rows    *prometheus.CounterVec
	partial *prometheus.CounterVec
	suspect *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"media", "report"}))
	}
	return &metrics{
		rows:    counter("adsync_pull_rows_total", "Rows of results that pulls inserted, changed or deleted."),
		partial: counter("adsync_pull_partial_total", "Pulls whose pages disagreed to the end."),
		suspect: counter("adsync_pull_suspect_days_total", "Days of which a pull would have taken away too much."),
	}
}

// register returns the collector that is registered already when another platform came first.
func register(r prometheus.Registerer, c *prometheus.CounterVec) *prometheus.CounterVec {
	err := r.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(*prometheus.CounterVec); ok {
			return existing
		}
	}
	return c
}
