package overview

import (
	"context"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/client"
)

// Times of a Cache.
const (
	// AgeMin is the age up to which an overview is always shown again.
	AgeMin = 2 * time.Second
	// agePart bounds the cost of reads: a read that took a second is not repeated within 20.
	agePart = 20
	// viewerWait is the time for which a viewer waits for a newer overview.
	viewerWait  = 3 * time.Second
	readTimeout = 20 * time.Second
)

// Cache shares one read among all viewers at about the same time. Without a viewer nothing is read.
type Cache struct {
	read func(ctx context.Context) Overview

	mu      sync.Mutex
	shown   Overview // the last one
	whole   Overview // the last one whose tables could be read
	at      time.Time
	took    time.Duration
	reading chan struct{} // closed when the read under way has ended; nil while none is
}

// NewCache makes a cache of what read returns.
func NewCache(read func(ctx context.Context) Overview) *Cache { return &Cache{read: read} }

// Get returns an overview that is at most a few seconds old if the tables can be read in that time. Otherwise it
// returns the last figures with their moment, and Troubles holds the reason.
func (c *Cache) Get(ctx context.Context) Overview { return c.within(ctx, viewerWait) }

// Await is Get without its short wait: it waits until the read ends.
func (c *Cache) Await(ctx context.Context) Overview { return c.within(ctx, readTimeout) }

func (c *Cache) within(ctx context.Context, wait time.Duration) Overview {
	c.mu.Lock()
	if !c.at.IsZero() && clock.Since(c.at) < max(AgeMin, agePart*c.took) {
		defer c.mu.Unlock()
		return c.shown
	}
	if c.reading == nil {
		c.reading = make(chan struct{})
		// The first caller may hang up: the others wait for the same read.
		go c.refresh(context.WithoutCancel(ctx), c.reading)
	}
	reading := c.reading
	c.mu.Unlock()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-reading:
	case <-timer.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading != reading {
		return c.shown
	}
	return c.withLastFigures(Overview{Overview: client.Overview{Troubles: []client.Trouble{{What: Tables,
		Why: "no answer within " + wait.String() + "; the next refresh may have it"}}}})
}

func (c *Cache) refresh(ctx context.Context, reading chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	began := clock.Mark()
	o := c.read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !o.At.IsZero() {
		c.whole = o
	}
	c.shown, c.at, c.took = c.withLastFigures(o), clock.Mark(), clock.Since(began)
	if o.At.IsZero() {
		c.took = 0 // A read that failed is tried again soon.
	}
	c.reading = nil
	close(reading)
}

// withLastFigures returns o, or, if its tables could not be read, the last whole overview with o's troubles, limits
// and pauses.
func (c *Cache) withLastFigures(o Overview) Overview {
	if !o.At.IsZero() || c.whole.At.IsZero() {
		return o
	}
	s := c.whole
	s.Troubles = o.Troubles
	if o.Limits != nil || o.Pauses != nil {
		s.Limits, s.Pauses = o.Limits, o.Pauses
	}
	return s
}
