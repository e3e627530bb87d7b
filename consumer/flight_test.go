package consumer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/exclusion"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
)

// lines is a log whose lines can be counted.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func (c *Consumer) logTo(l *lines) {
	c.log = slog.New(slog.NewTextHandler(l, nil))
	c.causes = telemetry.NewCauseLog(c.log)
}

func TestFlight_AHandlerThatIgnoresItsTimeCostsItsSlotAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		c, s, k := newFaked(t,
			handler("acme.hangs", func(context.Context, media.Work) (media.Result, error) {
				<-wake
				return media.Result{Rows: 9}, nil
			}),
			handler("acme.report", func(context.Context, media.Work) (media.Result, error) { return media.Result{}, nil }),
		)
		var log lines
		c.logTo(&log)
		require.NoError(t, c.Start(t.Context()))
		m, pool := k.member(acmeNormal), c.open()[0]
		e := envelope(1)
		e.Handler, e.Timeout, e.RetryBase = "acme.hangs", 30*time.Second, 10*time.Second
		msg := m.deliver(message(s.wants(e), ""))
		time.Sleep(30*time.Second + hangGrace - time.Millisecond)
		synctest.Wait()
		require.Empty(t, s.written(), "it may still return")
		time.Sleep(time.Millisecond + c.cfg.OutcomeInterval)
		synctest.Wait()
		require.EqualValues(t, 1, msg.done.Load(), "its partition continues")
		o := s.written()[0]
		require.Equal(t, task.Retrying, o.State)
		require.Equal(t, "transient", o.ErrorClass)
		require.Contains(t, o.ErrorText, "did not return within its timeout of 30s")
		require.Equal(t, 1, o.Attempt)
		require.EqualValues(t, 1, metricsOf(t, c)["adsync_consumer_handlers_hung acme acme.hangs"])
		used, _ := pool.slots.state()
		require.Equal(t, 1, used, "the handler that hangs keeps its slot")
		require.Empty(t, c.floors.running, "but no floor waits for it")

		for i := range int64(20) {
			m.deliver(message(s.wants(envelope(10+i)), ""))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, s.written(), 21, "others continue in the other slots")

		close(wake)
		synctest.Wait()
		time.Sleep(time.Minute)
		used, _ = pool.slots.state()
		require.Zero(t, used)
		require.Len(t, s.written(), 21, "what it says in the end is dropped")
		require.EqualValues(t, 1, msg.done.Load())
		require.Zero(t, metricsOf(t, c)["adsync_consumer_handlers_hung acme acme.hangs"])
		require.Equal(t, 1, log.count("has not returned after its timeout"), "one line for each")
		c.Stop()
	})
}

func TestFlight_AHandlerThatHangsHoldsUpNoDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
			<-wake
			return media.Result{}, errors.New("whatever")
		}))
		var log lines
		c.logTo(&log)
		require.NoError(t, c.Start(t.Context()))
		msg := k.member(acmeNormal).deliver(message(s.wants(envelope(1)), ""))
		synctest.Wait()
		began := time.Now()
		c.Stop()
		require.Equal(t, c.cfg.DrainTimeout+cutGrace+releaseGrace, time.Since(began),
			"the drain, and a moment for the pool")
		require.EqualValues(t, 1, msg.abandoned.Load(), "the next owner does it")
		require.Equal(t, 1, log.count("handlers ignore the end"), "one line for a lane")
		require.Equal(t, 1, log.count("lane=normal subtasks=1 handlers=acme.report"))
		require.Zero(t, log.count("did not end in time"))
		require.Empty(t, s.written())
		close(wake)
		synctest.Wait()
		require.EqualValues(t, 1, msg.abandoned.Load())
		require.Zero(t, msg.done.Load())
	})
}

func TestFlight_AHandlerThatHungBeforeTheDrainHasItsOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
			<-wake
			return media.Result{}, nil
		}))
		require.NoError(t, c.Start(t.Context()))
		e := envelope(1)
		e.Timeout, e.RetryMax = time.Second, 0
		msg := k.member(acmeNormal).deliver(message(s.wants(e), ""))
		time.Sleep(2 * time.Second)
		c.Stop()
		require.EqualValues(t, 1, msg.done.Load())
		require.Equal(t, task.Failed, s.written()[0].State, "it had no attempt left")
		close(wake)
	})
}

