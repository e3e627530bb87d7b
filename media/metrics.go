package media

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers a collector and returns it, or the one that another platform has registered before: all platforms
// count in the same metrics, told apart by the label "media".
func Register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing
		}
	}
	return c
}
