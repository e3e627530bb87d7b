package world

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// The states that an order can set. All accounts are open at first.
const (
	lifeOpen    = "open"
	LifeFrozen  = "frozen"  // the platform has closed it
	LifeRevoked = "revoked" // its login no longer has permission for it
)

// Life holds the orders about an account's state.
type Life struct {
	Media   string `json:"media"`
	Account string `json:"account"`
	State   string `json:"state,omitempty"`
	Woken   int64  `json:"woken,omitempty"` // Unix seconds of the world from which its ads run; 0 is never
}

// Lives holds the orders about accounts' states. There are few.
type Lives struct {
	mu        sync.RWMutex
	byAccount map[AccountKey]Life
}

// NewLives returns an empty Lives.
func NewLives() *Lives { return &Lives{byAccount: map[AccountKey]Life{}} }

// Of returns the orders about an account.
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

// All lists the orders by platform and account.
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

// sleeps reports whether the account has ads and runs none of them.
func (a *Account) sleeps() bool { return a.Class == ClassQuiet && a.Woken == 0 }

// Closed returns the state of an account whose calls are refused, or "".
func (w *World) Closed(a *Account) string {
	if state := w.Lives.Of(a.MapKey()).State; state != lifeOpen {
		return state
	}
	return ""
}

// Live adds an order to the earlier orders about the account, and returns all of them.
func (w *World) Live(x Life) (Life, error) {
	a, err := w.Named(x.Media, x.Account)
	if err != nil {
		return x, err
	}
	if states := []string{"", lifeOpen, LifeFrozen, LifeRevoked}; !slices.Contains(states, x.State) {
		return x, fmt.Errorf("state must be one of %v, not %q", states[1:], x.State)
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
		x.Woken = before.Woken // It is awake already: the first time stays.
	}
	w.Lives.put(a.MapKey(), x)
	return x, nil
}
