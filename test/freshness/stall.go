package main

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Refusal is a second in which a platform refused calls for a limit.
type Refusal struct {
	At       time.Time `json:"at"`
	Media    string    `json:"media"`
	Endpoint string    `json:"endpoint"`
	Calls    int64     `json:"calls"`
	// Stall is how long the machine stopped a process for, at most, in the limitPeriod before: calls that arrive so late
	// come together with those behind them.
	Stall float64 `json:"stall_seconds"`
}

// stallTick is how often the clock is read; shorter stops are not seen.
const stallTick = 5 * time.Millisecond

// stalls are the longest times, by Unix second, for which a goroutine that had only to read the clock was held up.
type stalls struct {
	mu   sync.Mutex
	last time.Time
	late map[int64]time.Duration
}

// watch reads the clock until ctx ends.
func (s *stalls) watch(ctx context.Context) {
	ticker := time.NewTicker(stallTick)
	defer ticker.Stop()
	for {
		s.note(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *stalls) note(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late == nil {
		s.late = map[int64]time.Duration{}
	}
	if !s.last.IsZero() {
		s.late[now.Unix()] = max(s.late[now.Unix()], now.Sub(s.last)-stallTick)
	}
	s.last = now
}

// longest returns the longest stop that ended in a second or in the limitPeriod before.
func (s *stalls) longest(second int64) (most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := second - int64(limitPeriod/time.Second); at <= second; at++ {
		most = max(most, s.late[at])
	}
	return most
}

// refusals returns the seconds since a moment in which calls were refused for a limit, by time.
func (d *deployment) refusals(ctx context.Context, since time.Time, s *stalls) ([]Refusal, error) {
	groups, err := d.ledgerGroups(ctx, url.Values{"group": {"second,media,endpoint"},
		"from": {strconv.FormatInt(since.Unix(), 10)}})
	if err != nil {
		return nil, err
	}
	var all []Refusal
	for _, g := range groups {
		if g.Refused > 0 {
			all = append(all, Refusal{At: time.Unix(g.Second, 0).UTC(), Media: g.Media, Endpoint: g.Endpoint, Calls: g.Refused,
				Stall: s.longest(g.Second).Seconds()})
		}
	}
	return all, nil
}
