package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/roster"
	"adsync/media/client"
)

func TestSlow_ReturnsRecentSlowEndpointsAndTheirAccounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s client.Slowness
		for range 19 {
			s.Observe("funds/get", 7, time.Second)
		}
		require.Empty(t, s.Slow(), "nothing was")
		s.Observe("funds/get", 8, client.SlowAfter)
		s.Observe("funds/get", 8, client.SlowAfter+4*time.Second)
		s.Observe("token", 0, 30*time.Second)
		want := []roster.Slow{
			{Media: "tulip", Endpoint: "funds/get", Calls: 21, Slow: 2, Seconds: 10, Accounts: []string{"8"}},
			{Media: "tulip", Endpoint: "token", Calls: 1, Slow: 1, Seconds: 30},
		}
		require.ElementsMatch(t, want, s.Slow())

		time.Sleep(61 * time.Second)
		s.Observe("funds/get", 9, client.SlowAfter)
		for _, slow := range s.Slow() {
			if slow.Endpoint == "funds/get" {
				require.Equal(t, []string{"8", "9"}, slow.Accounts, "the minute before counts too")
			}
		}
		for range 40 {
			s.Observe("funds/get", 7, time.Second)
		}
		require.Len(t, s.Slow(), 1, "3 of 62 are less than one in twenty")

		time.Sleep(5 * time.Minute)
		require.Empty(t, s.Slow(), "the slow calls are too old")
	})
}
