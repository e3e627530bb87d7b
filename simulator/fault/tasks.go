package fault

import "adsync/simulator/platform"

// Kinds of faults of asynchronous reports. A call that creates one meets them.
const (
	FailTask   = "fail_task"   // the report ends without a file
	ExpireTask = "expire_task" // the report's file is gone when it is downloaded
)

func (f *Fault) isOfTask() bool { return f.Kind == FailTask || f.Kind == ExpireTask }

// Task returns the fate of an asynchronous report that a call creates, by the newest fault.
func (s *Faults) Task(c *platform.Call) platform.TaskFate {
	if f := s.newest(c, (*Fault).isOfTask); f != nil {
		return map[string]platform.TaskFate{FailTask: platform.TaskFails, ExpireTask: platform.TaskExpires}[f.Kind]
	}
	return platform.TaskServed
}
