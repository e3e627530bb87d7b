package publishing_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/publishing"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

var (
	by         = settings.Editor{Actor: "ada", Action: "test"}
	errUsed    = errors.New("a subscription names it")
	errMissing = errors.New("there is no such destination")
)

// withDestination returns a store with the destination shelf.
func withDestination(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.PutDestination(t.Context(), by, "shelf",
		func(d publishing.Destination, _ bool) (publishing.Destination, error) {
			d.Kind, d.Address = "dir", "/srv"
			return d, nil
		}))
	return s
}

// putSales writes a subscription to shelf, unless that is gone. meanwhile is called once in its transaction.
func putSales(t *testing.T, s *store.Store, meanwhile func()) error {
	t.Helper()
	return s.PutSubscription(t.Context(), by, "sales", now,
		func(row publishing.Subscription, _ bool, around publishing.Around) (publishing.Subscription, error) {
			meanwhile()
			meanwhile = func() {}
			if len(around.Destinations) == 0 {
				return row, errMissing
			}
			row.Source, row.Format, row.Destination = "{}", "{}", "shelf"
			return row, nil
		})
}

// deleteShelf deletes the destination, unless it is used. meanwhile is called once in its transaction.
func deleteShelf(t *testing.T, s *store.Store, meanwhile func()) error {
	t.Helper()
	return s.DeleteDestination(t.Context(), by, "shelf", func(all []publishing.Subscription) error {
		meanwhile()
		meanwhile = func() {}
		if len(all) > 0 {
			return errUsed
		}
		return nil
	})
}

// Whichever of the two is first, no subscription is left without its destination.
func TestPutSubscription_AndADeleteOfItsDestination(t *testing.T) {
	t.Parallel()
	s := withDestination(t)
	other := make(chan error)
	require.NoError(t, putSales(t, s, func() { go func() { other <- deleteShelf(t, s, func() {}) }() }))
	require.ErrorIs(t, <-other, errUsed)
	_, err := s.Destination(t.Context(), "shelf")
	require.NoError(t, err)

	s = withDestination(t)
	require.NoError(t, deleteShelf(t, s, func() { go func() { other <- putSales(t, s, func() {}) }() }))
	require.ErrorIs(t, <-other, errMissing)
	all, err := s.AllSubscriptions(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestPutSubscription_SeesWhatItMustAgreeWith(t *testing.T) {
	t.Parallel()
	s := withDestination(t)
	require.NoError(t, putSales(t, s, func() {}))
	err := s.PutSubscription(t.Context(), by, "other", now,
		func(row publishing.Subscription, known bool, around publishing.Around) (publishing.Subscription, error) {
			require.False(t, known)
			require.Len(t, around.Destinations, 1)
			require.Equal(t, "shelf", around.Destinations[0].Name)
			require.Len(t, around.Others, 1)
			require.Equal(t, "sales", around.Others[0].Name)
			require.True(t, slices.ContainsFunc(around.Lanes, func(l settings.Lane) bool {
				return l.Carries("system", "large_files")
			}))
			return row, errMissing
		})
	require.ErrorIs(t, err, errMissing)
	require.NoError(t, putSales(t, s, func() {}), "it is no other row to itself")
}
