package outcomes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// topic is a topic of outcomes.
type topic struct {
	t      *testing.T
	name   string
	addr   string
	client *broker.Client

	mu       sync.Mutex
	problems []error
}

func newTopic(t *testing.T) *topic {
	t.Helper()
	b := brokertest.New(t, "adsync.outcomes")
	return &topic{t: t, name: b.Topic("adsync.outcomes"), addr: b.Addr(), client: b.Client(t, nil)}
}

// write writes outcomes of application shop, in order.
func (p *topic) write(key string, seqs ...int64) {
	p.t.Helper()
	for _, seq := range seqs {
		p.writeOf("shop", key, seq)
	}
}

func (p *topic) writeOf(application, key string, seq int64) {
	p.t.Helper()
	value, err := json.Marshal(Outcome{Seq: seq, Application: application, Task: "daily", State: Succeeded})
	require.NoError(p.t, err)
	_, err = p.client.Write(p.t.Context(), []broker.Message{{Topic: p.name, Key: []byte(key), Value: value}})
	require.NoError(p.t, err)
}

// followed collects what a follower is given.
type followed struct {
	mu  sync.Mutex
	met []string
}

func (f *followed) add(o Outcome) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.met = append(f.met, fmt.Sprintf("%s %d", o.Key, o.Seq))
	return len(f.met)
}

// follow follows until it was given n outcomes, and returns these sorted.
func (p *topic) follow(n int) []string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	var f followed
	err := Follow(ctx, p.config(), func(_ context.Context, o Outcome) error {
		if f.add(o) == n {
			cancel()
		}
		return nil
	})
	require.NoError(p.t, err)
	slices.Sort(f.met)
	return f.met
}

func (p *topic) config() Config {
	return Config{Brokers: []string{p.addr}, Topic: p.name, Group: p.name + ".g", Application: "shop",
		Problem: func(err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.problems = append(p.problems, err)
		}}
}

func TestFollow_DropsDoublesAndOthersOutcomes(t *testing.T) {
	t.Parallel()
	p := newTopic(t)
	p.write("7/1", 1, 2, 1, 2, 3)
	p.write("7/2", 1)
	p.writeOf("other", "8/1", 1)
	p.write("7/2", 1, 2)
	require.Equal(t, []string{"7/1 1", "7/1 2", "7/1 3", "7/2 1", "7/2 2"}, p.follow(5))
}

func TestFollow_ContinuesAfterTheLastHandledOne(t *testing.T) {
	t.Parallel()
	p := newTopic(t)
	p.write("7/1", 1, 2, 3)
	require.Equal(t, []string{"7/1 1", "7/1 2"}, p.follow(2), "the second one was handled when it ended")

	// An outcome that could not be handled comes again.
	full := errors.New("the disk is full")
	err := Follow(t.Context(), p.config(), func(_ context.Context, o Outcome) error {
		if o.Seq == 3 {
			return full
		}
		return nil
	})
	require.ErrorIs(t, err, full)
	require.ErrorContains(t, err, "handle the outcome 3 of 7/1")
	p.write("7/1", 4)
	got := p.follow(2)
	require.Equal(t, []string{"7/1 3", "7/1 4"}, got[len(got)-2:])
}

func TestFollow_LeavesOutMessagesThatAreNoOutcomes(t *testing.T) {
	t.Parallel()
	p := newTopic(t)
	for _, text := range []string{"hello", `{"run_id": "7"}`} {
		_, err := p.client.Write(t.Context(), []broker.Message{{Topic: p.name, Key: []byte("7/1"), Value: []byte(text)}})
		require.NoError(t, err)
	}
	p.write("7/1", 1)
	require.Equal(t, []string{"7/1 1"}, p.follow(1))
	// Brokers that are not ready yet are a problem too.
	left := slices.DeleteFunc(p.problems, func(err error) bool { return !strings.Contains(err.Error(), "is no outcome") })
	require.Len(t, left, 2)
	require.ErrorContains(t, left[0], "message 0 of partition")
	require.ErrorContains(t, left[1], "it has no seq")
	require.ErrorContains(t, Follow(t.Context(), Config{Group: "g"}, nil), "Brokers")
}

// The topic is made with the first outcome, and the program may have been started before.
func TestFollow_WaitsForItsTopic(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	p := &topic{t: t, name: b.Topic("adsync.outcomes"), addr: b.Addr(), client: b.Client(t, nil)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	waits := make(chan struct{})
	var once sync.Once
	var f followed
	cfg := p.config()
	cfg.Problem = func(err error) {
		t.Log(err)
		once.Do(func() { close(waits) })
	}
	done := make(chan error, 1)
	go func() {
		done <- Follow(ctx, cfg, func(_ context.Context, o Outcome) error {
			f.add(o)
			cancel()
			return nil
		})
	}()
	select {
	case <-waits:
	case <-ctx.Done():
	}
	require.NoError(t, p.client.EnsureTopics(t.Context(), []broker.Topic{{Name: p.name}}))
	p.write("7/1", 1)
	require.NoError(t, <-done)
	require.Equal(t, []string{"7/1 1"}, f.met)
}
