package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	storesettings "adsync/base/store/settings"
	"adsync/base/task"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newLimitsEndPause(a *settings.Source) *cobra.Command {
	var all, yes bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "end-pause",
		Short: "Ends pauses that platforms ordered",
		Long: `Shows the pauses in force that a platform's answers ordered, and with --yes ends them in all processes: pauses
of calls, and of a login's token refresh, which is the endpoint token_refresh. Subtasks that wait for a call
limit become due at once. Unless --endpoint or --subject is given, subtasks that wait for a retry after a
failure become due too. A limit that is really used up is paused again by the next refusal. "adsync resume"
ends an operator's pause.`,
		Example: `  adsync limits end-pause --media {media}
  adsync limits end-pause --media {media} --endpoint adgroups/get --yes
  adsync limits end-pause --subject {media}/20000058 --yes`,
	}, func(r *api.Request, _ []string) error {
		body := r.Params()
		media := body["media"] != nil
		subject, _ := body["subject"].(string) // It may be missing.
		of, _ := storesettings.SplitName(subject)
		if !media && of == "" && !all || media && all {
			return usage.Errorf("want --media, --subject with its platform, or --all for all platforms")
		}
		if all {
			body["scope"] = task.ScopeAll
		}
		body["dry_run"] = !yes
		return api.Send(r, http.MethodPost, "/api/v1/limits/end-pause", body, show.EndedPauses)
	})
	api.Param(cmd, "media", "of this platform")
	cmd.Flags().BoolVar(&all, "all", false, "of all platforms, instead of --media")
	api.Param(cmd, "endpoint", "only of this endpoint")
	api.Param(cmd, "subject",
		"only of this app, account or login, by the id that adsync limits shows, or with its platform, such as "+
			"{media}/20000058")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}
