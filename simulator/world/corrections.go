package world

import (
	"fmt"
	"strconv"
	"sync"
)

// Correction is an ordered change of the truth for some past days.
type Correction struct {
	Media   string `json:"media"`
	Account string `json:"account"`
	Object  string `json:"object,omitempty"` // an ad; "" is all ads of the account
	From    string `json:"from"`
	To      string `json:"to"`
	Percent int64  `json:"percent"`
	// At is the world's second from which it is published; 0, as in worlds of earlier programs, is from the start.
	At int64 `json:"at,omitempty"`
}

// AccountKey identifies an account among those of all platforms.
type AccountKey struct {
	platform uint64
	index    int
}

// MapKey returns the key of the orders about the account.
func (a *Account) MapKey() AccountKey { return AccountKey{a.Platform.Number, a.Index} }

// CorrectedDays holds the days of a correction and its percentage.
type CorrectedDays struct {
	From, To int
	ad       int64 // 0 is all ads
	Percent  int64
	at       int64
}

// Corrections holds all corrections in order: each applies to the result of those before it.
type Corrections struct {
	mu        sync.RWMutex
	list      []Correction
	byAccount map[AccountKey][]CorrectedDays
}

// NewCorrections returns an empty Corrections.
func NewCorrections() *Corrections {
	return &Corrections{byAccount: map[AccountKey][]CorrectedDays{}}
}

// Add adds a correction, which applies from now on.
func (c *Corrections) Add(a *Account, x Correction, days CorrectedDays) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, x)
	k := a.MapKey()
	c.byAccount[k] = append(c.byAccount[k], days)
}

// of returns the corrections of a day that are published at a moment.
func (c *Corrections) of(a *Account, day int, now int64) (list []CorrectedDays) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.byAccount) == 0 {
		return nil
	}
	for _, x := range c.byAccount[a.MapKey()] {
		if x.From <= day && day <= x.To && x.at <= now {
			list = append(list, x)
		}
	}
	return list
}

// All returns the corrections in their order.
func (c *Corrections) All() []Correction {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return append([]Correction(nil), c.list...)
}

// Correct validates a correction and adds it.
func (w *World) Correct(x Correction) error {
	a, err := w.Named(x.Media, x.Account)
	if err != nil {
		return err
	}
	from, err := ParseDay(x.From)
	if err != nil {
		return fmt.Errorf("from: %w", err)
	}
	to, err := ParseDay(x.To)
	if err != nil {
		return fmt.Errorf("to: %w", err)
	}
	if to < from {
		return fmt.Errorf("to (%s) is before from (%s)", x.To, x.From)
	}
	if x.Percent < -100 || x.Percent > 1000 || x.Percent == 0 {
		return fmt.Errorf("percent must be -100 to 1000 and not 0, not %d", x.Percent)
	}
	days := CorrectedDays{From: from, To: to, Percent: x.Percent, at: x.At}
	if x.Object != "" {
		if days.ad, err = strconv.ParseInt(x.Object, 10, 64); err != nil || days.ad <= 0 {
			return fmt.Errorf("object must be the id of an ad, not %q", x.Object)
		}
	}
	w.Corrections.Add(&a, x, days)
	return nil
}
