package platform

import (
	"bytes"
	"net/url"
	"slices"
	"sync"

	"adsync/simulator/world"
)

// Task is an asynchronous report. Its file has the figures of the moment of its creation.
type Task struct {
	ID      int64
	Name    string // the account's only one; "" on platforms whose tasks have none
	Account int64
	App     string
	Made    int64
	Params  url.Values
	Size    int64 // of its file in bytes; 0 until the file exists
	Ended   bool  // its account has cancelled it

	fate  TaskFate
	reads int64 // how often its file was sent
	cut   bool  // it was sent without its last line
	polls int64 // how often a client has read its state
	gone  bool
}

// TaskState is the state of an asynchronous report.
type TaskState int64

// The states.
const (
	TaskNew TaskState = iota
	TaskRuns
	TaskDone
	TaskFailed
	TaskCancelled
)

// TaskRules are a platform's rules for asynchronous reports.
type TaskRules struct {
	FirstID int64
	Polls   int64 // how often the state is read until a task is done
	Life    int64 // for how many seconds a task and its file are kept
	ADay    int   // how many an account creates on a day; 0 is any number
	ByApp   bool  // they are counted by app
}

// Tasks holds the asynchronous reports of all accounts of a platform, in order of their ids. The zero value is empty.
// Lock guards the tasks.
type Tasks struct {
	sync.Mutex

	last int64
	list []*Task
}

// State returns a task's state, which advances with each Poll.
func (t *Task) State(r TaskRules) TaskState {
	switch {
	case t.Ended:
		return TaskCancelled
	case t.polls >= r.Polls && t.fate == TaskFails:
		return TaskFailed
	case t.polls >= r.Polls:
		return TaskDone
	}
	return min(TaskState(t.polls), TaskRuns)
}

// Poll returns a task's state and lets it advance.
func (t *Task) Poll(r TaskRules) TaskState {
	state := t.State(r)
	t.polls++
	return state
}

// Expires reports whether a fault makes the task's file expire. The task is gone then.
func (t *Task) Expires() bool {
	t.gone = t.gone || t.fate == TaskExpires
	return t.gone
}

// Send returns what is sent of the task's file, and counts the file as read. A file without rows is not cut.
func (t *Task) Send(file []byte) []byte {
	t.reads++
	if lines := bytes.SplitAfter(file, []byte("\n")); t.fate == TaskCut && len(lines) > 2 {
		t.cut = true
		return bytes.Join(lines[:len(lines)-2], nil) // The last element is what follows the last line: nothing.
	}
	return file
}

// IsBare reports whether a fault makes the task's file lack a column.
func (t *Task) IsBare() bool { return t.fate == TaskBare }

func (t *Task) isOver(r TaskRules, now int64) bool { return t.gone || now >= t.Made+r.Life }

// TaskRefusal is why a task is not created.
type TaskRefusal int

// The reasons.
const (
	TaskCreated TaskRefusal = iota
	TaskNameTaken
	TaskTooMany
)

// Add stores a new task of a call and gives it its id, unless its account has a task with its name or too many.
func (s *Tasks) Add(c *Call, t *Task, r TaskRules) TaskRefusal {
	s.Lock()
	defer s.Unlock()
	today := world.DayOf(c.Now)
	s.list = slices.DeleteFunc(s.list, func(x *Task) bool { return x.isOver(r, c.Now) && world.DayOf(x.Made) != today })
	count := 0
	for _, x := range s.list {
		if t.Name != "" && x.Account == t.Account && x.Name == t.Name {
			return TaskNameTaken
		}
		if (x.Account == t.Account || r.ByApp && x.App == t.App) && world.DayOf(x.Made) == today {
			count++
		}
	}
	if r.ADay > 0 && count >= r.ADay {
		return TaskTooMany
	}
	s.last = max(s.last+1, r.FirstID)
	t.ID, t.fate = s.last, c.Sim.Faults.Task(c)
	s.list = append(s.list, t)
	return TaskCreated
}

// Of lists the tasks of an account that are still kept. The caller holds the lock.
func (s *Tasks) Of(account, now int64, r TaskRules) (list []*Task) {
	for _, t := range s.list {
		if t.Account == account && !t.isOver(r, now) {
			list = append(list, t)
		}
	}
	return list
}

// TaskReport describes an asynchronous report to the control API.
type TaskReport struct {
	ID      int64  `json:"id"`
	Name    string `json:"name,omitempty"`
	Account int64  `json:"account"`
	Made    int64  `json:"made"`  // in Unix seconds of the world
	Reads   int64  `json:"reads"` // how often its file was sent
	Cut     bool   `json:"cut"`   // it was sent without its last line
}

// All lists the tasks of all accounts that were created today, and older ones that are still kept.
func (s *Tasks) All() []TaskReport {
	s.Lock()
	defer s.Unlock()
	all := make([]TaskReport, len(s.list))
	for i, t := range s.list {
		all[i] = TaskReport{ID: t.ID, Name: t.Name, Account: t.Account, Made: t.Made, Reads: t.reads, Cut: t.cut}
	}
	return all
}
