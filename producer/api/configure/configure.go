// Package configure has the routes with which operators change their rows of the config database: lanes, call limits,
// and the games of accounts. Package api mounts them.
package configure

import (
	"context"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// openRunsMax is how many open runs are searched: far more than an installation has.
const openRunsMax = 10_000

// RunStore searches runs.
type RunStore interface {
	SearchRuns(ctx context.Context, f ledger.RunSearch) ([]ledger.Run, error)
}

// OpenRuns returns the open runs that match, the newest first.
func OpenRuns(ctx context.Context, s RunStore, match func(r *ledger.Run) bool) (open []ledger.Run, err error) {
	states := []task.RunState{task.RunFanningOut, task.RunRunning}
	runs, err := s.SearchRuns(ctx, ledger.RunSearch{States: states, Limit: openRunsMax})
	for i := range runs {
		if match(&runs[i]) {
			open = append(open, runs[i])
		}
	}
	return open, err
}

// editor returns the caller as the editor of rows that operators own.
func editor(c *gin.Context, action string) settings.Editor {
	return settings.Editor{Actor: httpapi.CallerOf(c).Name, Action: action}
}
