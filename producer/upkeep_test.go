package producer

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/store"
)

func TestKeepDifferences_TellsWhatStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("daily", "tencent.report", "@daily", nil)
	tm := b.term()
	const row = "INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value, first_seen_at, last_seen_at, confirmed_at, state)" +
		" VALUES (?, '2026-11-20', 'adgroup', 'cost', 'tencent', 2, 1, ?, ?, ?, ?)"
	at := store.At(start)
	b.exec(b.store.Data, row, 1, at, at, at, "open")
	b.exec(b.store.Data, row, 2, at, at, nil, "open")
	b.exec(b.store.Data, row, 3, at, at, at, "mended")
	require.NoError(t, tm.keepDifferences(t.Context()))
	require.Equal(t, 1.0, testutil.ToFloat64(b.metrics.differing.WithLabelValues("tencent")))
	b.exec(b.store.Data, "UPDATE reconciliation SET state = 'mended'")
	require.NoError(t, tm.keepDifferences(t.Context()))
	require.Zero(t, testutil.ToFloat64(b.metrics.differing.WithLabelValues("tencent")))
}
