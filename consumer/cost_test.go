package consumer

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/media"
)

// allocationsMax is how many allocations a subtask may cost between its message and its outcome, the store's and the
// broker's not counted. It holds on any machine; raise it knowingly.
const allocationsMax = 44

// It is not parallel, because the allocations of other tests would count.
func TestConsumer_AllocationsOfASubtask(t *testing.T) { //nolint:paralleltest // See above.
	c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result,
		error) {
		return media.Result{}, nil
	}))
	const n = 1000
	messages := make([]*broker.Message, n)
	for i := range messages {
		messages[i] = message(s.wants(envelope(int64(i+1))), "")
	}
	require.NoError(t, c.Start(t.Context()))
	defer c.Stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, m := range messages {
		k.member(acmeNormal).deliver(m)
	}
	k.member(acmeNormal).working.Wait()
	runtime.ReadMemStats(&after)
	each := float64(after.Mallocs-before.Mallocs) / n
	t.Logf("%.1f allocations a subtask", each)
	require.LessOrEqual(t, each, float64(allocationsMax))
}
