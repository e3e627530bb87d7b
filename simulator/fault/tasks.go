package fault

import "adsync/simulator/platform"

// Kinds of faults of asynchronous reports. A call that creates one meets them.
const (
	FailTask   = "fail_task"   // the report ends without a file
	ExpireTask = "expire_task" // the report's file is gone when it is downloaded
	CutTask    = "cut_task"    // the report's file lacks its last line when it is downloaded
	BareTask   = "bare_task"   // the report's file lacks a column, on platforms with a fixed list of columns
)

var taskFates = map[string]platform.TaskFate{
	FailTask: platform.TaskFails, ExpireTask: platform.TaskExpires, CutTask: platform.TaskCut,
	BareTask: platform.TaskBare,
}

func (f *Fault) isOfTask() bool { return taskFates[f.Kind] != platform.TaskServed }

// Task returns the fate of an asynchronous report that a call creates, by the newest fault.
func (s *Faults) Task(c *platform.Call) platform.TaskFate {
	if f := s.newest(c, (*Fault).isOfTask); f != nil {
		return taskFates[f.Kind]
	}
	return platform.TaskServed
}
