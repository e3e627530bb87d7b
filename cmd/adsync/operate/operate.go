// Package operate has the commands with which people operate a deployment. Most of them call a producer's API. The
// file of a command has its name, and what the commands of a group share is in the file of the group.
package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

// Commands returns the commands that operate a deployment.
func Commands(a *settings.Source) []*cobra.Command {
	return []*cobra.Command{
		newOverview(a), newTasks(a), newRuns(a), newSubtasks(a), newDead(a),
		newPause(a), newResume(a), newPauses(a), newCancel(a), newCancels(a),
		newAccounts(a), newGames(a), newCoverage(a), newChanges(a), newReconcile(a), newFields(a),
		newLanes(a), newLimits(a), newConsumers(a), newFloors(a), newKinds(a), newAudit(a), newLogLevel(a),
		newDestinations(a), newSubscriptions(a), newPublications(a), newCopies(a), newPlatforms(a),
	}
}
