package simulator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// The states that an account can be ordered into. All are open at first.
const (
	lifeOpen    = "open"
	lifeFrozen  = "frozen"  // the platform has closed it
	lifeRevoked = "revoked" // its login has no permission for it any more
)

// life is what was ordered to become of an account.
type life struct {
	Media   string `json:"media"`
	Account string `json:"account"`
	State   string `json:"state,omitempty"`
	Woken   int64  `json:"woken,omitempty"` // Unix seconds of the world since when its ads run; 0 is never
}

// lives holds what was ordered of accounts. They are few.
type lives struct {
	mu        sync.RWMutex
	byAccount map[accountKey]life
}

func newLives() *lives { return &lives{byAccount: map[accountKey]life{}} }

func (l *lives) of(k accountKey) life {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.byAccount) == 0 {
		return life{}
	}
	return l.byAccount[k]
}

func (l *lives) put(k accountKey, x life) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byAccount[k] = x
}

// all lists them in the order of their platforms and accounts.
func (l *lives) all() []life {
	l.mu.RLock()
	defer l.mu.RUnlock()
	keys := slices.SortedFunc(maps.Keys(l.byAccount), func(a, b accountKey) int {
		if a.platform != b.platform {
			return int(a.platform) - int(b.platform)
		}
		return a.index - b.index
	})
	list := make([]life, len(keys))
	for i, k := range keys {
		list[i] = l.byAccount[k]
	}
	return list
}

// sleeps is for accounts that have ads and run none of them.
func (a *account) sleeps() bool { return a.class == classQuiet && a.woken == 0 }

// closed is the state of an account that answers nothing, or "".
func (w *world) closed(a *account) string {
	if state := w.lives.of(a.mapKey()).State; state != lifeOpen {
		return state
	}
	return ""
}

// live makes an order hold, beside what was ordered of the account before, and returns what holds.
func (w *world) live(x life) (life, error) {
	a, err := w.named(x.Media, x.Account)
	if err != nil {
		return x, err
	}
	if states := []string{"", lifeOpen, lifeFrozen, lifeRevoked}; !slices.Contains(states, x.State) {
		return x, fmt.Errorf("state is one of %v, not %q", states[1:], x.State)
	}
	if x.State == "" && x.Woken == 0 {
		return x, errors.New("nothing is ordered: give state or wake")
	}
	if x.Woken != 0 && a.class != classQuiet {
		return x, fmt.Errorf("account %s does not sleep: only one whose ads are all paused can be woken", x.Account)
	}
	before := w.lives.of(a.mapKey())
	if x.State == "" {
		x.State = before.State
	}
	if before.Woken != 0 {
		x.Woken = before.Woken // It is awake already.
	}
	w.lives.put(a.mapKey(), x)
	return x, nil
}
