package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fence is the deciding row and its guarded writes, behind paths that can be blocked: a request or an answer on a
// blocked path waits until the path is free.
type fence struct {
	row
	mu     sync.Mutex
	held   map[string]chan struct{} // by holder; closed when its path is free again
	writes []Lease                  // the accepted ones, in order
}

func newFence() *fence {
	return &fence{row: row{cut: map[string]bool{}}, held: map[string]chan struct{}{}}
}

func (f *fence) holdUp(holder string, hold bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch way, held := f.held[holder]; {
	case hold && !held:
		f.held[holder] = make(chan struct{})
	case !hold && held:
		close(way)
		delete(f.held, holder)
	}
}

// pass waits until the holder's path is free, however long that takes.
func (f *fence) pass(holder string) {
	for {
		f.mu.Lock()
		way, held := f.held[holder]
		f.mu.Unlock()
		if !held {
			return
		}
		<-way
	}
}

func (f *fence) Campaign(ctx context.Context, holder string, ttl time.Duration) (Lease, time.Duration, error) {
	f.pass(holder)
	l, free, err := f.row.Campaign(ctx, holder, ttl)
	f.pass(holder)
	return l, free, err
}

func (f *fence) Renew(ctx context.Context, l Lease, ttl time.Duration) error {
	f.pass(l.Holder)
	err := f.row.Renew(ctx, l, ttl)
	f.pass(l.Holder)
	return err
}

func (f *fence) Resign(ctx context.Context, l Lease) error {
	f.pass(l.Holder)
	return f.row.Resign(ctx, l)
}

// write is a guarded write. Only the row accepts it.
func (f *fence) write(l Lease) error {
	f.pass(l.Holder)
	f.row.mu.Lock()
	defer f.row.mu.Unlock()
	switch {
	case f.cut[l.Holder]:
		return errCut
	case f.lease != l:
		return ErrStaleLease
	}
	f.writes = append(f.writes, l)
	return nil
}

func (f *fence) written() int {
	f.row.mu.Lock()
	defer f.row.mu.Unlock()
	return len(f.writes)
}

// process is a producer whose only work is guarded writes. A deaf one does not notice that its term has ended: like a
// process that was paused and resumed, it leads until a write is refused.
type process struct {
	*Elector
	deaf bool
	end  chan struct{}
}

func (f *fence) start(t *testing.T, deaf bool) *process {
	t.Helper()
	p := &process{deaf: deaf, end: make(chan struct{})}
	p.Elector = New(f, ttl, func(ctx context.Context, l Lease) error {
		for {
			if err := f.write(l); errors.Is(err, ErrStaleLease) {
				return err
			}
			done := ctx.Done()
			if p.deaf {
				done = nil
			}
			select {
			case <-done:
				return nil
			case <-p.end:
				return nil
			case <-time.After(100 * time.Millisecond):
			}
		}
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, p.Start(t.Context()))
	return p
}

// interleaved returns an error for a write of a term after one of a later term, or for a term of two holders.
func (f *fence) interleaved() error {
	f.row.mu.Lock()
	defer f.row.mu.Unlock()
	holders := map[int64]string{}
	newest := int64(0)
	for i, l := range f.writes {
		if l.Epoch < newest {
			return fmt.Errorf("write %d is of epoch %d, after one of epoch %d", i, l.Epoch, newest)
		}
		if holder, known := holders[l.Epoch]; known && holder != l.Holder {
			return fmt.Errorf("epoch %d is of two holders", l.Epoch)
		}
		holders[l.Epoch], newest = l.Holder, l.Epoch
	}
	return nil
}

// event happens to a process after so many milliseconds.
type event struct {
	after  int
	victim int
	what   string
}

// Whatever happens to the producers (blocked beyond their lease during a renewal or a write, deaf to the end of their
// term, cut off from the database, all of them for a time), the writes of two terms never interleave, and within 15 s
// after the last event a producer writes again.
func TestElector_TermsNeverInterleave(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		deaf := rapid.SliceOfN(rapid.Bool(), 1, 4).Draw(rt, "deaf")
		events := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) event {
			return event{
				after:  rapid.IntRange(0, 20_000).Draw(rt, "after"),
				victim: rapid.IntRange(0, len(deaf)-1).Draw(rt, "victim"),
				what:   rapid.SampledFrom([]string{"hold up", "let go", "cut off", "join", "stop"}).Draw(rt, "what"),
			}
		}), 0, 30).Draw(rt, "events")
		var broken error
		synctest.Test(t, func(t *testing.T) { broken = befall(t, deaf, events) })
		require.NoError(rt, broken)
	})
}

