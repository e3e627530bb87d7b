package client

import (
	"time"

	"adsync/base/roster"
)

// SetBodyMax sets the largest answer, so that its tests are cheap.
func (t *Transport) SetBodyMax(n int64) { t.bodyMax = n }

// Slowness is the record of slow calls of a client of tulip.
type Slowness struct{ c Client }

// Observe records a call.
func (s *Slowness) Observe(endpoint string, accountID int64, took time.Duration) {
	s.c.slowness.media = "tulip"
	s.c.slowness.observe(endpoint, accountID, took)
}

// Slow returns Client.Slow.
func (s *Slowness) Slow() []roster.Slow { return s.c.Slow() }
