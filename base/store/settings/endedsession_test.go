package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/storetest"
)

func TestEndedSessions_AreKeptForAsLongAsTheyWouldLast(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ended := func() []string {
		ids, err := s.EndedSessions(t.Context())
		require.NoError(t, err)
		return ids
	}
	require.Empty(t, ended())
	now, err := s.Config.Now(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.EndSession(t.Context(), "over", now.Add(-2*time.Hour)))
	require.NoError(t, s.EndSession(t.Context(), "over by this clock alone", now.Add(-time.Minute)))
	require.NoError(t, s.EndSession(t.Context(), "one", now.Add(12*time.Hour)))
	require.NoError(t, s.EndSession(t.Context(), "one", now.Add(12*time.Hour)), "it may be repeated")
	require.ElementsMatch(t, []string{"over by this clock alone", "one"}, ended())
}
