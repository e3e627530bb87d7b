package operate

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newResume(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:     "resume PAUSE",
		Short:   "Ends a pause",
		Long:    `Ends a pause before its time, by its id: "adsync pauses" lists them.`,
		Example: `  adsync resume 7529853616300212345`,
		Args:    usage.Args(1, "the id of a pause: adsync pauses lists them"),
	}, func(r *api.Request, args []string) error {
		return api.Send(r, http.MethodDelete, pausesPath+"/"+url.PathEscape(args[0]), nil, show.Stop("Ended the pause of"))
	})
	api.Param(cmd, "by", "your name, if no token carries it")
	return cmd
}
