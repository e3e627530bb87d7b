package outside

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
)

// given is one answer of a fakeLimits.
type given struct {
	after time.Duration // when it comes
	valid time.Duration // of the grant; 0 has no end
	late  time.Duration // After of a *ratelimit.WaitError; 0 is a grant
}

// fakeLimits gives each call an answer of the list. Further calls wait until their context ends.
type fakeLimits struct{ answers chan given }

func (f *fakeLimits) Wait(ctx context.Context, call grant.Call) (ratelimit.Grant, error) {
	select {
	case a := <-f.answers:
		if err := clock.Sleep(ctx, a.after); err != nil {
			return ratelimit.Grant{}, err
		}
		if a.late != 0 {
			return ratelimit.Grant{}, &ratelimit.WaitError{Call: call, After: max(0, a.late)}
		}
		var g ratelimit.Grant
		if a.valid != 0 {
			g.Until = clock.Mark().Add(a.valid)
		}
		return g, nil
	default:
	}
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ratelimit.Grant{}, &ratelimit.WaitError{Call: call}
	}
	return ratelimit.Grant{}, ctx.Err()
}

func (*fakeLimits) Covers(grant.Call) bool { return true }

func (*fakeLimits) Pause(context.Context, grant.Call, grant.Scope, time.Duration) error { return nil }

func TestGrants_Wait(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		n       int
		answers []given
		granted int
		valid   time.Duration
		again   time.Duration
		took    time.Duration
	}{
		"all at once": {n: 3, answers: []given{{valid: 100 * ms}, {valid: 90 * ms}, {valid: 95 * ms}}, granted: 3,
			valid: 90 * ms},
		"without an end": {n: 1, answers: []given{{}}, granted: 1, valid: time.Second},
		"the first comes later": {n: 1, answers: []given{{after: 700 * ms, valid: 80 * ms}}, granted: 1, valid: 80 * ms,
			took: 700 * ms},
		"others come too late": {n: 3, answers: []given{{valid: 100 * ms}, {after: 3 * ms, valid: 100 * ms},
			{after: 50 * ms, valid: 100 * ms}}, granted: 2, valid: 95 * ms, took: 5 * ms},
		"no grant within a second": {n: 2, again: time.Second, took: time.Second},
		"the shortest wait": {n: 3, answers: []given{{late: 9 * time.Second}, {late: 8 * time.Second}, {late: time.Hour}},
			again: 8 * time.Second},
		"a wait that is too long": {n: 1, answers: []given{{late: time.Hour}}, again: 10 * time.Minute},
		"an unknown wait":         {n: 1, answers: []given{{late: -1}}, again: time.Second},
		"a grant that has nearly ended": {n: 2, answers: []given{{valid: 4 * ms}, {valid: 60 * ms}}, granted: 1,
			valid: 60 * ms},
		"only such a grant": {n: 1, answers: []given{{valid: ms}}, again: 20 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limits := &fakeLimits{make(chan given, len(c.answers))}
				for _, a := range c.answers {
					limits.answers <- a
				}
				began := time.Now()
				g := NewGrants(nil, limits, nil, clock.System{}, nil)
				granted, valid, again, err := g.wait(t.Context(), grant.Call{Media: "tulip"}, c.n)
				require.NoError(t, err)
				require.Equal(t, c.granted, granted)
				if granted > 0 {
					require.Equal(t, c.valid, valid)
				} else {
					require.Equal(t, c.again, again)
				}
				require.Equal(t, c.took, time.Since(began))
			})
		})
	}
}

func TestGrants_ManyEndpointsShareACounter(t *testing.T) {
	t.Parallel()
	g := NewGrants(nil, nil, nil, clock.System{}, nil)
	for i := range endpointsMax {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26))
		require.Equal(t, name, g.label(grant.Call{Media: "tulip", Endpoint: name}))
	}
	require.Equal(t, "others", g.label(grant.Call{Media: "tulip", Endpoint: "one/more"}))
	require.Equal(t, "aa", g.label(grant.Call{Media: "tulip", Endpoint: "aa"}))
	require.Equal(t, "one/more", g.label(grant.Call{Media: "orchid", Endpoint: "one/more"}))
}
