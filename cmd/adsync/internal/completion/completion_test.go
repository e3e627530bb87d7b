package completion

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The shell completes the values that the API accepts.
func TestWords_AreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/openapi.yaml")
	require.NoError(t, err)
	for _, all := range [][]string{
		RunStates, SubtaskStates, stateWords["adsync subtasks due"], stateWords["adsync accounts list"],
		stateWords["adsync reconcile"], flagWords["tier"], flagWords["login-state"],
		flagWords["overlap"], flagWords["catch-up"], flagWords["catch-up-order"], flagWords["concurrency"], logLevels,
	} {
		require.Contains(t, string(text), "enum: ["+strings.Join(all, ", ")+"]")
	}
}
