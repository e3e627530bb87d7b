package live

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFigure_NullIsNotZero(t *testing.T) {
	t.Parallel()
	zero, one := int64(0), int64(1)
	require.True(t, Figure{}.Equal())
	require.True(t, Figure{Ours: &one, Platform: &one}.Equal())
	require.False(t, Figure{Ours: &zero}.Equal())
	require.False(t, Figure{Platform: &zero}.Equal())
	require.False(t, Figure{Ours: &one, Platform: &zero}.Equal())
}
