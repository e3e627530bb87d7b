package consumer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
)

func TestRecent_RemembersMostOfTheLatest(t *testing.T) {
	t.Parallel()
	const size = 1000
	r := newRecent(size)
	mark := func(i int) sent { return sent{Key: task.Key{RunID: int64(i), Part: "p"}, delivery: 1} }
	for i := range 20 * size {
		r.add(mark(i))
		r.add(mark(i))
		require.True(t, r.has(mark(i)), "the last one in any case")
	}
	known := func(from, to int) (n int) {
		for i := from; i < to; i++ {
			if r.has(mark(i)) {
				n++
			}
		}
		return n
	}
	require.Greater(t, known(19*size+size/2, 20*size), size/4,
		"of half as many as there are places, four of five are known still, as a rule")
	require.Zero(t, known(20*size, 30*size), "none is known that was not there")
	require.LessOrEqual(t, known(0, 20*size), size)
	last := mark(20*size - 1)
	last.delivery = 2
	require.False(t, r.has(last), "the next delivery is another")
}
