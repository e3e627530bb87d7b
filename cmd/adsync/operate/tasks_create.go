package operate

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newTasksCreate(a *settings.Source) *cobra.Command {
	var name string
	cmd := taskChangeCommand(a, &cobra.Command{
		Use:   "create",
		Short: "Makes a new task",
		Long: `Makes a new task of flags, or of a file with its JSON. It needs a name, a media, a handler, and a cron or the
tasks that it runs after. The other fields have the defaults of their columns. A task that could not run is
refused.`,
		Example: `  adsync tasks create --name {media}.report_daily.second_look --media {media} \
    --handler {media}.report_daily \
    --params '{"level": "account", "days": 3}' --cron '~ 14 * * *' --timezone Asia/Shanghai
  adsync tasks show {media}.report_daily.account --output json |
    adsync tasks create --file - --name a.copy --enabled=false`,
	}, func(r *api.Request, body map[string]json.RawMessage, _ []string) (err error) {
		delete(body, "revision")
		if name != "" {
			if body["name"], err = json.Marshal(name); err != nil {
				return err
			}
		}
		if len(body["name"]) == 0 {
			return usage.Errorf("want the new task's name: --name, or name in --file")
		}
		return api.Send(r, http.MethodPost, tasksPath, body, show.ChangedTask("Created"))
	})
	cmd.Flags().StringVar(&name, "name", "", "its name")
	return cmd
}
