package task

import (
	"strconv"
	"strings"
	"time"
)

// StopVerb is what an order does to the work that it names.
type StopVerb string

// The verbs of orders that stop work.
const (
	// Pause holds up work until the pause ends. No work is lost.
	Pause StopVerb = "pause"
	// Cancel ends the work that exists when it is ordered, and nothing that comes later.
	Cancel StopVerb = "cancel"
)

// StopKind is the kind of what an order names.
type StopKind string

// The kinds of things that can be stopped.
const (
	StopRun     StopKind = "run"
	StopTask    StopKind = "task"
	StopAccount StopKind = "account"
	StopMedia   StopKind = "media"
)

// Stop is an order by hand that stops work: a pause or a cancel.
type Stop struct {
	ID         int64 // in the order of run ids, see NewRunID
	Verb       StopVerb
	Kind       StopKind
	Target     string // the id of a run, a task or an account (ours), or the name of a media
	TargetName string // the target's name for people
	Reason     string
	By         string
	OrderedAt  time.Time
	Until      time.Time // the end of a pause; zero means until it is lifted
	EndedAt    time.Time // when it was lifted, expired or was carried out; zero means not yet
	EndedBy    string    // the person who lifted it
}

// InForce reports whether the order applies at a time.
func (s *Stop) InForce(now time.Time) bool {
	return s.EndedAt.IsZero() && (s.Until.IsZero() || now.Before(s.Until))
}

// Covers reports whether the order concerns a run by its age: a pause holds up everything that it names, a cancel ends
// only runs made until it was ordered.
func (s *Stop) Covers(runID int64) bool {
	return s.Verb == Pause || s.Kind == StopRun || runID <= s.Through()
}

// Through returns the highest run id of the runs made until the order.
func (s *Stop) Through() int64 { return s.ID | (1<<22 - 1) }

// TargetID returns the id of a run, a task or an account; 0 for a media.
func (s *Stop) TargetID() int64 {
	id, err := strconv.ParseInt(s.Target, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// PauseRef returns the name of a pause in subtask_due, as what a subtask waits for.
func PauseRef(id int64) string { return pauseRef + strconv.FormatInt(id, 10) }

const pauseRef = "pause:"

// PauseOfRef returns the pause that PauseRef named.
func PauseOfRef(ref string) (id int64, ok bool) {
	text, ok := strings.CutPrefix(ref, pauseRef)
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil
}

// ParkedRef returns the name of a parked account in subtask_due, as what a subtask waits for.
func ParkedRef(accountID int64) string { return parkedRef + strconv.FormatInt(accountID, 10) }

const parkedRef = "account:"

// AccountOfRef returns the account that ParkedRef named.
func AccountOfRef(ref string) (id int64, ok bool) {
	text, ok := strings.CutPrefix(ref, parkedRef)
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil
}

// JobRef returns the name of a job of the job queue in subtask_due, as what a subtask waits for.
func JobRef(id string) string { return outsideRef + id }

// Text describes what was ordered, by whom and why.
func (s *Stop) Text() string {
	text := "cancelled"
	if s.Verb == Pause {
		text = "paused"
		if !s.Until.IsZero() {
			text += " until " + s.Until.UTC().Format(time.RFC3339)
		}
	}
	return text + " by " + s.By + ": " + s.Reason
}

// Subject is work that an order may name. Zero fields are left out.
type Subject struct {
	RunID     int64
	TaskID    int64
	AccountID int64
	Media     string
}

// Stops holds orders by what they name. The zero value has none. It does not change after NewStops.
type Stops struct {
	all []Stop
	of  map[stopTarget][]*Stop
}

type stopTarget struct {
	kind   StopKind
	target string
}

// NewStops returns the Stops of a list, which it keeps.
func NewStops(list []Stop) *Stops {
	s := &Stops{all: list, of: make(map[stopTarget][]*Stop, len(list))}
	for i := range list {
		key := stopTarget{list[i].Kind, list[i].Target}
		s.of[key] = append(s.of[key], &list[i])
	}
	return s
}

// All returns all orders, in the order of the list.
func (s *Stops) All() []Stop { return s.all }

// Find returns the order that stops a subject at a time, or nil. A cancel comes before a pause. Of several pauses it
// is the one that ends last, so that work waiting for it meets none of the others afterwards.
func (s *Stops) Find(subject Subject, now time.Time) *Stop {
	return s.find(subject, func(stop *Stop) bool { return stop.InForce(now) && stop.Covers(subject.RunID) })
}

// Paused returns the pause that holds up a subject at a time, or nil.
func (s *Stops) Paused(subject Subject, now time.Time) *Stop {
	return s.find(subject, func(stop *Stop) bool { return stop.Verb == Pause && stop.InForce(now) })
}

func (s *Stops) find(subject Subject, holds func(*Stop) bool) *Stop {
	if len(s.all) == 0 { // as nearly always
		return nil
	}
	var found *Stop
	for _, target := range subject.targets() {
		for _, stop := range s.of[target] {
			if holds(stop) && (found == nil || decidesOver(stop, found)) {
				found = stop
			}
		}
	}
	return found
}

// targets returns the targets of orders that cover the subject. No order has an id of 0.
func (s Subject) targets() [4]stopTarget {
	return [4]stopTarget{
		{StopRun, strconv.FormatInt(s.RunID, 10)},
		{StopTask, strconv.FormatInt(s.TaskID, 10)},
		{StopAccount, strconv.FormatInt(s.AccountID, 10)},
		{StopMedia, s.Media},
	}
}

// decidesOver reports whether order a applies rather than b.
func decidesOver(a, b *Stop) bool {
	switch {
	case a.Verb != b.Verb:
		return a.Verb == Cancel
	case a.Until.IsZero() != b.Until.IsZero():
		return a.Until.IsZero()
	case !a.Until.Equal(b.Until):
		return a.Until.After(b.Until)
	default:
		return a.ID < b.ID
	}
}
