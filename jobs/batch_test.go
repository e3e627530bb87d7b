package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
)

// writes records the items of each write, which takes a second.
type writes struct {
	mu  sync.Mutex
	all [][]int
}

func (w *writes) write(_ context.Context, items []int) error {
	time.Sleep(time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, slices.Clone(items))
	switch {
	case slices.Contains(items, -1):
		return errors.New("the server is gone")
	case slices.Contains(items, -2):
		return &sqldb.TooLargeError{}
	}
	return nil
}

func TestBatch_WaitingItemsShareTheNextWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &writes{}
		b := &batch[int]{write: w.write, size: func(int) int { return 1 }}
		began := time.Now()
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				require.NoError(t, b.do(t.Context(), i))
			})
		}
		all.Wait()
		require.Len(t, w.all, batchWriters+1, "the first go alone, all others together")
		require.Less(t, time.Since(began), 3*time.Second)
		b.wait()
	})
}

func TestBatch_BoundsOfAWrite(t *testing.T) {
	t.Parallel()
	b := &batch[int]{size: func(n int) int { return n }}
	b.waiting = []entry[int]{{items: make([]int, batchItems-1), bytes: 1}, {items: make([]int, 1), bytes: 1},
		{items: make([]int, 1), bytes: batchBytes + 1}, {items: make([]int, 1), bytes: batchBytes},
		{items: make([]int, batchItems+1), bytes: 1}}
	b.running = 1
	var taken []int
	for {
		n := len(b.take())
		if n == 0 {
			break
		}
		taken = append(taken, n)
	}
	require.Equal(t, []int{2, 1, 1, 1}, taken)
	require.Zero(t, b.running)
}

func TestBatch_AnErrorIsOfAllThatShareIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &writes{}
		b := &batch[int]{write: w.write, size: func(int) int { return 1 }}
		failed := make(chan error, 10)
		for i := range 10 {
			go func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				failed <- b.do(t.Context(), i-6)
			}()
		}
		ok := 0
		for range 10 {
			if <-failed == nil {
				ok++
			}
		}
		require.Equal(t, batchWriters, ok)
		b.wait()
	})
}

func TestBatch_ATooLargeItemFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &writes{}
		b := &batch[int]{write: w.write, size: func(int) int { return 1 }}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				item := i
				if i == 7 {
					item = -2
				}
				require.Equal(t, i == 7, b.do(t.Context(), item) != nil)
			})
		}
		all.Wait()
		b.wait()
	})
}

func TestBatch_ACallerMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &writes{}
		b := &batch[int]{write: w.write, size: func(int) int { return 1 }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, b.do(ctx, 1), context.DeadlineExceeded)
		b.wait()
		require.Equal(t, [][]int{{1}}, w.all, "it is written all the same")
	})
}
