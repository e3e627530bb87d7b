package world

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// AdEdit is an ordered change of an account's ads. The time of the change and the time from which it is visible may
// differ: platforms show some changes later than their time of modification.
type AdEdit struct {
	Media   string `json:"media"`
	Account string `json:"account"`
	Object  string `json:"object,omitempty"` // an ad; "" is all existing ads of the account
	// Percent is the increase of the bids.
	Percent int64 `json:"percent,omitempty"`
	// DropCreatives removes all creatives except the first from the ads, when the edit becomes visible.
	DropCreatives bool  `json:"drop_creatives,omitempty"`
	At            int64 `json:"at"`    // the world's second in the time of modification
	Shown         int64 `json:"shown"` // from when on the edit is visible
}

// AdEdits holds all edits in order.
type AdEdits struct {
	mu        sync.RWMutex
	list      []AdEdit
	byAccount map[AccountKey][]AdEdit
}

// NewAdEdits returns an empty AdEdits.
func NewAdEdits() *AdEdits { return &AdEdits{byAccount: map[AccountKey][]AdEdit{}} }

func (e *AdEdits) of(k AccountKey) []AdEdit {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.byAccount[k]
}

func (e *AdEdits) add(k AccountKey, x AdEdit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, x)
	e.byAccount[k] = append(e.byAccount[k], x)
}

// All returns the edits in order.
func (e *AdEdits) All() []AdEdit {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return append([]AdEdit(nil), e.list...)
}

// isOf reports whether the edit applies to an ad.
func (x *AdEdit) isOf(ad int64) bool { return x.Object == "" || x.Object == strconv.FormatInt(ad, 10) }

// drops reports whether the edit removes a creative from its ad.
func (x *AdEdit) drops(c *Creative) bool {
	return x.DropCreatives && c.N > 0 && x.isOf(c.Ad.ID) && c.Created < x.At && x.At < c.Deleted
}

// apply sets the ordered bid of an ad as visible at a moment. A deleted ad keeps its last visible bid.
func (x *AdEdit) apply(o *Object, now int64) {
	if x.Percent == 0 || x.Shown > now || x.Shown >= o.Deleted || o.Created > x.At || !x.isOf(o.ID) {
		return
	}
	o.Bid += o.Bid * x.Percent / 100
	o.Modified = max(o.Modified, x.At)
}

// Edit validates an edit and adds it.
func (w *World) Edit(x AdEdit) error {
	a, err := w.Named(x.Media, x.Account)
	if err != nil {
		return err
	}
	switch {
	case x.DropCreatives && x.Percent != 0:
		return errors.New("an edit has percent or drop_creatives, not both")
	case x.DropCreatives && x.Shown != x.At:
		return errors.New("drop_creatives takes effect at once: leave shown out")
	case !x.DropCreatives && (x.Percent < 1 || x.Percent > 1000):
		return fmt.Errorf("percent must be 1 to 1000, not %d", x.Percent)
	}
	w.Edits.add(a.MapKey(), x)
	return nil
}
