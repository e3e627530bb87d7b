package consumer

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/media"
)

// order is a stop order by otto, given now, for the runs of envelope.
func order(verb task.StopVerb, kind task.StopKind, target string, until time.Duration) task.Stop {
	now := time.Now().UTC()
	s := task.Stop{ID: task.NewRunID(now), Verb: verb, Kind: kind, Target: target, TargetName: "x", By: "otto",
		Reason: "a test", OrderedAt: now}
	if until > 0 {
		s.Until = now.Add(until)
	}
	return s
}

// untilCut is a handler that works until its context ends, and reports why and when.
func untilCut(causes chan<- error) media.Handler {
	return handler("acme.report", func(ctx context.Context, _ media.Work) (media.Result, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return media.Result{Calls: 3}, &media.Error{Class: media.Invalid, Message: "whatever a call says that was cut off"}
	})
}

func TestStops_EndWorkUnderWayWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	run := strconv.FormatInt(envelope(1).RunID, 10)
	for _, tt := range []struct {
		name   string
		verb   task.StopVerb
		kind   task.StopKind
		target string
		want   task.State
	}{
		{"the cancel of a run", task.Cancel, task.StopRun, run, task.Cancelled},
		{"the cancel of a task", task.Cancel, task.StopTask, "7", task.Cancelled},
		{"the cancel of an account", task.Cancel, task.StopAccount, "1", task.Cancelled},
		{"the cancel of a media", task.Cancel, task.StopMedia, "acme", task.Cancelled},
		{"the pause of a run", task.Pause, task.StopRun, run, task.Deferred},
		{"the pause of a task", task.Pause, task.StopTask, "7", task.Deferred},
		{"the pause of an account", task.Pause, task.StopAccount, "1", task.Deferred},
		{"the pause of a media", task.Pause, task.StopMedia, "acme", task.Deferred},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				causes := make(chan error, 9)
				c, s, k := newFaked(t, untilCut(causes))
				require.NoError(t, c.Start(t.Context()))
				e := envelope(1)
				e.Attempt = 2
				msg := k.member(acmeNormal).deliver(message(s.wants(e), ""))
				other := envelope(2)
				other.RunID, other.TaskID, other.Media = other.RunID+1, 8, "zeta"
				beside := k.member(acmeNormal).deliver(message(s.wants(other), ""))
				time.Sleep(10*time.Second + 300*time.Millisecond)
				require.Empty(t, causes)

				stop := order(tt.verb, tt.kind, tt.target, time.Hour)
				s.set(func(f *fakeStore) { f.stops = []task.Stop{order(tt.verb, tt.kind, "99", 0), stop} })
				time.Sleep(5 * time.Second)
				require.EqualValues(t, 1, msg.done.Load())
				require.EqualError(t, <-causes, stop.Text(), "the handler can tell why")
				require.Len(t, s.written(), 1)
				o := s.written()[0]
				require.Equal(t, []any{tt.want, 2, 1, 3, stop.Text(), ""},
					[]any{o.State, o.Attempt, o.Delivery, o.Calls, o.ErrorText, o.ErrorClass}, "at no attempt")
				if tt.verb == task.Pause {
					require.Equal(t, task.PauseRef(stop.ID), o.WaitsFor)
					require.Equal(t, stop.Until.Add(pauseSpread/2), o.DueAt)
					require.Equal(t, stop.Text(), o.Reason)
				}
				require.EqualValues(t, 1, metricsOf(t, c)["adsync_consumer_interrupted_total acme "+string(tt.verb)])

				require.Empty(t, causes, "work that no order names continues")
				require.Zero(t, beside.done.Load())
				c.Stop()
				require.EqualValues(t, 1, beside.abandoned.Load())
			})
		})
	}
}

func TestStops_DoNotWaitForAHandlerThatGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
			<-release
			return media.Result{Rows: 5}, nil
		}))
		require.NoError(t, c.Start(t.Context()))
		msg := k.member(acmeNormal).deliver(message(s.wants(envelope(1)), ""))
		time.Sleep(10 * time.Second)
		s.set(func(f *fakeStore) { f.stops = []task.Stop{order(task.Cancel, task.StopAccount, "1", 0)} })
		time.Sleep(5 * time.Second)
		require.EqualValues(t, 1, msg.done.Load())
		require.Equal(t, task.Cancelled, s.written()[0].State)
		close(release)
		synctest.Wait()
		require.Len(t, s.written(), 1, "what it says later is dropped")
		c.Stop()
	})
}

func TestStops_LetWorkCountThatIsDoneAllTheSame(t *testing.T) {
	t.Parallel()
	for want, err := range map[task.State]error{task.Succeeded: nil, task.Superseded: media.ErrSuperseded} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s, k := newFaked(t, handler("acme.report", func(ctx context.Context, _ media.Work) (media.Result, error) {
					<-ctx.Done()
					return media.Result{}, err // The transaction was committed in the same moment.
				}))
				require.NoError(t, c.Start(t.Context()))
				k.member(acmeNormal).deliver(message(s.wants(envelope(1)), ""))
				synctest.Wait()
				s.set(func(f *fakeStore) { f.stops = []task.Stop{order(task.Pause, task.StopAccount, "1", 0)} })
				time.Sleep(5 * time.Second)
				c.Stop()
				require.Len(t, s.written(), 1)
				require.Equal(t, want, s.written()[0].State)
			})
		})
	}
}

