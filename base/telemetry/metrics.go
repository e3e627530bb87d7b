package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns the program's registry of metrics, with those of the Go runtime, the process and the build.
func NewRegistry() *prometheus.Registry {
	build := ReadBuild()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "adsync_build_info",
		Help:        "Always 1; the labels describe the program's build.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go": build.Go},
	})
	info.Set(1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		info,
	)
	return registry
}
