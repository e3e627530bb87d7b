package results_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestFilePull_IsWrittenByWhoReadItLast(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	key := task.Key{RunID: 7, AccountID: 3, Part: "2026-08-01"}
	write := func(pull string, revision int64) bool {
		ok, err := s.WriteFilePull(t.Context(), key, pull, revision)
		require.NoError(t, err)
		return ok
	}
	requireState := func(want string, at int64) {
		t.Helper()
		pull, revision, err := s.ReadFilePull(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, want, pull)
		require.Equal(t, at, revision)
	}
	requireState("", 0)
	require.True(t, write("a", 0))
	require.False(t, write("b", 0), "another delivery was first")
	require.True(t, write("a", 0), "the same write again, whose answer was lost")
	requireState("a", 1)
	require.True(t, write("b", 1))
	require.False(t, write("c", 1))
	require.True(t, write("b", 1))
	requireState("b", 2)
	require.False(t, write("d", 5))
	require.NoError(t, s.DropFilePull(t.Context(), key))
	require.NoError(t, s.DropFilePull(t.Context(), key))
	requireState("", 0)
	require.False(t, write("c", 2), "a delivery that was slower than the end")
}
