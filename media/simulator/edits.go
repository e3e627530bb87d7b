package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// bidEdit is an ordered change of the bids of an account's ads. Its time of modification is one thing, and since when it is shown another: platforms show a change some
// time after its stamp.
type bidEdit struct {
	Media   string `json:"media"`
	Account string `json:"account"`
	Object  string `json:"object,omitempty"` // an ad; "" is all of the account's that there are
	Percent int64  `json:"percent"`
	At      int64  `json:"at"`    // the world's second that the platform tells as the time of modification
	Shown   int64  `json:"shown"` // from when on the platform shows it
}

// bidEdits holds all ordered ones, in their order.
type bidEdits struct {
	mu        sync.RWMutex
	list      []bidEdit
	byAccount map[accountKey][]bidEdit
}

func newBidEdits() *bidEdits { return &bidEdits{byAccount: map[accountKey][]bidEdit{}} }

func (e *bidEdits) of(k accountKey) []bidEdit {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.byAccount[k]
}

func (e *bidEdits) add(k accountKey, x bidEdit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, x)
	e.byAccount[k] = append(e.byAccount[k], x)
}

func (e *bidEdits) all() []bidEdit {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return append([]bidEdit(nil), e.list...)
}

// apply brings an ad as it is shown at a moment to what was ordered. A deleted one keeps what it was shown with.
func (x *bidEdit) apply(o *object, now int64) {
	if x.Shown > now || x.Shown >= o.deleted || o.created > x.At || (x.Object != "" && x.Object != strconv.FormatInt(o.id, 10)) {
		return
	}
	o.bid += o.bid * x.Percent / 100
	o.modified = max(o.modified, x.At)
}

// orderEdit changes the bids of an account's ads, from now on or from a coming moment on.
func (s *Simulator) orderEdit(w http.ResponseWriter, r *http.Request) {
	var order bidEdit
	if !readOrder(w, r, &order) {
		return
	}
	s.ordering.Lock()
	defer s.ordering.Unlock()
	now := s.clock.Now().Unix()
	order.At = cmp.Or(order.At, now)
	if order.Shown = cmp.Or(order.Shown, order.At); order.Shown < max(order.At, now) {
		writeProblem(w, http.StatusBadRequest, fmt.Sprintf("shown is in Unix seconds, not before at (%d) nor now (%d), not %d: what was shown was shown", order.At, now, order.Shown))
		return
	}
	if err := s.edit(order); err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	s.keep(w, http.StatusOK, order)
}

// edit makes an ordered one hold.
func (s *Simulator) edit(x bidEdit) error {
	a, err := s.world.named(x.Media, x.Account)
	if err != nil {
		return err
	}
	if x.Percent < 1 || x.Percent > 1000 {
		return fmt.Errorf("percent is 1 to 1000, not %d", x.Percent)
	}
	s.world.edits.add(a.mapKey(), x)
	return nil
}
