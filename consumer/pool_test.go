package consumer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/media"
)

func TestPool_ItsCapacityIsThatOfItsSlotsAndOfWhatRunsBeyondThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := newFaked(t)
		p, err := newPool(c, acmeNormal, settings.Lane{PoolSize: 4})
		require.NoError(t, err)
		defer p.release()
		require.Equal(t, 4, p.workers.Cap())

		require.NoError(t, p.slots.acquire(t.Context(), 0))
		require.Equal(t, 4, p.workers.Cap(), "a slot in use is a worker in use")
		p.slots.lend()
		require.Equal(t, 5, p.workers.Cap(), "a subtask that waits for a call limit keeps its worker while its slot is lent")
		p.slots.hang(2)
		require.Equal(t, 7, p.workers.Cap(), "a handler that hangs keeps its worker")
		p.resize(t.Context(), settings.Lane{PoolSize: 9})
		require.Equal(t, 12, p.workers.Cap())
		release := p.slots.seize()
		require.Equal(t, 13, p.workers.Cap(), "an exclusive subtask gets a worker whatever hangs")

		release()
		require.Equal(t, 12, p.workers.Cap())
		p.slots.takeBack()
		require.Equal(t, 11, p.workers.Cap())
		p.slots.hang(-2)
		require.Equal(t, 9, p.workers.Cap())
		p.resize(t.Context(), settings.Lane{PoolSize: 1})
		require.Equal(t, 1, p.workers.Cap())
		p.slots.release()
		used, _ := p.slots.state()
		require.Zero(t, used)
	})
}

// A subtask has a lent slot, and the slot's owner takes it back before the subtask has a worker.
func TestPool_ASubtaskThatIsRefusedAWorkerIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, stops := range []bool{false, true} {
		name := "and runs when a worker is free"
		if stops {
			name = "and is left to the next owner of its partition when the consumer stops"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ran, wake := make(chan int64, 2), make(chan struct{})
				c, s, k := newFaked(t, handler("acme.report", func(_ context.Context, w media.Work) (media.Result, error) {
					ran <- w.AccountID
					<-wake
					return media.Result{}, nil
				}))
				s.lanes[0].PoolSize = 1
				require.NoError(t, c.Start(t.Context()))
				p, m := c.open()[0], k.member(acmeNormal)
				m.deliver(message(s.wants(envelope(1)), ""))
				synctest.Wait()
				p.slots.lend()
				p.workers.Tune(1) // What takeBack does, once the other subtask has the slot.
				refused := make(chan *fakeEnding, 1)
				second := message(s.wants(envelope(2)), "")
				go func() { refused <- m.deliver(second) }()
				time.Sleep(time.Second)
				synctest.Wait()
				require.Len(t, ran, 1, "the one worker is in use")
				require.Empty(t, refused, "nothing more is read meanwhile")
				used, _ := p.slots.state()
				require.Equal(t, 2, used)
				p.slots.takeBack()

				stopped := make(chan struct{})
				stop := func() {
					c.Stop()
					close(stopped)
				}
				if stops {
					go stop()
					time.Sleep(submitPauseMax)
					synctest.Wait()
					e := <-refused
					require.EqualValues(t, 1, e.abandoned.Load())
					require.Zero(t, e.done.Load())
					used, _ = p.slots.state()
					require.Equal(t, 1, used, "it has returned its slot")
					close(wake)
				} else {
					close(wake)
					time.Sleep(submitPauseMax + c.cfg.OutcomeInterval)
					synctest.Wait()
					e := <-refused
					require.EqualValues(t, 1, e.done.Load())
					require.Zero(t, e.abandoned.Load())
					go stop()
				}
				<-stopped
				used, _ = p.slots.state()
				require.Zero(t, used)
				if stops {
					require.Len(t, s.written(), 1, "the outcome of the subtask that ran")
				} else {
					require.Len(t, s.written(), 2)
				}
			})
		})
	}
}
