package kuaishou_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/fault/trap"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

// unmet are traps that no call of this platform can meet: numbered pages reach all rows, a report has all of its rows,
// and no call names several accounts. Days of 23 and 25 hours are in other months.
var unmet = []trap.ID{trap.BeyondPages, trap.RowsOverCap, trap.ForbiddenID, trap.OddDay}

func TestTraps_AllStrike(t *testing.T) {
	t.Parallel()
	for id, x := range trap.Catalogue {
		if slices.Contains(unmet, trap.ID(id)) {
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 15, 7, 50, 0, 0, world.Zone)
			if trap.ID(id) == trap.DayEnded {
				now = time.Date(2026, 11, 16, 0, 5, 0, 0, world.Zone)
			}
			require.Positive(t, meet(t, x.Name, now), "how often it was met")
		})
	}
}

// meet makes calls in a world with a trap, whose clock runs: traps that only time ends are off while it is frozen. It
// returns how often the trap was met.
func meet(t *testing.T, name string, now time.Time) int64 {
	t.Helper()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Order("clock", fields{"now": now, "speed": 1, "frozen": false})
	s.Order("traps", fields{"name": name, "on": true})
	s.assume("task_polls", 0)
	days := fields{"start_date": "2026-11-14", "end_date": "2026-11-15"}
	for page := range 3 {
		at := fields{"page": page + 1, "page_size": 20, "status": -2}
		s.call(a, unitReport, with(days, "page", page+1, "page_size", 20))
		s.call(a, unitReport, with(days, "page", page+1, "page_size", 20, "temporal_granularity", "HOURLY"))
		s.call(a, accountReport, with(days, "page", page+1, "temporal_granularity", "HOURLY"))
		s.call(a, "gw/dsp/unit/list", at)
		s.call(a, videoList, at)
	}
	w := s.call(a, taskCreate, fields{"task_name": name, "task_params": with(history, "end_date", "2026-11-15")})
	if id, created := simtest.Decoded(t, w)["data"].(fields); created {
		s.download(a, id["task_id"].(json.Number))
	}
	refresh := func() { s.oauth("refresh_token", fields{"refresh_token": s.Credentials().Logins[0].RefreshToken}) }
	if name == trap.Catalogue[trap.RefreshCut].Name {
		require.Panics(t, refresh, "the connection is cut")
	} else {
		refresh()
	}
	var all []trap.Trap
	require.NoError(t, json.Unmarshal(s.Do(httptest.NewRequest(http.MethodGet, "/_sim/traps", nil)).Body.Bytes(), &all))
	at := slices.IndexFunc(all, func(x trap.Trap) bool { return x.Name == name })
	return all[at].Met
}
