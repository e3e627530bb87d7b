package show

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/client"
)

// Healed subtasks are counted among the 1,000 that died last, so their number is a lower bound.
func TestDead_HealedIsAtLeastWhatWasFound(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	var plan client.Redrive
	require.NoError(t,
		json.Unmarshal(
			[]byte(
				`{"dry_run": true, "count": 5000, "healed": 12, "healed_at_least": true, "tasks": [{"task": "a", "count": 5000}]}`),
			&plan))
	require.NoError(t, Redrive(&out, &plan))
	require.Contains(t, out.String(), "At least 12 have healed: their days")
	out.Reset()
	var groups client.DeadGroups
	require.NoError(t,
		json.Unmarshal(
			[]byte(
				`{"total": 5000, "stake": {"looked": 1000, "healed": 12, "unhealed": 988}, "groups": [{"print": "x", "count": 5000,
  "healed": 12}]}`), &groups))
	require.NoError(t, DeadGroups(&out, &groups))
	require.Regexp(t, `5000 +at least 12 +`, out.String())
	require.Contains(t, out.String(), "Of the 1000 that died last, 12 healed")
}