func TestStops_KeepWorkFromBeginning(t *testing.T) {
	t.Parallel()
	pause, cancel := order(task.Pause, task.StopAccount, "1", 0), order(task.Cancel, task.StopTask, "7", 0)
	for _, tt := range []struct {
		name  string
		stop  task.Stop
		ttl   time.Duration
		want  task.State // "" when there is no outcome
		waits time.Duration
		row   task.State
	}{
		{name: "a pause until it is lifted", stop: pause, want: task.Deferred, waits: pauseLook + pauseSpread/2},
		{name: "a pause beyond the time to live", stop: pause, ttl: time.Hour, want: task.Deferred, waits: time.Hour},
		{name: "a cancel", stop: cancel, want: task.Cancelled},
		{name: "a message that was answered before", stop: pause, row: task.Retrying},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
					t.Error("it must not begin")
					return media.Result{}, nil
				}))
				s.stops = []task.Stop{tt.stop}
				require.NoError(t, c.Start(t.Context()))
				e := s.wants(envelope(1))
				if tt.ttl > 0 {
					e.Deadline = time.Now().Add(tt.ttl).UTC()
				}
				if tt.row != "" {
					s.states[e.Key] = ledger.SubtaskStatus{State: tt.row, Delivery: 1, Attempt: 1}
				}
				msg := k.member(acmeNormal).deliver(message(e, ""))
				synctest.Wait()
				now := time.Now()
				c.Stop()
				require.EqualValues(t, 1, msg.done.Load())
				if tt.want == "" {
					require.Empty(t, s.written(), "an outcome would forget its attempt")
					return
				}
				require.Len(t, s.written(), 1)
				o := s.written()[0]
				require.Equal(t, tt.want, o.State)
				if tt.waits > 0 {
					require.Equal(t, tt.waits, o.DueAt.Sub(now))
					require.Equal(t, task.PauseRef(pause.ID), o.WaitsFor)
				}
			})
		})
	}
}

func TestStops_NoWorkBeginsUntilTheyWereReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		c, s, k := newFaked(t, at.working(time.Second))
		s.stops, s.noStops = []task.Stop{order(task.Pause, task.StopAccount, "1", 0)}, errors.New("connection refused")
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		paused, free := m.deliver(message(s.wants(envelope(1)), "")), m.deliver(message(s.wants(envelope(2)), ""))
		time.Sleep(time.Minute)
		require.Zero(t, at.now()+len(s.written())+int(paused.done.Load()+free.done.Load()),
			"it cannot be known what is paused")
		s.set(func(f *fakeStore) { f.noStops = nil })
		time.Sleep(5 * time.Second)
		require.Len(t, s.written(), 2)
		for _, o := range s.written() {
			require.Equal(t, map[int64]task.State{1: task.Deferred, 2: task.Succeeded}[o.AccountID], o.State)
		}
		c.Stop()
	})
}

func TestStops_WhatWaitsForThemIsGivenUpWithItsPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s, k := newFaked(t, newPresence().working(time.Second))
		s.noStops = errors.New("connection refused")
		require.NoError(t, c.Start(t.Context()))
		waits := k.member(acmeNormal).deliver(message(s.wants(envelope(1)), ""))
		synctest.Wait()
		c.Stop()
		require.EqualValues(t, 1, waits.abandoned.Load())
		require.Empty(t, s.written())
	})
}

func TestStops_HoldNoLongerThanTheyAreInForce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result,
			error) {
			return media.Result{}, nil
		}))
		log := &lines{}
		c.logTo(log)
		s.stops = []task.Stop{order(task.Pause, task.StopAccount, "1", time.Minute),
			order(task.Pause, task.StopAccount, "2", 0)}
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop()
		delivery := 0
		run := func(account int64) task.State {
			e := envelope(account)
			delivery++
			e.Delivery = delivery
			k.member(acmeNormal).deliver(message(s.wants(e), ""))
			time.Sleep(2 * time.Second)
			require.Len(t, s.written(), delivery)
			return s.written()[delivery-1].State
		}
		require.Equal(t, task.Deferred, run(1))
		require.Equal(t, task.Deferred, run(2))

		s.set(func(f *fakeStore) { f.noStops = errors.New("connection refused") })
		time.Sleep(56 * time.Second)
		require.Equal(t, 1, log.count("pauses and cancels cannot be read"), "one line for a cause")
		require.Equal(t, task.Succeeded, run(1), "its time is over, whether the orders can be read or not")
		require.Equal(t, task.Deferred, run(2), "what was read last holds on")

		s.set(func(f *fakeStore) { f.stops, f.noStops = nil, nil })
		time.Sleep(2 * time.Second)
		require.Equal(t, task.Succeeded, run(2), "it was lifted")
		require.Equal(t, 1, log.count("can be read again"))
	})
}
