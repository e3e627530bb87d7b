package storetest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/jobstore"
)

// NewJobs returns a migrated, empty database of jobs that is removed with the test, on the same servers as New.
func NewJobs(t testing.TB) *jobstore.Store {
	t.Helper()
	s, err := jobstore.Open(context.Background(), Config(t).Data, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.MigrateUp(context.Background()))
	return s
}
