package consumer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The next delivery of a subtask that has a floor, which a process that died has left, does not wait until another one
// of its lane has asked: that one waits for it.
func TestExclusive_OverATakeoverWhileAnotherAsks(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]bool{"held": true, "waiting for others": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, 1)
				left := floorOf(exclusive(10, time.Minute))
				left.Claim = "of one that died"
				_, err := h.ss[0].AskFloor(t.Context(), left)
				require.NoError(t, err)
				if held {
					time.Sleep(6 * time.Second)
					turn, err := h.ss[0].AskFloor(t.Context(), left)
					require.NoError(t, err)
					require.NotZero(t, turn.HeldAt)
				}
				h.deliver(0, exclusive(11, time.Minute))
				time.Sleep(8 * time.Second)
				require.Empty(t, h.at.now())
				h.deliver(0, exclusive(10, time.Minute))
				time.Sleep(3 * time.Second)
				require.Equal(t, []int64{10}, h.at.now())
				time.Sleep(10 * time.Second)
				require.Equal(t, []int64{11}, h.at.now())
				time.Sleep(10 * time.Second)
				h.stop()
			})
		})
	}
}
