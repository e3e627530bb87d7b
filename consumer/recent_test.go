package consumer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
)

func TestRecent_ForgetsTheOldest(t *testing.T) {
	t.Parallel()
	r := newRecent(3)
	mark := func(i int) sent { return sent{Key: task.Key{RunID: int64(i)}, delivery: 1} }
	for i := range 5 {
		r.add(mark(i))
		r.add(mark(i))
	}
	require.Equal(t, []bool{false, false, true, true, true},
		[]bool{r.has(mark(0)), r.has(mark(1)), r.has(mark(2)), r.has(mark(3)), r.has(mark(4))})
	require.False(t, r.has(sent{Key: task.Key{RunID: 4}, delivery: 2}), "the next delivery is another")
	require.Len(t, r.set, 3)
}
