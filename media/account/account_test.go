package account

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListed_NotesAccountsLeftOutByReason(t *testing.T) {
	t.Parallel()
	require.Empty(t, Listed{Rows: 3}.Note())
	require.Equal(t, "the platform lists no account of this login", Listed{}.Note())
	require.Equal(t,
		"left out: account 7 (it is an agent); left out: 5 accounts 1, 2, 3 and others (they are WeChat accounts)", Listed{
			LeftOut: map[string][]string{"they are WeChat accounts": {"1", "2", "3", "4", "5"}, "it is an agent": {"7"}},
		}.Note())
}
