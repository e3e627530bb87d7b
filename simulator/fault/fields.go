package fault

import (
	"fmt"
	"slices"

	"adsync/simulator/platform"
)

// Kinds of faults that change which fields the reports of a platform know.
const (
	RetireField = "retire_field" // one field no more: calls that ask for it are refused
	AddField    = "add_field"    // one more, whose values are those of clicks
)

// IsOfField tells the kinds that name a field.
func (f *Fault) IsOfField() bool { return f.Kind == RetireField || f.Kind == AddField }

func (f *Fault) checkField() error {
	if f.IsOfField() && (f.Media == "" || f.Field == "") {
		return fmt.Errorf("%s needs media and field", f.Kind)
	}
	return nil
}

// Field returns what the newest fault makes of a report's field that a call asks for.
func (s *Faults) Field(c *platform.Call, name string) platform.FieldChange {
	if !s.any.Load() {
		return platform.FieldAsEver
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range slices.Backward(s.list) {
		if f.IsOfField() && f.Field == name && f.selects(c.Spec.Name, c.Endpoint, c.Query.Get(c.Spec.AccountParam)) &&
			f.claim(c) {
			return map[string]platform.FieldChange{RetireField: platform.FieldRetired, AddField: platform.FieldAdded}[f.Kind]
		}
	}
	return platform.FieldAsEver
}
