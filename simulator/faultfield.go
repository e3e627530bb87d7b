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

// Field returns what the newest fault makes of a report's field that a call asks for.
func (s *faults) Field(c *call, name string) fieldChange {
	if !s.any.Load() {
		return fieldAsEver
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range slices.Backward(s.list) {
		if f.isOfField() && f.Field == name && f.selects(c.p.name, c.endpoint, c.query.Get(c.p.accountParam)) && f.claim(c) {
			return map[string]fieldChange{FaultRetireField: fieldRetired, FaultAddField: fieldAdded}[f.Kind]
		}
	}
	return fieldAsEver
}
