package client

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/roster"
)

const (
	// SlowAfter is from how long on a call is slow; the alert on endpoints has the same.
	SlowAfter = 8 * time.Second
	// slowWindow is for how long calls are remembered, and twice as long at the most.
	slowWindow = time.Minute
	// slowPart is how small a part of an endpoint's calls may be slow and nobody is told: one in so many.
	slowPart = 20
	// slowAccounts is how many accounts are remembered whose calls were slow.
	slowAccounts = 200
)

// slowness remembers the calls of a minute or two, for people: which endpoints are slow, and for whom.
type slowness struct {
	media string

	mu          sync.Mutex
	since       time.Time
	now, before map[string]*slowCalls // by endpoint, in this window and in the one before
}

type slowCalls struct {
	calls, slow int
	took        time.Duration // of the slow ones
	accounts    []string      // ids
}

func (s *slowness) observe(endpoint string, accountID int64, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	of := s.now[endpoint]
	if of == nil {
		of = &slowCalls{}
		s.now[endpoint] = of
	}
	of.calls++
	if took < SlowAfter {
		return
	}
	of.slow++
	of.took += took
	if id := strconv.FormatInt(accountID, 10); accountID != 0 && len(of.accounts) < slowAccounts &&
		!slices.Contains(of.accounts, id) {
		of.accounts = append(of.accounts, id)
	}
}

// turn begins a new window when this one is over.
func (s *slowness) turn() {
	switch age := clock.Since(s.since); {
	case s.now == nil || age > 2*slowWindow:
		s.before, s.now = nil, map[string]*slowCalls{}
	case age > slowWindow:
		s.before, s.now = s.now, map[string]*slowCalls{}
	default:
		return
	}
	s.since = clock.Mark()
}

// Slow returns the endpoints of which more than one call in twenty was slow of late.
func (c *Client) Slow() []roster.Slow {
	s := &c.slowness
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	all := map[string]slowCalls{}
	for _, window := range []map[string]*slowCalls{s.before, s.now} {
		for endpoint, calls := range window {
			sum := all[endpoint]
			sum.calls += calls.calls
			sum.slow += calls.slow
			sum.took += calls.took
			sum.accounts = append(sum.accounts, calls.accounts...)
			all[endpoint] = sum
		}
	}
	var slow []roster.Slow
	for endpoint, calls := range all {
		if calls.slow == 0 || calls.slow*slowPart < calls.calls {
			continue
		}
		slices.Sort(calls.accounts)
		slow = append(slow, roster.Slow{
			Media: s.media, Endpoint: endpoint, Calls: calls.calls, Slow: calls.slow,
			Seconds: (calls.took / time.Duration(calls.slow)).Seconds(), Accounts: slices.Compact(calls.accounts),
		})
	}
	return slow
}
