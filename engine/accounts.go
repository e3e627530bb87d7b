package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/store"
	"adsync/media"
)

// accountsMaxAge is how long an account's row is believed: a changed login or zone holds within this time.
const accountsMaxAge = time.Minute

// accountsMax bounds the memory of accounts; when it is full everything is forgotten and asked for again.
const accountsMax = 100_000

// accounts finds accounts by our id and remembers them for a short time: tens of subtasks a minute ask for the same one.
type accounts struct {
	store *store.Store

	mu    sync.Mutex
	known map[int64]knownAccount
}

type knownAccount struct {
	media.Account
	read time.Time
}

func newAccounts(s *store.Store) *accounts {
	return &accounts{store: s, known: map[int64]knownAccount{}}
}

// Account implements pull.Accounts.
func (a *accounts) Account(ctx context.Context, id int64) (media.Account, error) {
	a.mu.Lock()
	have, ok := a.known[id]
	a.mu.Unlock()
	if ok && clock.Since(have.read) < accountsMaxAge {
		return have.Account, nil
	}
	row, err := a.store.Account(ctx, id)
	if err != nil {
		return media.Account{}, err
	}
	zone, err := time.LoadLocation(row.Timezone)
	if err != nil || row.Timezone == "" {
		return media.Account{}, &media.Error{Class: media.Invalid, Message: fmt.Sprintf("account %d has the time zone %q, which is unknown", id, row.Timezone)}
	}
	account := media.Account{ID: row.ID, Media: row.Media, ExternalID: row.ExternalID, TokenID: row.TokenID, Zone: zone, Currency: row.Currency}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= accountsMax {
		clear(a.known)
	}
	a.known[id] = knownAccount{Account: account, read: clock.Mark()}
	return account, nil
}
