package lease

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = 12 * time.Second

// row is the deciding row. The bubble's clock is the database's.
type row struct {
	mu      sync.Mutex
	lease   Lease
	expires time.Time
	cut     map[string]bool // holders that do not reach the database
	answers time.Duration   // how long the answer to a campaign takes
	renews  int
}

var errCut = errors.New("connection refused")

func (r *row) Campaign(ctx context.Context, holder string, ttl time.Duration) (Lease, time.Duration, error) {
	l, free, err := r.campaign(holder, ttl)
	select {
	case <-ctx.Done():
		return Lease{}, 0, ctx.Err()
	case <-time.After(r.answers):
		return l, free, err
	}
}

func (r *row) campaign(holder string, ttl time.Duration) (Lease, time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut[holder] {
		return Lease{}, 0, errCut
	}
	if free := time.Until(r.expires); free > 0 && r.lease.Holder != holder {
		return Lease{}, free, nil
	}
	r.lease = Lease{Epoch: r.lease.Epoch + 1, Holder: holder}
	r.expires = time.Now().Add(ttl)
	return r.lease, 0, nil
}

func (r *row) Renew(_ context.Context, l Lease, ttl time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut[l.Holder] {
		return errCut
	}
	if r.lease != l {
		return ErrStaleLease
	}
	r.renews++
	r.expires = time.Now().Add(ttl)
	return nil
}

func (r *row) Resign(_ context.Context, l Lease) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut[l.Holder] {
		return errCut
	}
	if r.lease == l {
		r.lease.Holder, r.expires = "", time.Now()
	}
	return nil
}

func (r *row) cutOff(holder string, cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut[holder] = cut
}

// worker is the leader's work. It records when each term began and ended.
type worker struct {
	mu     sync.Mutex
	epochs []int64
	active int
	refuse error // what the work returns at once
}

func (w *worker) lead(ctx context.Context, l Lease) error {
	w.mu.Lock()
	w.epochs = append(w.epochs, l.Epoch)
	refuse := w.refuse
	w.active++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.active--
		w.mu.Unlock()
	}()
	if refuse != nil {
		return refuse
	}
	<-ctx.Done()
	return ctx.Err()
}

func (w *worker) leads() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active > 0
}

// terms returns the epochs of the terms that were led.
func (w *worker) terms() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.epochs)
}

// state returns the present lease and the number of renewals.
func (r *row) state() (Lease, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease, r.renews
}

func setup() (*row, *worker, *Elector) {
	r := &row{cut: map[string]bool{}}
	w := &worker{}
	return r, w, New(r, ttl, w.lead, slog.New(slog.DiscardHandler))
}

func (r *row) another() (*worker, *Elector) {
	w := &worker{}
	return w, New(r, ttl, w.lead, slog.New(slog.DiscardHandler))
}

func TestElector_LeadsAndKeepsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w, e := setup()
		require.NoError(t, e.Start(t.Context()))
		synctest.Wait()
		require.True(t, w.leads())
		l, ok := e.Current()
		require.True(t, ok)
		require.EqualValues(t, 1, l.Epoch)
		<-time.After(time.Hour)
		require.Equal(t, []int64{1}, w.terms(), "one term the whole time")
		_, renews := r.state()
		require.Greater(t, renews, 1000)
		e.Stop()
		e.Stop()
		require.False(t, w.leads())
		_, ok = e.Current()
		require.False(t, ok)
	})
}

func TestElector_AFollowerReplacesAKilledLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w1, e1 := setup()
		require.NoError(t, e1.Start(t.Context()))
		synctest.Wait()
		w2, e2 := r.another()
		require.NoError(t, e2.Start(t.Context()))
		defer e2.Stop()
		<-time.After(time.Minute)
		require.False(t, w2.leads())

		// It is cut off just after a renewal: the worst moment.
		_, before := r.state()
		for renews := before; renews == before; _, renews = r.state() {
			<-time.After(10 * time.Millisecond)
		}
		r.cutOff(e1.holder, true)
		killed := time.Now()
		for !w2.leads() {
			<-time.After(50 * time.Millisecond)
		}
		require.LessOrEqual(t, time.Since(killed), 15*time.Second)
		require.False(t, w1.leads(), "the old leader stopped before the new one began")
		require.Equal(t, []int64{2}, w2.terms())
		r.cutOff(e1.holder, false)
		e1.Stop()
	})
}

func TestElector_AFollowerTakesOverSoonAfterACleanStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _, e1 := setup()
		require.NoError(t, e1.Start(t.Context()))
		synctest.Wait()
		w2, e2 := r.another()
		require.NoError(t, e2.Start(t.Context()))
		defer e2.Stop()
		<-time.After(time.Minute + 300*time.Millisecond)
		e1.Stop()
		stopped := time.Now()
		for !w2.leads() {
			<-time.After(10 * time.Millisecond)
		}
		require.LessOrEqual(t, time.Since(stopped), 2*time.Second)
	})
}

func TestElector_StopResignsAWonTermWhoseAnswerIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w, e := setup()
		r.answers = time.Second
		require.NoError(t, e.Start(t.Context()))
		synctest.Wait()
		l, _ := r.state()
		require.Equal(t, e.holder, l.Holder, "won, and the answer is on its way")
		e.Stop()
		l, _ = r.state()
		require.Empty(t, l.Holder, "the next leader need not wait")
		require.False(t, w.leads())
	})
}

func TestElector_StopWaitsForTheWorkAndRenewsMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &row{cut: map[string]bool{}}
		var others func() int
		finished, otherLeaders := false, -1
		e := New(r, ttl, func(ctx context.Context, _ Lease) error {
			<-ctx.Done()
			<-time.After(30 * time.Second) // the batch in flight
			l, _ := r.state()
			finished, otherLeaders = l.Holder != "", others()
			return nil
		}, slog.New(slog.DiscardHandler))
		require.NoError(t, e.Start(t.Context()))
		synctest.Wait()
		w2, e2 := r.another()
		others = func() int { return len(w2.terms()) }
		require.NoError(t, e2.Start(t.Context()))
		defer e2.Stop()
		e.Stop()
		require.True(t, finished, "the lease was held to the end of the work")
		require.Zero(t, otherLeaders, "no other leader at the same time")
	})
}

func TestElector_CampaignsAgainAfterARefusedWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w, e := setup()
		w.refuse = ErrStaleLease
		require.NoError(t, e.Start(t.Context()))
		<-time.After(5 * time.Second)
		e.Stop()
		l, _ := r.state()
		require.Greater(t, len(w.terms()), 2)
		require.EqualValues(t, len(w.terms()), l.Epoch, "an epoch for each term")
	})
}

func TestElector_StopBeforeStart(t *testing.T) {
	t.Parallel()
	_, _, e := setup()
	e.Stop()
}
