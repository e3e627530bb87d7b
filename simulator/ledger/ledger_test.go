package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLedger_FoldsOldSecondsAndLosesNoCall(t *testing.T) {
	t.Parallel()
	l := New(false)
	for i := range int64(ledgerDetailMax + 1000) {
		l.Record(1_000_000+i, "", Cell{Media: "m", Endpoint: "e"})
	}
	require.Less(t, len(l.seconds), ledgerDetailMax)
	total, _ := l.Query(Query{})
	require.EqualValues(t, ledgerDetailMax+1000, total.Calls)
	total, _ = l.Query(Query{From: 1_000_000 + ledgerDetailMax, To: 1_000_000 + ledgerDetailMax + 10})
	require.EqualValues(t, 10, total.Calls, "the latest are still by second")
}
