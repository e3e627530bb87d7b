package fault

import (
	"fmt"
	"slices"

	"adsync/simulator/platform"
)

// Kinds of faults that change the fields of a platform's reports.
const (
	RetireField = "retire_field" // a field is removed: calls that request it are refused
	AddField    = "add_field"    // a field is added, with the values of clicks
)

// IsOfField reports whether the kind concerns a field.
func (f *Fault) IsOfField() bool { return f.Kind == RetireField || f.Kind == AddField }

func (f *Fault) checkField() error {
	if f.IsOfField() && (f.Media == "" || f.Field == "") {
		return fmt.Errorf("%s needs media and field", f.Kind)
	}
	return nil
}

// Field returns the change that the newest fault makes to a report's field that a call requests.
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
