package publishing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/storetest"
)

func may(t *testing.T, s *store.Store, at time.Time) bool {
	t.Helper()
	_, may, err := s.MayUseDestination(t.Context(), "shelf", at, at.Add(10*time.Minute))
	require.NoError(t, err)
	return may
}

func TestMayUseDestination_OneFileTriesWhileItIsDown(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := t.Context()
	require.True(t, may(t, s, now), "nothing is known of it")
	require.NoError(t, s.DestinationWorked(ctx, "shelf", time.Time{}))
	require.Zero(t, storetest.RowsIn(t, s, "destination_state"))

	require.NoError(t, s.DestinationFailed(ctx, "shelf", strings.Repeat("x", 5000), now, now.Add(time.Minute)))
	require.False(t, may(t, s, now))
	require.True(t, may(t, s, now.Add(time.Minute)), "one file tries it")
	require.False(t, may(t, s, now.Add(time.Minute)), "and no other")
	require.True(t, may(t, s, now.Add(11*time.Minute)), "unless that one has died")
	require.NoError(t, s.DestinationFailed(ctx, "shelf", "refused", now.Add(time.Hour), now.Add(2*time.Hour)))
	states, err := s.DestinationStates(ctx)
	require.NoError(t, err)
	got := states["shelf"]
	require.Equal(t, now, got.DownSince, "of the first failure")
	require.Equal(t, now.Add(2*time.Hour), got.ProbeAt)
	require.Equal(t, 2, got.Tries)
	require.Equal(t, "refused", got.ErrorText)

	require.NoError(t, s.DestinationWorked(ctx, "shelf", now.Add(3*time.Hour)))
	require.True(t, may(t, s, now))
	require.True(t, may(t, s, now), "all files may")
	require.NoError(t, s.DestinationWorked(ctx, "shelf", time.Time{}))
	states, err = s.DestinationStates(ctx)
	require.NoError(t, err)
	got = states["shelf"]
	require.True(t, got.DownSince.IsZero() && got.ProbeAt.IsZero())
	require.Zero(t, got.Tries)
	require.Empty(t, got.ErrorText)
	require.Equal(t, now.Add(3*time.Hour), got.SuccessAt)
}

func TestTakeConnection_KeepsToTheMost(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	take := func(destination string, delivery int64, at time.Time) bool {
		taken, err := s.TakeConnection(t.Context(), destination, 2, delivery, at, at.Add(time.Minute))
		require.NoError(t, err)
		return taken
	}
	require.True(t, take("shelf", 1, now))
	require.True(t, take("shelf", 1, now), "it has one already")
	require.True(t, take("shelf", 2, now))
	require.False(t, take("shelf", 3, now))
	require.True(t, take("bucket", 3, now), "of another destination")

	require.NoError(t, s.ReturnConnection(t.Context(), "shelf", 4, now))
	require.False(t, take("shelf", 3, now), "4 had none")
	require.NoError(t, s.ReturnConnection(t.Context(), "shelf", 2, now))
	require.True(t, take("shelf", 3, now))
	require.False(t, take("shelf", 4, now.Add(time.Minute-time.Millisecond)))
	require.True(t, take("shelf", 4, now.Add(time.Minute)), "its user has died")
	require.NoError(t, s.ReturnConnection(t.Context(), "shelf", 1, now))
	require.True(t, take("shelf", 5, now.Add(time.Minute)), "3 has expired too")
	require.False(t, take("shelf", 6, now.Add(time.Minute)), "the late return of 1 made none free")
}
