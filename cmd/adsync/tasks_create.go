package main

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"
)

func newTasksCreate(a *app) *cobra.Command {
	f := &taskFlags{}
	var name string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Makes a new task",
		Long: `Makes a new task of flags, or of a file with its JSON. It needs a name, a media, a handler, and a cron or the tasks that it runs after; the
rest is as the columns of cron_task have it by themselves. What could not be used is refused.`,
		Example: `  adsync tasks create --name tencent.report_daily.second_look --media tencent --handler tencent.report_daily \
    --params '{"level": "account", "days": 3}' --cron '~ 14 * * *' --timezone Asia/Shanghai
  adsync tasks show tencent.report_daily.account --output json | adsync tasks create --file - --name a.copy --enabled=false`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := f.given(cmd)
			if err != nil {
				return err
			}
			delete(body, "revision")
			if name != "" {
				if body["name"], err = json.Marshal(name); err != nil {
					return err
				}
			}
			if len(body["name"]) == 0 {
				return usagef("want the new task's name: --name, or name in --file")
			}
			return f.call(a, cmd, http.MethodPost, tasksPath, nil, body, printChangedTask("Created"))
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&name, "name", "", "its name")
	return cmd
}
