package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/storetest"
)

func TestMigrate_UpDownUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	require.NoError(t, s.CheckSchema(ctx))
	require.NoError(t, s.MigrateUp(ctx), "a second run changes nothing")

	require.NoError(t, s.MigrateDown(ctx))
	err := s.CheckSchema(ctx)
	var schema *store.SchemaError
	require.ErrorAs(t, err, &schema)
	require.ErrorContains(t, err, "run `adsync migrate up`")

	require.NoError(t, s.MigrateUp(ctx))
	require.NoError(t, s.CheckSchema(ctx))
}
