package fault

import (
	"fmt"

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
	if f := s.newest(c, func(f *Fault) bool { return f.IsOfField() && f.Field == name }); f != nil {
		return map[string]platform.FieldChange{RetireField: platform.FieldRetired, AddField: platform.FieldAdded}[f.Kind]
	}
	return platform.FieldAsEver
}

// Added returns the newest field that a fault adds to the reports of a call's platform; "" if there is none.
func (s *Faults) Added(c *platform.Call) string {
	if f := s.newest(c, func(f *Fault) bool { return f.Kind == AddField }); f != nil {
		return f.Field
	}
	return ""
}
