package world

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// AdEdit is an ordered change of an account's ads. When it was made is one thing, and from when on it is shown
// another: platforms show some changes later than the time that they tell of them.
type AdEdit struct {
	Media   string `json:"media"`
	Account string `json:"account"`
	Object  string `json:"object,omitempty"` // an ad; "" is all of the account's that there are
	// Percent is by how much bids are raised.
	Percent int64 `json:"percent,omitempty"`
	// DropCreatives takes all creatives but the first out of the ads, when it is shown.
	DropCreatives bool  `json:"drop_creatives,omitempty"`
	At            int64 `json:"at"`    // the world's second that the platform tells as the time of modification
	Shown         int64 `json:"shown"` // from when on the platform shows it
}

// AdEdits holds all ordered ones, in their order.
type AdEdits struct {
	mu        sync.RWMutex
	list      []AdEdit
	byAccount map[AccountKey][]AdEdit
}

// NewAdEdits returns no edits.
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

// All returns the edits in their order.
func (e *AdEdits) All() []AdEdit {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return append([]AdEdit(nil), e.list...)
}

// isOf tells whether an ad is meant.
func (x *AdEdit) isOf(ad int64) bool { return x.Object == "" || x.Object == strconv.FormatInt(ad, 10) }

// drops tells whether a creative is taken out of its ad.
func (x *AdEdit) drops(c *Creative) bool {
	return x.DropCreatives && c.N > 0 && x.isOf(c.Ad.ID) && c.Created < x.At && x.At < c.Deleted
}

// apply brings an ad as it is shown at a moment to the bid that was ordered. A deleted one keeps what it was shown
// with.
func (x *AdEdit) apply(o *Object, now int64) {
	if x.Percent == 0 || x.Shown > now || x.Shown >= o.Deleted || o.Created > x.At || !x.isOf(o.ID) {
		return
	}
	o.Bid += o.Bid * x.Percent / 100
	o.Modified = max(o.Modified, x.At)
}

// Edit makes an ordered one hold.
func (w *World) Edit(x AdEdit) error {
	a, err := w.Named(x.Media, x.Account)
	if err != nil {
		return err
	}
	switch {
	case x.DropCreatives && x.Percent != 0:
		return errors.New("an edit has percent or drop_creatives, not both")
	case x.DropCreatives && x.Shown != x.At:
		return errors.New("creatives are dropped when it is shown: leave shown out")
	case !x.DropCreatives && (x.Percent < 1 || x.Percent > 1000):
		return fmt.Errorf("percent is 1 to 1000, not %d", x.Percent)
	}
	w.Edits.add(a.MapKey(), x)
	return nil
}
