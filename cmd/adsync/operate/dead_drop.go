package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
)

func newDeadDrop(a *settings.Source) *cobra.Command {
	return deadCommand(a, drop, &cobra.Command{
		Use:     "drop",
		Short:   "Drops dead subtasks",
		Long:    `Shows which dead subtasks would be dropped, and with --yes drops them. It cannot be taken back.`,
		Example: `  adsync dead drop --task {media}.report_daily.account --until 720h --yes`,
	})
}

// drop shows which dead subtasks would be dropped, and with yes drops exactly those: subtasks that die meanwhile stay
// as they are.
func drop(r *api.Request, body map[string]any, yes bool) error {
	const path = "/api/v1/dead/drop"
	answer, plan, err := planDead(r, path, body, show.Drop)
	if err != nil {
		return err
	}
	var undone error
	if plan.Count > 0 && yes {
		body["until"] = plan.Until
		if answer, plan, err = changeDead[client.Drop](r, path, body, false); err != nil {
			return err
		}
		left := plan
		for left.Dropped > 0 && left.Dropped < left.Count { // A request drops a limited number.
			if _, left, err = changeDead[client.Drop](r, path, body, false); err != nil {
				return fmt.Errorf("after %s dropped: %w", plural.Count(plan.Dropped, "was", "were"), err)
			}
			plan.Dropped += left.Dropped
		}
		if n := left.Count - left.Dropped; n > 0 {
			verb := "were"
			if n == 1 {
				verb = "was"
			}
			undone = fmt.Errorf("%d of the dead subtasks %s not dropped: others change them at the same time; try again", n,
				verb)
		}
		if answer, err = withDropped(answer, plan.Dropped); err != nil {
			return err
		}
	}
	switch out := r.OutOrStdout(); {
	case r.JSON():
		return errors.Join(table.JSON(out, answer), undone)
	case plan.Count > 0 && !yes:
		fmt.Fprintln(out, nothingIsDone)
	case plan.Count > 0:
		fmt.Fprintf(out, "\nDropped %d.\n", plan.Dropped)
	}
	return undone
}

// withDropped puts the sum of several requests into the answer to the first.
func withDropped(answer []byte, dropped int64) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(answer, &fields); err != nil {
		return nil, err
	}
	fields["dropped"] = json.RawMessage(strconv.FormatInt(dropped, 10))
	return json.Marshal(fields)
}
