package plural

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 days are", Count(0, "day is", "days are"))
	require.Equal(t, "1 day is", Count(int64(1), "day is", "days are"))
	require.Equal(t, "2 days are", Count(2, "day is", "days are"))
}
