package jobstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/jobstore"
)

func TestAudit_AnEntryIsCompleted(t *testing.T) {
	b := setup(t)
	change := jobstore.Change{At: noon, Namespace: "shop", Actor: "admin", Action: "queue paused", Target: "销售",
		Detail: strings.Repeat("价", 1001)}
	var ids [3]int64
	for i := range ids {
		id, err := b.Begin(t.Context(), change)
		require.NoError(t, err)
		ids[i] = id
	}
	require.NoError(t, b.End(t.Context(), ids[1], "", ""))
	require.NoError(t, b.End(t.Context(), ids[2], `{"count":7}`, strings.Repeat("错", 513)))
	all, err := b.Changes(t.Context(), "shop", 0, 10)
	require.NoError(t, err)
	change.Detail, change.State = strings.Repeat("价", 1000), jobstore.ChangeBegun
	want := []jobstore.Change{change, change, change}
	want[1].State = jobstore.ChangeDone
	want[0].State, want[0].Failure, want[0].Detail = jobstore.ChangeFailed, strings.Repeat("错", 512), `{"count":7}`
	for i := range want {
		want[i].ID = ids[2-i]
	}
	require.Equal(t, want, all)
}
