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
	// SlowAfter is the time from which a call is slow; the alert on endpoints uses the same time.
	SlowAfter = 8 * time.Second
	// slowWindow is how long calls are kept at least; they are kept at most twice as long.
	slowWindow = time.Minute
	// slowPart is the share of slow calls above which an endpoint is reported: one in slowPart.
	slowPart = 20
	// slowAccounts is how many accounts with slow calls are kept.
	slowAccounts = 200
)

// slowness records the calls of the last one to two minutes: which endpoints are slow, and for which accounts.
type slowness struct {
	media string

	mu          sync.Mutex
	since       time.Time
	now, before map[string]*slowCalls // by endpoint, in this window and in the one before
}

type slowCalls struct {
	calls, slow int
	took        time.Duration // of the slow calls
	accounts    []string      // ids
}

func (s *slowness) observe(endpoint string, accountID int64, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rotate()
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

// rotate starts a new window when this one is over.
func (s *slowness) rotate() {
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

// Slow returns the endpoints with more than one slow call in twenty in the last one to two minutes.
func (c *Client) Slow() []roster.Slow {
	s := &c.slowness
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rotate()
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