func TestFlight_AnOrderEndsWorkBeforeItAndDuringIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		order := &interruption{verdict: verdict{state: task.Cancelled, text: "cancelled by Ann"}}
		causes := make(chan error, 1)
		c, s, k := newFaked(t,
			handler("acme.report", func(ctx context.Context, _ media.Work) (media.Result, error) {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return media.Result{Calls: 3}, ctx.Err()
			}),
			handler("acme.finishes", func(ctx context.Context, _ media.Work) (media.Result, error) {
				<-ctx.Done()
				return media.Result{}, nil
			}),
		)
		s.stops = []task.Stop{{ID: task.NewRunID(time.Now()), Verb: task.Cancel, Kind: task.StopAccount, Target: "3"}}
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		finishes := envelope(2)
		finishes.Handler = "acme.finishes"
		m.deliver(message(s.wants(envelope(1)), ""))
		m.deliver(message(s.wants(finishes), ""))
		m.deliver(message(s.wants(envelope(3)), ""))
		synctest.Wait()
		flights := c.flights.all()
		require.Len(t, flights, 2, "the third never began")
		for _, f := range flights {
			f.interrupt(order)
		}
		c.Stop()
		require.ErrorIs(t, <-causes, order)
		got := map[int64]task.State{}
		for _, o := range s.written() {
			got[o.AccountID] = o.State
			if o.AccountID == 1 {
				require.Equal(t, []any{"cancelled by Ann", 3}, []any{o.ErrorText, o.Calls})
			}
		}
		require.Equal(t, map[int64]task.State{1: task.Cancelled, 2: task.Succeeded, 3: task.Cancelled}, got,
			"what is done is done")
		require.Empty(t, c.flights.all())
	})
}

func TestFlight_OneLineForABugHoweverOftenItStrikes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result,
			error) {
			panic("index out of range")
		}))
		var log lines
		c.logTo(&log)
		require.NoError(t, c.Start(t.Context()))
		for i := range int64(50) {
			k.member(acmeNormal).deliver(message(s.wants(envelope(i+1)), ""))
		}
		synctest.Wait()
		c.Stop()
		require.Len(t, s.written(), 50)
		require.Equal(t, 1, log.count("a handler panicked"))
		require.Positive(t, log.count("goroutine"), "with where it is")
	})
}

// A subtask may make several calls at a time: its one slot is lent while any of them waits for a limit, and taken
// back when none waits.
func TestFlight_LendsItsSlotOnceHoweverManyCallsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pool{slots: newSlots(1, func(int) {})}
		require.NoError(t, p.slots.acquire(t.Context(), 0))
		f := &flight{p: p, begun: func() {}}
		first, second, quick := f.wait(), f.wait(), f.wait()
		quick()
		time.Sleep(lendAfter - time.Millisecond)
		synctest.Wait()
		require.Zero(t, p.slots.waiting(), "a call that nothing holds back waits for less")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, p.slots.waiting())
		first()
		require.Equal(t, 1, p.slots.waiting(), "another call still waits")
		second()
		require.Zero(t, p.slots.waiting())
		again := f.wait()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, p.slots.waiting())
		again()
		require.Zero(t, p.slots.waiting())
	})
}

func TestFlight_YieldsWhenOthersNeedItsPlace(t *testing.T) {
	t.Parallel()
	m := &fakeMessage{}
	c, _, _ := newFaked(t)
	f := &flight{p: &pool{c: c}, s: subtask{message: m, Envelope: envelope(1)}}
	require.False(t, f.yields())
	m.holdsUp.Store(true)
	require.True(t, f.yields(), "its partition is full")
	m.holdsUp.Store(false)
	now := time.Now()
	drains := exclusion.Floor{Media: "acme", Lane: "normal", Scope: task.OverLane, FrontAt: now, Drain: time.Minute}
	c.floors.apply(exclusion.Reading{Now: now, Floors: []exclusion.Floor{drains}})
	require.True(t, f.yields(), "an exclusive subtask waits for it")
	c.floors.apply(exclusion.Reading{Now: now})
	require.False(t, f.yields())
}
