package media

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/media/wire"
)

// Unusable counts the unusable values of platforms' rows.
type Unusable struct{ values *prometheus.CounterVec }

// NewUnusable registers the metric, or uses the registered one.
func NewUnusable(r prometheus.Registerer) Unusable {
	return Unusable{Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adsync_pull_unusable_values_total",
		Help: "Values of platforms' rows that could not be used, by field. kind: attribute, future, figure (its day is " +
			"partial) or key (its row is lost).",
	}, []string{"media", "report", "field", "kind"}))}
}

// fieldName matches field names that may be labels. A platform may send any others.
var fieldName = regexp.MustCompile(`^[A-Za-z0-9_.]{1,64}$`)

// Add counts values of a field of a report or list.
func (u Unusable) Add(media, report, field string, kind wire.FaultKind, number int) {
	if !fieldName.MatchString(field) {
		field = "other"
	}
	u.values.WithLabelValues(media, report, field, string(kind)).Add(float64(number))
}
