package consumer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

// gang is some consumers whose partitions always have work. It records what runs.
type gang struct {
	t   *testing.T
	ctx context.Context
	job func() time.Duration

	members []member

	mu    sync.Mutex
	runs  map[string]int // by consumer
	most  int            // at a time
	begun []int          // partitions, in order
}

// member is a consumer of a gang.
type member struct {
	*workersLimit
	lossy *lossy
}

func newGang(t *testing.T, job func() time.Duration) *gang {
	t.Helper()
	return &gang{t: t, ctx: t.Context(), job: job, runs: map[string]int{}}
}

// join adds a consumer with some partitions.
func (g *gang) join(client goredis.UniversalClient, keys redis.Keys, size, limit int, partitions ...int) member {
	g.t.Helper()
	hook := &lossy{}
	if client != nil {
		client.AddHook(hook)
	}
	g.mu.Lock()
	name := fmt.Sprintf("n@%d/a", len(g.runs))
	g.runs[name] = 0
	g.mu.Unlock()
	s := newSlots(size, func(int) {})
	l := newWorkersLimit(s, &claims{client: client, keys: keys, node: name, clock: clock.System{}, causes: noCauses()},
		acmeNormal)
	l.set(g.ctx, limit)
	for _, p := range partitions {
		go g.read(name, s, p)
	}
	m := member{l, hook}
	g.members = append(g.members, m)
	return m
}

// end ends the consumers and their work.
func (g *gang) end(cancel context.CancelFunc) {
	cancel()
	for _, m := range g.members {
		m.set(g.ctx, 0)
	}
}

// read is the goroutine of a partition.
func (g *gang) read(name string, s *slots, partition int) {
	for s.acquire(g.ctx, partition) == nil {
		g.mu.Lock()
		g.runs[name]++
		g.begun = append(g.begun, partition)
		g.most = max(g.most, g.sum())
		g.mu.Unlock()
		go func() {
			timer := time.NewTimer(g.job())
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-g.ctx.Done():
			}
			g.mu.Lock()
			g.runs[name]--
			g.mu.Unlock()
			s.release()
		}()
	}
}

func (g *gang) sum() (n int) {
	for _, r := range g.runs {
		n += r
	}
	return n
}

// now returns how many subtasks run, the most that ran at a time since the last call, and the partitions of those that
// began since then.
func (g *gang) now() (running, most int, begun []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	running, most, begun = g.sum(), g.most, g.begun
	g.most, g.begun = running, nil
	return running, most, begun
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// virtually runs test in a bubble, with a gang that ends before the bubble does, also when the test fails.
func virtually(t *testing.T, job func() time.Duration, test func(g *gang, client func() goredis.UniversalClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := redistest.NewVirtual(t)
		g := newGang(t, job)
		ctx, cancel := context.WithCancel(t.Context())
		g.ctx = ctx
		defer synctest.Wait()
		defer g.end(cancel)
		test(g, func() goredis.UniversalClient { return r.Client(t) })
	})
}

var testKeys = redis.NewKeys("test")

func TestWorkersLimit_PartitionsTakeTurns(t *testing.T) {
	t.Parallel()
	for range 3 {
		virtually(t, func() time.Duration { return time.Duration(rand.IntN(300)) * time.Millisecond },
			func(g *gang, client func() goredis.UniversalClient) {
				limit := 1 + rand.IntN(3)
				partitions := 0
				for range 2 + rand.IntN(3) {
					var mine []int
					for range 1 + rand.IntN(5) {
						mine = append(mine, partitions)
						partitions++
					}
					g.join(client(), testKeys, limit+rand.IntN(4), limit, mine...)
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				_, most, begun := g.now()
				require.LessOrEqual(g.t, most, limit)
				require.Greater(g.t, len(begun), 60)
				// A partition asks again a moment after its subtask began: as many others as there are places may come
				// between. Those that get their places at the same moment begin in any order.
				window := partitions + limit + limit - 1
				for i := partitions; i+window <= len(begun); i++ {
					seen := slices.Compact(slices.Sorted(slices.Values(begun[i : i+window])))
					require.Len(g.t, seen, partitions, "limit %d, subtasks %v", limit, begun[i:i+window])
				}
			})
	}
}

func TestWorkersLimit_OneWithoutRoomKeepsItsTurnAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	virtually(t, always(time.Second), func(g *gang, client func() goredis.UniversalClient) {
		g.join(client(), testKeys, 1, 4, 0, 1, 2)
		g.join(client(), testKeys, 8, 4, 3)
		time.Sleep(time.Minute)
		synctest.Wait()
		running, most, begun := g.now()
		require.Equal(g.t, []int{4, 4}, []int{running, most}, "the large one has what the small one cannot use")
		turns := map[int]int{}
		for _, p := range begun {
			turns[p]++
		}
		require.InDelta(g.t, turns[0], turns[1], 1)
		require.InDelta(g.t, turns[0], turns[2], 1)
	})
}

