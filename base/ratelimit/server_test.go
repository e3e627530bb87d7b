package ratelimit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
)

var errGone = errors.New("connection refused")

// answering is a common ledger whose answers come from a server that tests choose. It grants everything that is
// requested.
type answering struct {
	server   string
	fails    map[string]error // by media
	requests []grant.Request
	now      func() time.Time
}

func (l *answering) Request(_ context.Context, media string, a grant.Request) (grant.Answer, error) {
	if err := l.fails[media]; err != nil {
		return grant.Answer{}, err
	}
	l.requests = append(l.requests, a)
	out := grant.Answer{Server: l.server, Asked: l.now(), Answered: l.now(), Horizon: grant.Horizon}
	for _, w := range a.Wants {
		g := grant.Given{By: grant.None}
		for i := range w.Calls {
			g.Starts = append(g.Starts, grant.Start{Call: i})
		}
		out.Wants = append(out.Wants, g)
	}
	return out, nil
}

func (l *answering) Pause(context.Context, grant.Key, time.Duration) error { return nil }

func (l *answering) Listen(ctx context.Context, _ string, _ func(grant.Key, time.Duration), _ func(error)) {
	<-ctx.Done()
}

// processes are processes of a deployment, on a clock that tests set.
type processes struct {
	t       *testing.T
	at      time.Time
	witness *witnesses
	all     []*process
}

func newProcesses(t *testing.T) *processes {
	t.Helper()
	p := &processes{t: t, at: time.Unix(1_000_000_000, 0)}
	p.witness = newWitnesses(func() time.Time { return p.at })
	return p
}

// process is one process, and the ledger that it reaches.
type process struct {
	*processes
	common *answering
	ledger *fallbacks
}

func (p *processes) begin(name, server string) *process {
	now := func() time.Time { return p.at }
	common := &answering{server: server, fails: map[string]error{}, now: now}
	x := &process{p, common, &fallbacks{
		common: common, own: func() *grant.Memory { return grant.NewMemoryBy(now, testSpread, 2) }, timeout: time.Second,
		process: name, witness: p.witness,
		log: quiet, metrics: newMetrics(nil), byMedia: map[string]*fallback{},
	}}
	p.all = append(p.all, x)
	return x
}

// calls returns how many calls a process is granted within d, requesting one call to a media every 250 ms. The other
// processes exist and request none.
func (p *process) calls(media string, d time.Duration) (n int) {
	p.t.Helper()
	k := grant.Key{Media: media, Endpoint: "x", Scope: grant.ScopePlatform, Period: time.Second, Limit: 50, Share: 1}
	for end := p.at.Add(d); p.at.Before(end); p.at = p.at.Add(witnessEvery) {
		for _, x := range p.all {
			x.ledger.syncWitness(p.t.Context())
			if x != p {
				_, err := x.ledger.Request(p.t.Context(), media, grant.Request{})
				require.NoError(p.t, err)
			}
		}
		got, err := p.ledger.Request(p.t.Context(), media, some(1, k))
		require.NoError(p.t, err)
		n += len(got.Wants[0].Starts)
	}
	return n
}

func TestFallback_RedisAwayForOneMediaDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	p := newProcesses(t).begin("p", "a")
	require.Positive(t, p.calls("one", 5*time.Second))
	require.Positive(t, p.calls("other", 5*time.Second))
	require.NoError(t, p.ledger.trouble())
	p.common.fails["one"] = errGone
	require.Zero(t, p.calls("one", 2*time.Second), "earlier grants lapse")
	require.Equal(t, 8, p.calls("other", 2*time.Second), "all calls are granted")
	require.ErrorContains(t, p.ledger.trouble(), "one: away for 4s: connection refused")
	require.NotContains(t, p.ledger.trouble().Error(), "other")
	require.Positive(t, p.calls("one", 10*time.Second), "its own part")
	p.common.requests = nil
	delete(p.common.fails, "one")
	require.Equal(t, 8, p.calls("other", 2*time.Second))
	for _, a := range p.common.requests {
		require.False(t, a.Back, "the Redis of this one was never away")
	}
	require.Positive(t, p.calls("one", 10*time.Second))
	require.NoError(t, p.ledger.trouble())
}

func TestFallback_AProcessThatReachesTheOldServerMakesNoCalls(t *testing.T) {
	t.Parallel()
	all := newProcesses(t)
	stays, goes := all.begin("stays", "old"), all.begin("goes", "old")
	require.Positive(t, stays.calls("m", 5*time.Second))
	require.Positive(t, goes.calls("m", 5*time.Second))

	goes.common.server = "new"
	goes.common.requests = nil
	require.Zero(t, goes.calls("m", time.Second), "others may still be granted calls by the old server")
	require.True(t, goes.common.requests[1].Moved, "and the new server learns of the move")
	require.Zero(t, stays.calls("m", 10*time.Second), "it has read the witness")
	require.ErrorContains(t, stays.ledger.trouble(), othersServer)
	require.Positive(t, goes.calls("m", 5*time.Second))

	stays.common.server = "new"
	require.Zero(t, stays.calls("m", probeEvery-witnessEvery))
	require.Positive(t, stays.calls("m", 5*time.Second))
	require.NoError(t, stays.ledger.trouble())
}

func TestFallback_AServerThatCannotBeRecordedIsNotUsed(t *testing.T) {
	t.Parallel()
	p := newProcesses(t).begin("p", "old")
	require.Positive(t, p.calls("m", 5*time.Second))
	p.common.server, p.witness.away = "new", errors.New("no such table")
	require.Zero(t, p.calls("m", 10*time.Second))
	p.witness.away = nil
	require.Positive(t, p.calls("m", 10*time.Second))
}

// The process that recorded the server may have ended, and no process may reach that server any longer.
func TestFallback_ARecordOfAnUnreachedServerIsReplaced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		others bool
		within time.Duration
	}{
		{"others are running", true, barredMost + 10*time.Second},
		{"no other process is running", false, 7 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := newProcesses(t)
			all.witness.servers["m"] = "gone"
			p := all.begin("p", "a")
			if tt.others {
				all.witness.seen[Reach{Process: "q", Media: "m"}] = all.at.Add(time.Hour)
				require.Zero(t, p.calls("m", barredMost), "they may use it")
			}
			require.Positive(t, p.calls("m", tt.within))
			require.Equal(t, "a", all.witness.servers["m"])
		})
	}
}
