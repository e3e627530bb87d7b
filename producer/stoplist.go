package producer

import (
	"sync/atomic"

	"adsync/base/clock"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// stopList holds the pauses and cancels as the leader last read them.
type stopList struct {
	waiting clock.Clock
	last    atomic.Pointer[task.Stops]
}

// list returns the orders; it is empty before the first read.
func (s *stopList) list() *task.Stops {
	if list := s.last.Load(); list != nil {
		return list
	}
	return &task.Stops{}
}

func (s *stopList) set(list []task.Stop) { s.last.Store(task.NewStops(list)) }

// paused reports whether a pause keeps a task from making ticks now.
func (s *stopList) paused(taskID int64, media string) bool {
	return s.list().Paused(task.Subject{TaskID: taskID, Media: media}, s.waiting.Now()) != nil
}

// ofRun returns the order that makes the fan-out of a run rest, or nil.
func (s *stopList) ofRun(run *ledger.Run) *task.Stop {
	return s.list().Find(task.Subject{RunID: run.ID, TaskID: run.TaskID, Media: run.Media}, s.waiting.Now())
}

// unpaused selects the runs that no pause holds up now. It includes cancelled runs, which startFanOuts skips until they
// end.
func (s *stopList) unpaused() ledger.FanOutFilter {
	var f ledger.FanOutFilter
	now := s.waiting.Now()
	for _, stop := range s.list().All() {
		if stop.Verb != task.Pause || !stop.InForce(now) {
			continue
		}
		switch stop.Kind {
		case task.StopRun:
			f.PausedRuns = append(f.PausedRuns, stop.TargetID())
		case task.StopTask:
			f.PausedTasks = append(f.PausedTasks, stop.TargetID())
		case task.StopMedia:
			f.PausedMedias = append(f.PausedMedias, stop.Target)
		case task.StopAccount: // holds up no run
		}
	}
	return f
}
