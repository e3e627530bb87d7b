package mutants

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/test/patch"
)

// The test fails at once when code that a mutant changes has moved. Only make chaos-mutants shows whether a mutant
// still builds and is caught.
func TestMutants_FindTheTextTheyChange(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range All {
		require.False(t, names[m.Name], "%s is there twice", m.Name)
		names[m.Name] = true
		require.NotEmpty(t, m.Scenarios, m.Name)
		texts, err := patch.Apply("../../..", m.Edits)
		require.NoError(t, err, m.Name)
		require.NotEmpty(t, texts)
	}
	require.GreaterOrEqual(t, len(All), 15)
}
