package task_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/task"
)

var stopTime = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func stop(verb task.StopVerb, kind task.StopKind, target string, until time.Duration) task.Stop {
	s := task.Stop{ID: task.NewRunID(stopTime), Verb: verb, Kind: kind, Target: target, By: "otto", Reason: "a test",
		OrderedAt: stopTime}
	if until != 0 {
		s.Until = stopTime.Add(until)
	}
	return s
}

func TestStops_FindByWhatTheyName(t *testing.T) {
	t.Parallel()
	run := task.NewRunID(stopTime.Add(-time.Hour))
	subject := task.Subject{RunID: run, TaskID: 7, AccountID: 12, Media: "tulip"}
	for _, tt := range []struct {
		name  string
		kind  task.StopKind
		other string
		same  string
	}{
		{"a task", task.StopTask, "8", "7"},
		{"an account", task.StopAccount, "7", "12"},
		{"a media", task.StopMedia, "orchid", "tulip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Nil(t, task.NewStops([]task.Stop{stop(task.Pause, tt.kind, tt.other, 0)}).Find(subject, stopTime))
			stops := task.NewStops([]task.Stop{stop(task.Pause, tt.kind, tt.same, time.Minute)})
			require.NotNil(t, stops.Find(subject, stopTime))
			require.NotNil(t, stops.Paused(subject, stopTime.Add(time.Minute-1)))
			require.Nil(t, stops.Find(subject, stopTime.Add(time.Minute)), "it no longer holds at its end")
		})
	}
	require.Nil(t, new(task.Stops).Find(subject, stopTime))
	none := task.NewStops([]task.Stop{stop(task.Pause, task.StopAccount, "0", 0), stop(task.Pause, task.StopRun, "1", 0)})
	require.Nil(t, none.Find(subject, stopTime))
}

func TestStops_ACancelTakesExistingRunsAndAPauseAll(t *testing.T) {
	t.Parallel()
	older, same, newer := task.NewRunID(stopTime.Add(-time.Millisecond)), task.NewRunID(stopTime),
		task.NewRunID(stopTime.Add(time.Millisecond))
	cancel := task.NewStops([]task.Stop{stop(task.Cancel, task.StopTask, "7", 0)})
	pause := task.NewStops([]task.Stop{stop(task.Pause, task.StopTask, "7", 0)})
	for run, taken := range map[int64]bool{older: true, same: true, newer: false} {
		subject := task.Subject{RunID: run, TaskID: 7}
		require.Equal(t, taken, cancel.Find(subject, stopTime) != nil)
		require.NotNil(t, pause.Find(subject, stopTime))
		require.Nil(t, cancel.Paused(subject, stopTime))
	}
	ended := stop(task.Cancel, task.StopTask, "7", 0)
	ended.EndedAt = stopTime
	require.Nil(t, task.NewStops([]task.Stop{ended}).Find(task.Subject{RunID: older, TaskID: 7}, stopTime))
}

// Among all orders that cover a subject, a cancel decides, and otherwise the longest pause.
func TestStops_FindTheOrderThatDecides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		subject := task.Subject{RunID: task.NewRunID(stopTime), TaskID: 1, AccountID: 1, Media: "1"}
		var list []task.Stop
		cancelled, forEver, last := false, false, time.Duration(0)
		for range rapid.IntRange(1, 6).Draw(t, "orders") {
			verb := rapid.SampledFrom([]task.StopVerb{task.Pause, task.Pause, task.Cancel}).Draw(t, "verb")
			kind := rapid.SampledFrom([]task.StopKind{task.StopTask, task.StopAccount, task.StopMedia}).Draw(t, "kind")
			target := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "target")
			until := time.Duration(0)
			if verb == task.Pause {
				until = time.Duration(rapid.IntRange(-2, 3).Draw(t, "until")) * time.Minute
			}
			list = append(list, stop(verb, kind, target, until))
			if target == "1" {
				cancelled = cancelled || verb == task.Cancel
				forEver = forEver || verb == task.Pause && until == 0
				last = max(last, until)
			}
		}
		found := task.NewStops(list).Find(subject, stopTime)
		switch {
		case cancelled:
			require.Equal(t, task.Cancel, found.Verb)
		case forEver:
			require.True(t, found.Until.IsZero())
		case last > 0:
			require.Equal(t, stopTime.Add(last), found.Until)
		default:
			require.Nil(t, found)
		}
	})
}

func TestStop_RefsNameWhatSubtasksWaitFor(t *testing.T) {
	t.Parallel()
	s := stop(task.Pause, task.StopMedia, "tulip", time.Hour)
	id, ok := task.PauseOfRef(task.PauseRef(s.ID))
	require.True(t, ok)
	require.Equal(t, s.ID, id)
	_, ok = task.PauseOfRef("run:12")
	require.False(t, ok)
	require.Equal(t, "paused until 2026-11-21T11:00:00Z by otto: a test", s.Text())
	s = stop(task.Cancel, task.StopRun, "1", 0)
	require.Equal(t, "cancelled by otto: a test", s.Text())
}
