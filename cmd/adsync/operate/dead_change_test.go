package operate

import (
	"encoding/json"
	"strings"
	"testing"

	"adsync/client"

	"github.com/stretchr/testify/require"
)

// What has healed is counted among the 1,000 that died last, and the number says so.
func TestDead_HealedIsAtLeastWhatWasFound(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	var plan client.Redrive
	require.NoError(t, json.Unmarshal([]byte(`{"dry_run": true, "count": 5000, "healed": 12, "healed_at_least": true, "tasks": [{"task": "a", "count": 5000}]}`), &plan))
	require.NoError(t, printRedrive(&out, &plan))
	require.Contains(t, out.String(), "At least 12 have healed: their days")
	out.Reset()
	require.NoError(t, printing(printGroups)(&out, []byte(`{"total": 5000, "stake": {"looked": 1000, "healed": 12, "unhealed": 988}, "groups": [{"print": "x", "count": 5000, "healed": 12}]}`)))
	require.Regexp(t, `5000 +at least 12 +`, out.String())
	require.Contains(t, out.String(), "Of the 1000 that died last, 12 healed")
}
