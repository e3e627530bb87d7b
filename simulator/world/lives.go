package world

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
	LifeFrozen  = "frozen"  // the platform has closed it
	LifeRevoked = "revoked" // its login has no permission for it any more
)

// Life is what was ordered to become of an account.
type Life struct {
	Media   string `json:"media"`
	Account string `json:"account"`
	State   string `json:"state,omitempty"`
	Woken   int64  `json:"woken,omitempty"` // Unix seconds of the world since when its ads run; 0 is never
}

// Lives holds what was ordered of accounts. They are few.
type Lives struct {
	mu        sync.RWMutex
	byAccount map[AccountKey]Life
}

// NewLives returns what was ordered of accounts: nothing.
func NewLives() *Lives { return &Lives{byAccount: map[AccountKey]Life{}} }

// Of returns what was ordered of an account.
func (l *Lives) Of(k AccountKey) Life {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.byAccount) == 0 {
		return Life{}
	}
	return l.byAccount[k]
}

func (l *Lives) put(k AccountKey, x Life) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byAccount[k] = x
}

// All lists them in the order of their platforms and accounts.
func (l *Lives) All() []Life {
	l.mu.RLock()
	defer l.mu.RUnlock()
	keys := slices.SortedFunc(maps.Keys(l.byAccount), func(a, b AccountKey) int {
		if a.platform != b.platform {
			return int(a.platform) - int(b.platform)
		}
		return a.index - b.index
	})
	list := make([]Life, len(keys))
	for i, k := range keys {
		list[i] = l.byAccount[k]
	}
	return list
}

// sleeps is for accounts that have ads and run none of them.
func (a *Account) sleeps() bool { return a.Class == ClassQuiet && a.Woken == 0 }

// Closed is the state of an account that answers nothing, or "".
func (w *World) Closed(a *Account) string {
	if state := w.Lives.Of(a.MapKey()).State; state != lifeOpen {
		return state
	}
	return ""
}

// Live makes an order hold, beside what was ordered of the account before, and returns what holds.
func (w *World) Live(x Life) (Life, error) {
	a, err := w.Named(x.Media, x.Account)
	if err != nil {
		return x, err
	}
	if states := []string{"", lifeOpen, LifeFrozen, LifeRevoked}; !slices.Contains(states, x.State) {
		return x, fmt.Errorf("state is one of %v, not %q", states[1:], x.State)
	}
	if x.State == "" && x.Woken == 0 {
		return x, errors.New("nothing is ordered: give state or wake")
	}
	if x.Woken != 0 && a.Class != ClassQuiet {
		return x, fmt.Errorf("account %s does not sleep: only one whose ads are all paused can be woken", x.Account)
	}
	before := w.Lives.Of(a.MapKey())
	if x.State == "" {
		x.State = before.State
	}
	if before.Woken != 0 {
		x.Woken = before.Woken // It is awake already.
	}
	w.Lives.put(a.MapKey(), x)
	return x, nil
}