func TestWorkersLimit_Changes(t *testing.T) {
	t.Parallel()
	virtually(t, always(10*time.Second), func(g *gang, client func() goredis.UniversalClient) {
		a, b := g.join(client(), testKeys, 10, 0, 0), g.join(client(), testKeys, 10, 0, 1)
		step := func(limit, want int, why string) {
			g.t.Helper()
			for _, m := range []member{a, b} {
				require.True(g.t, m.set(g.ctx, limit))
				require.False(g.t, m.set(g.ctx, limit))
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			running, _, _ := g.now()
			require.Equal(g.t, want, running, why)
		}
		synctest.Wait()
		running, _, _ := g.now()
		require.Equal(g.t, 20, running, "no limit but those of the pools")
		step(6, 20, "what runs continues")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		running, _, _ = g.now()
		require.Equal(g.t, 6, running)
		step(8, 8, "up")
		step(5, 8, "down")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		running, _, _ = g.now()
		require.Equal(g.t, 5, running)
		step(0, 20, "no limit again")
	})
}

func TestWorkersLimit_PlacesOfOneThatDiesAreFreeAfterAWhile(t *testing.T) {
	t.Parallel()
	virtually(t, always(time.Hour), func(g *gang, client func() goredis.UniversalClient) {
		dies := g.join(client(), testKeys, 3, 3, 0)
		time.Sleep(time.Second)
		g.join(client(), testKeys, 3, 3, 1)
		time.Sleep(5 * time.Second)
		running, _, _ := g.now()
		require.Equal(g.t, 3, running)
		dies.lossy.cut.Store(true) // Its last request, which withdraws its report, does not arrive.
		dies.stop()
		<-dies.done
		time.Sleep(limitTTL + limitRenew)
		synctest.Wait()
		running, _, begun := g.now()
		require.Equal(g.t, 6, running, "the three of the dead one still count here")
		require.Equal(g.t, []int{1, 1, 1}, begun)
	})
}

// What a consumer that was paused may exceed is what it ran before.
func TestWorkersLimit_OneThatWasPausedExceedsItByWhatItRan(t *testing.T) {
	t.Parallel()
	virtually(t, always(30*time.Second), func(g *gang, client func() goredis.UniversalClient) {
		paused := g.join(client(), testKeys, 9, 3, 0)
		time.Sleep(time.Second)
		g.join(client(), testKeys, 9, 3, 1)
		time.Sleep(5 * time.Second)
		_, most, _ := g.now()
		require.Equal(g.t, 3, most)
		paused.lossy.cut.Store(true)
		time.Sleep(limitTTL + 3*time.Second)
		synctest.Wait()
		_, most, begun := g.now()
		require.Equal(g.t, 6, most, "its three places were given to the other one, and what it ran continues")
		require.Equal(g.t, []int{1, 1, 1}, begun)
		paused.lossy.cut.Store(false)
		time.Sleep(10 * time.Second) // its three have not ended yet
		synctest.Wait()
		running, most, begun := g.now()
		require.Equal(g.t, []int{6, 6}, []int{running, most})
		require.Empty(g.t, begun, "nothing begins until the sum is below the limit")
		time.Sleep(time.Minute)
		synctest.Wait()
		running, most, _ = g.now()
		require.Equal(g.t, []int{3, 6}, []int{running, most})
	})
}

func TestWorkersLimit_WithoutRedisEachKeepsToItsPart(t *testing.T) {
	t.Parallel()
	virtually(t, always(time.Second), func(g *gang, client func() goredis.UniversalClient) {
		a, b := g.join(client(), testKeys, 9, 5, 0, 1), g.join(client(), testKeys, 9, 5, 2)
		time.Sleep(10 * time.Second)
		a.lossy.cut.Store(true)
		b.lossy.cut.Store(true)
		time.Sleep(10 * time.Second)
		g.now()
		time.Sleep(10*time.Second + 500*time.Millisecond)
		running, most, _ := g.now()
		require.Equal(g.t, []int{4, 4}, []int{running, most}, "half of five, which is two, for each")
	})
	virtually(t, always(time.Second), func(g *gang, _ func() goredis.UniversalClient) {
		g.join(nil, testKeys, 9, 2, 0, 1, 2)
		time.Sleep(10*time.Second + 500*time.Millisecond)
		running, most, begun := g.now()
		require.Equal(g.t, []int{2, 2}, []int{running, most}, "a single process needs no Redis")
		require.Subset(g.t, begun, []int{0, 1, 2})
	})
}

// A request that was given up, and that Redis executes after a later one, changes nothing.
func TestWorkersLimit_AReportThatArrivesLateIsDropped(t *testing.T) {
	t.Parallel()
	virtually(t, always(time.Hour), func(g *gang, client func() goredis.UniversalClient) {
		m := g.join(client(), testKeys, 3, 3, 0)
		time.Sleep(5 * time.Second)
		c, keys := client(), m.keys()
		before := c.HGetAll(g.ctx, keys[0]).Val()
		require.Len(g.t, before, 1)
		answer, err := workersLimitScript.Run(g.ctx, c, keys, m.claims.node, m.reports, 0, 9, 3, 5000, 0, 1).Int64Slice()
		require.NoError(g.t, err)
		require.Equal(g.t, []int64{0}, answer)
		require.Equal(g.t, before, c.HGetAll(g.ctx, keys[0]).Val())
		m.set(g.ctx, 0)
		require.Empty(g.t, c.HGetAll(g.ctx, keys[0]).Val(), "the places of one that leaves are free at once")
	})
}

func TestWorkersLimit_HoldsOnAServer(t *testing.T) {
	t.Parallel()
	client, keys := redistest.New(t)
	g := newGang(t, func() time.Duration { return time.Duration(rand.IntN(3)) * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	g.ctx = ctx
	defer g.end(cancel)
	for i := range 4 {
		g.join(client, keys, 3, 5, 2*i, 2*i+1)
	}
	var begun []int
	most := 0
	require.Eventually(t, func() bool {
		_, reached, more := g.now()
		begun, most = append(begun, more...), max(most, reached)
		return len(begun) >= 150
	}, patience, 10*time.Millisecond)
	require.LessOrEqual(t, most, 5)
	for p := range 8 {
		require.Contains(t, begun, p)
	}
}
