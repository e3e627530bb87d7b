package consumer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Wherever a subtask that waits for the floor gives up, the next one gets it, and others work as before.
func TestFloor_OneThatGivesUpLeavesItToTheNext(t *testing.T) {
	t.Parallel()
	lane := laneName{media: "acme", lane: "normal"}
	for name, wait := range map[string]func(t *testing.T, f *floor, c *claims) (over func()){
		"while another one of this process has it": func(t *testing.T, f *floor, _ *claims) func() {
			t.Helper()
			leave, release, err := f.enter(t.Context(), 0, time.Hour)
			require.NoError(t, err)
			return func() {
				leave()
				release()
			}
		},
		"while another process has claimed it": func(t *testing.T, _ *floor, c *claims) func() {
			t.Helper()
			claim, err := c.claimFloor(t.Context(), lane, time.Hour)
			require.NoError(t, err)
			return func() { c.releaseFloor(t.Context(), lane, claim) }
		},
		"while others work in the lane": func(t *testing.T, f *floor, _ *claims) func() {
			t.Helper()
			require.NoError(t, f.slots.acquire(t.Context(), 0))
			return f.slots.release
		},
		"while another process has not heard of it": func(t *testing.T, _ *floor, c *claims) func() {
			t.Helper()
			busy := newFloor(newSlots(1, func(int) {}), c, lane)
			_ = busy.slots.seize()
			c.syncLaneStates(t.Context(), []*floor{busy})
			return func() { <-time.After(2 * laneStateTTL) } // It is taken for dead.
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mine, _, r := newClaims(t)
				other := &claims{client: r.Client(t), keys: mine.keys, node: "n/2", clock: mine.clock, causes: noCauses()}
				f := newFloor(newSlots(1, func(int) {}), mine, lane)
				over := wait(t, f, other)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(1100*time.Millisecond, cancel)
				_, _, err := f.enter(ctx, 0, time.Hour)
				require.ErrorIs(t, err, context.Canceled)
				over()
				synctest.Wait()

				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, f.slots.acquire(ctx, 0), "what is not exclusive continues")
				f.slots.release()
				leave, release, err := f.enter(ctx, 0, time.Hour)
				require.NoError(t, err, "the next one has the floor")
				leave()
				release()
				used, _ := f.slots.state()
				require.Zero(t, used)
			})
		})
	}
}
