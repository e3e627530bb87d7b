package operate

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newTasksEdit(a *settings.Source) *cobra.Command {
	var revision int64
	cmd := taskChangeCommand(a, &cobra.Command{
		Use:   "edit NAME",
		Short: "Changes a task",
		Long: `Changes the fields that flags or a file give, and keeps the others. A task that could not run is refused. A
change applies to one revision of the task: that of --revision or of the file, otherwise the present one. It
is refused if somebody else has changed the task since.`,
		Example: `  adsync tasks edit {media}.report_daily.account --cron '*/5 * * * *' --lane bulk
  adsync tasks show {media}.report_daily.account --output json > task.json; vi task.json
  adsync tasks edit {media}.report_daily.account --file task.json`,
		Args: taskArg,
	}, func(r *api.Request, body map[string]json.RawMessage, args []string) (err error) {
		if text, ok := body["name"]; ok {
			var name string
			if json.Unmarshal(text, &name) != nil || name != args[0] {
				return usage.Errorf("the file is of the task %s, and not of %s: a task keeps its name", table.Clean(string(text)),
					args[0])
			}
			delete(body, "name")
		}
		if r.Flags().Changed("revision") {
			if body["revision"], err = json.Marshal(revision); err != nil {
				return err
			}
		}
		_, known := body["revision"]
		if len(body) == 0 || known && len(body) == 1 {
			return usage.Errorf("nothing is to be changed: give a field, such as --cron, or --file")
		}
		if !known {
			if body["revision"], err = rowRevision(r, args[0]); err != nil {
				return err
			}
		}
		return api.Send(r, http.MethodPatch, taskPath(args[0]), body, show.ChangedTask("Changed"))
	})
	cmd.Flags().Int64Var(&revision, "revision", 0,
		"the revision that was read; without it that of the file, or the present one")
	return cmd
}

// rowRevision returns the revision that the row of a task has now.
func rowRevision(r *api.Request, name string) (json.RawMessage, error) {
	c, err := r.Producer()
	if err != nil {
		return nil, err
	}
	k, err := c.GetTask(r.Context(), name)
	if err != nil {
		return nil, api.WithRemedy(err)
	}
	return json.Marshal(cmp.Or(k.RowRevision, k.Revision))
}
