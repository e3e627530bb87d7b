package settings_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func sealed(access, refresh string) settings.SealFunc {
	return func(id int64) (string, string, error) {
		return fmt.Sprintf("%s@%d", access, id), fmt.Sprintf("%s@%d", refresh, id), nil
	}
}

func putLogin(t *testing.T, s *store.Store) int64 {
	t.Helper()
	in := time.Date(2026, 11, 21, 8, 0, 0, 123e6, time.UTC)
	id, err := s.PutLogin(t.Context(), settings.Token{
		Media: "tulip", AppID: "17", Login: "l", AccessExpires: in, RefreshExpires: in.AddDate(0, 1, 0),
	}, sealed("a1", "r1"))
	require.NoError(t, err)
	return id
}

func TestPutApp_ReplacesTheSecret(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	_, err := s.App(t.Context(), "tulip", "17")
	require.ErrorIs(t, err, sql.ErrNoRows)
	for _, secret := range []string{"one", "two"} {
		require.NoError(t, s.PutApp(t.Context(), settings.App{Media: "tulip", ID: "17", Secret: secret, Enabled: true}))
		app, err := s.App(t.Context(), "tulip", "17")
		require.NoError(t, err)
		require.Equal(t, settings.App{Media: "tulip", ID: "17", Secret: secret, Enabled: true}, app)
	}
}

func TestPutLogin_SealsForItsOwnRowAndAuthorisesAgain(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	id := putLogin(t, s)
	row, err := s.Token(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("a1@%d", id), row.Access)
	require.Equal(t, time.Date(2026, 11, 21, 8, 0, 0, 123e6, time.UTC), row.AccessExpires)
	require.EqualValues(t, 1, row.Generation)
	require.Equal(t, settings.TokenOK, row.State)

	claimed, err := s.ClaimRefresh(t.Context(), id, 1, "h", time.Minute)
	require.NoError(t, err)
	require.True(t, claimed)
	parked, err := s.ParkLogin(t.Context(), id, 1, "h", "refused")
	require.NoError(t, err)
	require.True(t, parked)

	require.Equal(t, id, putLogin(t, s))
	row, err = s.Token(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, settings.TokenOK, row.State)
	require.Empty(t, row.StateReason)
	require.EqualValues(t, 2, row.Generation)
	require.Zero(t, row.IntentTries)
}

func TestPutLogin_LeavesNothingWhenSealingFails(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	broken := errors.New("no key")
	row := settings.Token{Media: "tulip", AppID: "17", Login: "l"}
	_, err := s.PutLogin(t.Context(), row, sealed("a", "r"))
	require.ErrorContains(t, err, "must be set")
	row.AccessExpires, row.RefreshExpires = time.Now(), time.Now()
	_, err = s.PutLogin(t.Context(), row, func(int64) (string, string, error) { return "", "", broken })
	require.ErrorIs(t, err, broken)
	_, err = s.Token(t.Context(), 1)
	require.ErrorIs(t, err, sql.ErrNoRows)
}

func TestClaimRefresh_OneOfManyWins(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	id := putLogin(t, s)
	var wins atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			claimed, err := s.ClaimRefresh(t.Context(), id, 1, fmt.Sprint("holder", i), time.Minute)
			if err == nil && claimed {
				wins.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, wins.Load())
}

func TestClaimRefresh_NeedsTheGenerationAndNoOpenIntent(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	id := putLogin(t, s)
	claim := func(generation int64, holder string, lasts time.Duration) bool {
		claimed, err := s.ClaimRefresh(t.Context(), id, generation, holder, lasts)
		require.NoError(t, err)
		return claimed
	}
	require.False(t, claim(2, "a", time.Minute), "another generation")
	require.True(t, claim(1, "a", time.Minute))
	require.False(t, claim(1, "b", time.Minute), "a's intent is open")

	row, err := s.Token(t.Context(), id)
	require.NoError(t, err)
	left, err := s.IntentLeft(t.Context(), row)
	require.NoError(t, err)
	require.Greater(t, left, 50*time.Second)
	require.LessOrEqual(t, left, time.Minute)

	require.NoError(t, s.PostponeRefresh(t.Context(), id, "b", 0, "busy"))
	require.False(t, claim(1, "b", time.Minute), "b cannot end a's intent")
	require.NoError(t, s.PostponeRefresh(t.Context(), id, "a", 0, "busy"))
	require.True(t, claim(1, "b", -time.Second), "a ended its intent")
	require.True(t, claim(1, "c", time.Minute), "b's intent has lapsed")
	row, err = s.Token(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, 3, row.IntentTries)
}

func TestStoreTokens_StoresThePairWhoeverHoldsTheIntent(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	id := putLogin(t, s)
	claim := func(holder string) {
		claimed, err := s.ClaimRefresh(t.Context(), id, 1, holder, -time.Second)
		require.NoError(t, err)
		require.True(t, claimed)
	}
	claim("slow")
	claim("next")
	parked, err := s.ParkLogin(t.Context(), id, 1, "slow", "refused")
	require.NoError(t, err)
	require.False(t, parked, "slow no longer holds the intent")
	parked, err = s.ParkLogin(t.Context(), id, 1, "next", "refused")
	require.NoError(t, err)
	require.True(t, parked)
	claimed, err := s.ClaimRefresh(t.Context(), id, 1, "third", time.Minute)
	require.NoError(t, err)
	require.False(t, claimed, "a person must authorise the login")

	// The slow holder's answer arrives after all.
	expires := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	stored, err := s.StoreTokens(t.Context(), id, 1, settings.Token{Access: "a2", AccessExpires: expires})
	require.NoError(t, err)
	require.True(t, stored)
	row, err := s.Token(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, settings.TokenOK, row.State)
	require.Equal(t, "a2", row.Access)
	require.Equal(t, fmt.Sprintf("r1@%d", id), row.Refresh, "the refresh token stays")
	require.Equal(t, expires, row.AccessExpires)
	require.EqualValues(t, 2, row.Generation)
	require.True(t, row.IntentUntil.IsZero())

	stored, err = s.StoreTokens(t.Context(), id, 1,
		settings.Token{Access: "a3", Refresh: "r3", AccessExpires: expires, RefreshExpires: expires})
	require.NoError(t, err)
	require.False(t, stored, "generation 1 has passed")
}
