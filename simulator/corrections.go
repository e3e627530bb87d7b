package simulator

import (
	"fmt"
	"strconv"
	"sync"
)

// correction is an ordered change of the truth of some past days.
type correction struct {
	Media   string `json:"media"`
	Account string `json:"account"`
	Object  string `json:"object,omitempty"` // an ad; "" is all of the account's
	From    string `json:"from"`
	To      string `json:"to"`
	Percent int64  `json:"percent"`
	// At is the world's second from which it is published; 0, as in worlds kept by earlier programs, is ever since.
	At int64 `json:"at,omitempty"`
}

type accountKey struct {
	platform uint64
	index    int
}

func (a *account) mapKey() accountKey { return accountKey{a.p.number, a.index} }

type correctedDays struct {
	from, to int
	ad       int64 // 0 is all
	percent  int64
	at       int64
}

// corrections holds all ordered ones, in their order: each applies to what those before it left.
type corrections struct {
	mu        sync.RWMutex
	list      []correction
	byAccount map[accountKey][]correctedDays
}

func newCorrections() *corrections {
	return &corrections{byAccount: map[accountKey][]correctedDays{}}
}

func (c *corrections) add(a *account, x correction, days correctedDays) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, x)
	k := a.mapKey()
	c.byAccount[k] = append(c.byAccount[k], days)
}

// of are the corrections of a day as they are published at a moment.
func (c *corrections) of(a *account, day int, now int64) (list []correctedDays) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.byAccount) == 0 {
		return nil
	}
	for _, x := range c.byAccount[a.mapKey()] {
		if x.from <= day && day <= x.to && x.at <= now {
			list = append(list, x)
		}
	}
	return list
}

func (c *corrections) all() []correction {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return append([]correction(nil), c.list...)
}

// correct makes an ordered one hold.
func (w *world) correct(x correction) error {
	a, err := w.named(x.Media, x.Account)
	if err != nil {
		return err
	}
	from, err := parseDay(x.From)
	if err != nil {
		return fmt.Errorf("from: %w", err)
	}
	to, err := parseDay(x.To)
	if err != nil {
		return fmt.Errorf("to: %w", err)
	}
	if to < from {
		return fmt.Errorf("to (%s) is before from (%s)", x.To, x.From)
	}
	if x.Percent < -100 || x.Percent > 1000 || x.Percent == 0 {
		return fmt.Errorf("percent is -100 to 1000 and not 0: %d", x.Percent)
	}
	days := correctedDays{from: from, to: to, percent: x.Percent, at: x.At}
	if x.Object != "" {
		if days.ad, err = strconv.ParseInt(x.Object, 10, 64); err != nil || days.ad <= 0 {
			return fmt.Errorf("object is the id of an ad, not %q", x.Object)
		}
	}
	w.corrections.add(&a, x, days)
	return nil
}
