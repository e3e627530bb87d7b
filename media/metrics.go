package media

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers a collector and returns it, or returns the one that another platform has registered: all
// platforms share the metrics, which have the label "media".
func Register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing
		}
	}
	return c
}
