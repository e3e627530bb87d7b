package producer

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
)

func TestTroubles_TellsWhatLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &troubles{}
		require.NoError(t, tr.problem())
		tr.set("plan", errors.New("deadlock"))
		require.NoError(t, tr.problem(), "what the next turn mends is no news")
		time.Sleep(troubleAfter)
		tr.set("plan", errors.New("connection refused"))
		tr.set("due", errors.New("connection refused"))
		require.EqualError(t, tr.problem(), `the leader's work "plan" fails for 5s: connection refused`)
		time.Sleep(troubleAfter)
		require.ErrorContains(t, tr.problem(), `the leader's work "due" fails for 5s`)
		require.ErrorContains(t, tr.problem(), `the leader's work "plan" fails for 10s`)
		tr.set("plan", nil)
		require.EqualError(t, tr.problem(), `the leader's work "due" fails for 5s: connection refused`)
		tr.clear()
		require.NoError(t, tr.problem())
	})
}

func TestReady_TellsOfTasksThatAreNotLoaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &Producer{cfg: DefaultConfig(), tasks: &taskSet{loadedAt: clock.Mark()}}
		time.Sleep(3 * p.cfg.ReloadInterval)
		require.NoError(t, p.Ready(t.Context()), "what the next reload mends is no news")
		time.Sleep(time.Second)
		require.ErrorContains(t, p.Ready(t.Context()), "the tasks were last loaded ")
	})
}