func befall(t *testing.T, deaf []bool, events []event) error {
	t.Helper()
	f := newFence()
	processes := make([]*process, len(deaf))
	stopped := 0
	for i, d := range deaf {
		processes[i] = f.start(t, d)
	}
	for _, e := range events {
		<-time.After(time.Duration(e.after) * time.Millisecond)
		p := processes[e.victim]
		switch e.what {
		case "hold up":
			f.holdUp(p.holder, true)
		case "let go":
			f.holdUp(p.holder, false)
		case "cut off":
			f.cutOff(p.holder, true)
		case "join":
			f.cutOff(p.holder, false)
		case "stop":
			if stopped < len(processes)-1 { // one remains to lead
				select {
				case <-p.end:
				default:
					stopped++
					close(p.end)
					go p.Stop()
				}
			}
		}
	}
	for _, p := range processes {
		f.holdUp(p.holder, false)
		f.cutOff(p.holder, false)
	}
	<-time.After(15 * time.Second)
	before := f.written()
	<-time.After(time.Second)
	var idle error
	if f.written() == before {
		idle = errors.New("no producer writes, though all is healthy")
	}
	for _, p := range processes {
		select {
		case <-p.end:
		default:
			close(p.end)
		}
		p.Stop()
	}
	return errors.Join(idle, f.interleaved())
}

// A leader is paused for longer than its lease, during a renewal and a write, and then resumed: both come too late.
func TestElector_ARenewalThatArrivesLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFence()
		first := f.start(t, true)
		synctest.Wait()
		second := f.start(t, false)
		<-time.After(time.Minute)
		f.holdUp(first.holder, true)
		paused := time.Now()
		for l, _ := f.state(); l.Holder == first.holder; l, _ = f.state() {
			<-time.After(10 * time.Millisecond)
		}
		require.LessOrEqual(t, time.Since(paused), 15*time.Second, "the other one takes over")
		<-time.After(20 * time.Second)
		f.holdUp(first.holder, false)
		<-time.After(2 * time.Second)
		_, leading := first.Current()
		require.False(t, leading)
		l, _ := f.state()
		require.Equal(t, second.holder, l.Holder, "the late renewal changed nothing")
		require.NoError(t, f.interleaved())
		close(first.end)
		close(second.end)
		first.Stop()
		second.Stop()
	})
}

// While the database is away no process leads, and after its return no process is waited for.
func TestElector_TheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFence()
		processes := []*process{f.start(t, false), f.start(t, false), f.start(t, false)}
		<-time.After(time.Minute)
		for _, p := range processes {
			f.cutOff(p.holder, true)
		}
		<-time.After(ttl)
		for _, p := range processes {
			_, leading := p.Current()
			require.False(t, leading, "a lease that cannot be renewed is not relied on")
		}
		<-time.After(time.Minute)
		before := f.written()
		for _, p := range processes {
			f.cutOff(p.holder, false)
		}
		<-time.After(2 * time.Second)
		require.Greater(t, f.written(), before)
		require.NoError(t, f.interleaved())
		for _, p := range processes {
			close(p.end)
			p.Stop()
		}
	})
}
