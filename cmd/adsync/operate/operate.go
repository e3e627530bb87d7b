// Package operate has the commands with which people operate a deployment: most of them ask a producer's API. The file of
// a command has its name.
package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

// Commands returns the commands.
func Commands(a *settings.Source) []*cobra.Command {
	return []*cobra.Command{
		newOverview(a), newTasks(a), newRuns(a), newSubtasks(a), newDead(a), newPause(a), newResume(a), newPauses(a), newCancel(a), newCancels(a),
		newAccounts(a), newCoverage(a), newChanges(a), newReconcile(a), newFields(a), newLimits(a), newConsumers(a), newAudit(a), newLogLevel(a),
	}
}
