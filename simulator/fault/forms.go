package fault

import (
	"slices"

	"adsync/simulator/platform"
)

// isOfForm reports whether the kind is a form of good answers, which the platform writes.
func (f *Fault) isOfForm() bool {
	forms := []platform.Form{platform.FormOther, platform.FormFull, platform.FormPart}
	return slices.Contains(forms, platform.Form(f.Kind))
}

// Takes reports whether the newest fault of a form makes a call's answer take it.
func (s *Faults) Takes(c *platform.Call, form platform.Form) bool {
	f := s.newest(c, func(f *Fault) bool { return f.Kind == string(form) })
	return f != nil
}

// newest claims a call for the newest fault that fits it; nil if there is none.
func (s *Faults) newest(c *platform.Call, fits func(*Fault) bool) *Active {
	if !s.any.Load() {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	account := c.Query.Get(c.Spec.AccountParam)
	for _, f := range slices.Backward(s.list) {
		if fits(&f.Fault) && f.selects(c.Spec.Name, c.Endpoint, account) && f.claim(c) {
			return f
		}
	}
	return nil
}
