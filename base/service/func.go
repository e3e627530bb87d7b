package service

import "context"

// Func is a part made of two functions, for what needs no own type. Either may be nil. StopFunc must tolerate being
// called twice or before StartFunc, as Stop must.
type Func struct {
	StartFunc func(ctx context.Context) error
	StopFunc  func()
}

var _ Service = Func{}

// Start implements Service.
func (f Func) Start(ctx context.Context) error {
	if f.StartFunc == nil {
		return nil
	}
	return f.StartFunc(ctx)
}

// Stop implements Service.
func (f Func) Stop() {
	if f.StopFunc != nil {
		f.StopFunc()
	}
}
