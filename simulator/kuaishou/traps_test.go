package kuaishou_test

import (
	"encoding/json"
	"testing"

	"adsync/simulator/fault/trap"
	"adsync/simulator/kuaishou"
	"adsync/simulator/simtest"
)

// unmet are traps that no call of this platform can meet: numbered pages reach all rows, a report has all of its rows,
// and no call names several accounts. Days of 23 and 25 hours are in other months.
var unmet = []trap.ID{trap.BeyondPages, trap.RowsOverCap, trap.ForbiddenID, trap.OddDay}

func TestTraps_AllStrike(t *testing.T) {
	t.Parallel()
	simtest.Traps(t, kuaishou.New, unmet, func(t *testing.T, x *simtest.Sim, id trap.ID) {
		t.Helper()
		s := &sim{x, t}
		a := s.Account(0)
		s.Assume("task_polls", 0)
		days := fields{"start_date": "2026-11-14", "end_date": "2026-11-15"}
		for page := range 3 {
			at := fields{"page": page + 1, "page_size": 20, "status": -2}
			s.call(a, unitReport, with(days, "page", page+1, "page_size", 20))
			s.call(a, unitReport, with(days, "page", page+1, "page_size", 20, "temporal_granularity", "HOURLY"))
			s.call(a, accountReport, with(days, "page", page+1, "temporal_granularity", "HOURLY"))
			s.call(a, "gw/dsp/unit/list", at)
			s.call(a, videoList, at)
		}
		w := s.call(a, taskCreate, fields{"task_name": trap.Catalogue[id].Name,
			"task_params": with(history, "end_date", "2026-11-15")})
		if id, created := simtest.Decoded(t, w)["data"].(fields); created {
			s.download(a, id["task_id"].(json.Number))
		}
		simtest.Refresh(t, id, func() {
			s.oauth("refresh_token", fields{"refresh_token": s.Credentials().Logins[0].RefreshToken})
		})
	})
}
