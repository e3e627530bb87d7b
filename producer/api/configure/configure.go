// Package configure has the routes by which operators change what they own in the config database: lanes, call
// limits, and to which games accounts belong. Package api mounts them.
package configure

import (
	"context"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// openRunsMax is how many open runs are looked through: far more than there are.
const openRunsMax = 10_000

// RunStore searches runs.
type RunStore interface {
	SearchRuns(ctx context.Context, f ledger.RunSearch) ([]ledger.Run, error)
}

// OpenRuns returns the open runs that are meant, the newest first.
func OpenRuns(ctx context.Context, s RunStore, meant func(r *ledger.Run) bool) (open []ledger.Run, err error) {
	states := []task.RunState{task.RunFanningOut, task.RunRunning}
	runs, err := s.SearchRuns(ctx, ledger.RunSearch{States: states, Limit: openRunsMax})
	for i := range runs {
		if meant(&runs[i]) {
			open = append(open, runs[i])
		}
	}
	return open, err
}

// editor is the caller, who changes rows that operators own.
func editor(c *gin.Context, action string) settings.Editor {
	return settings.Editor{Actor: httpapi.CallerOf(c).Name, Action: action}
}
