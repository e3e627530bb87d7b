package simulator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLedger_FoldsOldSecondsAndLosesNoCall(t *testing.T) {
	t.Parallel()
	l := newLedger(false)
	for i := range int64(ledgerDetailMax + 1000) {
		l.record(1_000_000+i, "", cell{Media: "m", Endpoint: "e"})
	}
	require.Less(t, len(l.seconds), ledgerDetailMax)
	total, _ := l.query(ledgerQuery{})
	require.EqualValues(t, ledgerDetailMax+1000, total.Calls)
	total, _ = l.query(ledgerQuery{from: 1_000_000 + ledgerDetailMax, to: 1_000_000 + ledgerDetailMax + 10})
	require.EqualValues(t, 10, total.Calls, "the latest are still apart")
}
