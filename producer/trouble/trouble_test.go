package trouble_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/producer/trouble"
)

func TestLoops_ReportsWhatLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &trouble.Loops{}
		require.NoError(t, tr.Problem())
		tr.Set("plan", errors.New("deadlock"))
		require.NoError(t, tr.Problem(), "what the next turn fixes is no news")
		time.Sleep(trouble.After)
		tr.Set("plan", errors.New("connection refused"))
		tr.Set("due", errors.New("connection refused"))
		require.EqualError(t, tr.Problem(), `the leader's loop "plan" has failed for 5s: connection refused`)
		time.Sleep(trouble.After)
		require.ErrorContains(t, tr.Problem(), `the leader's loop "due" has failed for 5s`)
		require.ErrorContains(t, tr.Problem(), `the leader's loop "plan" has failed for 10s`)
		tr.Set("plan", nil)
		require.EqualError(t, tr.Problem(), `the leader's loop "due" has failed for 5s: connection refused`)
		require.Equal(t, []string{"due"}, tr.Failing())
		tr.Clear()
		require.NoError(t, tr.Problem())
	})
}
