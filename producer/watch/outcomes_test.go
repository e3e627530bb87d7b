package watch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
)

func TestPass_ShowsForHowLongOutcomesWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	age := func() float64 {
		require.NoError(t, b.Pass(t.Context(), nil))
		value, there := b.exported()["adsync_outcomes_oldest_seconds "]
		require.True(t, there)
		return value
	}
	require.Zero(t, age())
	now, err := b.store.Data.Now(t.Context())
	require.NoError(t, err)
	for seq, written := range map[int]any{1: nil, 2: sqldb.At(now.Add(-time.Hour)), 3: sqldb.At(now)} {
		require.NoError(t, b.store.Data.Writer(t.Context()).Exec("INSERT INTO outcome_notice"+
			" (slot, task_id, account_id, part, seq, notice, written_at) VALUES (0, 7, 1, '', ?, '{}', ?)", seq, written).Error)
	}
	require.GreaterOrEqual(t, age(), 3600.0)
}
