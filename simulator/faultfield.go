package simulator

import (
	"fmt"
	"slices"
)

// Kinds of faults that change which fields the reports of a platform know.
const (
	FaultRetireField = "retire_field" // one field no more: calls that ask for it are refused
	FaultAddField    = "add_field"    // one more, whose values are those of clicks
)

// isOfField tells the kinds that name a field.
func (f *Fault) isOfField() bool { return f.Kind == FaultRetireField || f.Kind == FaultAddField }

func (f *Fault) checkField() error {
	if f.isOfField() && (f.Media == "" || f.Field == "") {
		return fmt.Errorf("%s needs media and field", f.Kind)
	}
	return nil
}

// field tells what the newest fault says of a report's field that a call asks for: the fault's kind, or "" for nothing.
func (s *faults) field(c *call, name string) string {
	if !s.any.Load() {
		return ""
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range slices.Backward(s.list) {
		if f.isOfField() && f.Field == name && f.selects(c.p.name, c.endpoint, c.query.Get(c.p.accountParam)) && f.claim(c) {
			return f.Kind
		}
	}
	return ""
}

// tencentFieldOf finds a field of a report that a call asks for.
func tencentFieldOf(c *call, name string) (tencentField, bool) {
	switch c.sim.faults.field(c, name) {
	case FaultRetireField:
		return tencentField{}, false
	case FaultAddField:
		return tencentMetric(clicks), true
	}
	f, ok := tencentColumns()[name]
	return f, ok
}

// oceanMetricOf finds a metric of a report that a call asks for; nil if there is none.
func oceanMetricOf(c *call, name string) *oceanMetric {
	switch c.sim.faults.field(c, name) {
	case FaultRetireField:
		return nil
	case FaultAddField:
		added := oceanCount(name, name, clicks)
		return &added
	}
	return oceanMetricByName[name]
}
