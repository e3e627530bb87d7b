package client

import (
	"time"

	"adsync/base/roster"
)

// SetBodyMax makes tests of the largest answer cheap.
func (t *Transport) SetBodyMax(n int64) { t.bodyMax = n }

// Slowness is that of a client of tulip.
type Slowness struct{ c Client }

// Observe takes note of a call.
func (s *Slowness) Observe(endpoint string, accountID int64, took time.Duration) {
	s.c.slowness.media = "tulip"
	s.c.slowness.observe(endpoint, accountID, took)
}

// Slow is what the client tells.
func (s *Slowness) Slow() []roster.Slow { return s.c.Slow() }
