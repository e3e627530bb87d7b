package jobs

import (
	"context"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/store/jobstore"
)

// tokens remembers which tokens are allowed.
type tokens struct {
	store *jobstore.Store

	mu    sync.Mutex
	known map[namedToken]seenToken
}

type namedToken struct{ namespace, token string }

type seenToken struct {
	*jobstore.Token

	at time.Time // when it was looked up
}

const (
	// tokenFor is for how long an allowed token is used without a look at the tables: so long does a withdrawn one
	// work.
	tokenFor = 5 * time.Second
	// tokensMax bounds the tokens that a process remembers.
	tokensMax = 10_000
)

// find returns a token of a namespace; nil if it is not allowed.
func (t *tokens) find(ctx context.Context, namespace string, token secret.Text) (*jobstore.Token, error) {
	key := namedToken{namespace, token.Reveal()}
	t.mu.Lock()
	seen, known := t.known[key]
	t.mu.Unlock()
	if known && clock.Since(seen.at) < tokenFor {
		return seen.Token, nil
	}
	found, err := t.store.FindToken(ctx, namespace, token)
	if err != nil || found == nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= tokensMax {
		t.known = map[namedToken]seenToken{}
	}
	t.known[key] = seenToken{found, clock.Mark()}
	return found, nil
}

// forget makes this process look at the tables again.
func (t *tokens) forget() {
	if t == nil {
		return // No token is needed.
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = nil
}
