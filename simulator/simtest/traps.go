package simtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/control"
	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// Traps requires that the calls of a platform's client meet each trap that is not in unmet. Each trap has its own world
// with 40 accounts, whose clock runs: traps that only time ends are off while it is frozen. newPlatform makes the
// platform of each world, whose asynchronous reports it holds.
func Traps(t *testing.T, newPlatform func() platform.Platform, unmet []trap.ID,
	calls func(t *testing.T, s *Sim, id trap.ID)) {
	t.Helper()
	for i, x := range trap.Catalogue {
		id := trap.ID(i)
		if slices.Contains(unmet, id) {
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 15, 7, 50, 0, 0, world.Zone)
			if id == trap.DayEnded {
				now = time.Date(2026, 11, 16, 0, 5, 0, 0, world.Zone)
			}
			s := New(t, newPlatform(), 40)
			s.Order("clock", Fields{"now": now, "speed": 1, "frozen": false})
			s.Order("traps", Fields{"name": x.Name, "on": true})
			calls(t, s, id)
			var all []trap.Trap
			w := s.Do(httptest.NewRequest(http.MethodGet, control.Prefix+"traps", nil))
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
			at := slices.IndexFunc(all, func(y trap.Trap) bool { return y.Name == x.Name })
			require.Positive(t, all[at].Met, "how often it was met")
		})
	}
}

// Refresh calls refresh, which refreshes tokens. The trap RefreshCut must cut its connection.
func Refresh(t *testing.T, id trap.ID, refresh func()) {
	t.Helper()
	if id == trap.RefreshCut {
		require.Panics(t, refresh, "the connection is cut")
	} else {
		refresh()
	}
}
