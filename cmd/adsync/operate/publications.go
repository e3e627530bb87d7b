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

const publicationsPath = "/api/v1/publications"

func newPublications(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "publications",
		Short: "Shows report files, orders them and delivers them again",
		Long: `A publication is one report file of a subscription: its period, its revision, how far it has come, and what it
contains. ID is its number.`,
		Example: `  adsync publications list --state failed
  adsync publications order spend --from 2026-11-01 --to 2026-11-20 --dry-run
  adsync publications redeliver 7529853616300212345`,
	})
	cmd.AddCommand(newPublicationsList(a), newPublicationsShow(a), newPublicationsOrder(a), newPublicationsRedeliver(a),
		newPublicationsCancel(a))
	return cmd
}

// publicationArg takes the id of a report file.
var publicationArg = usage.Args(1, `the id of a file: "adsync publications list" lists them`)

func publicationPath(id string) string { return publicationsPath + "/" + url.PathEscape(id) }

// changePublication makes cmd a command that changes one file. done is the verb of what it prints.
func changePublication(a *settings.Source, action, done string, cmd *cobra.Command) *cobra.Command {
	cmd.Args = publicationArg
	return api.Command(a, cmd, func(r *api.Request, args []string) error {
		return api.Send(r, http.MethodPost, publicationPath(args[0])+"/"+action, nil, show.ChangedPublication(done))
	})
}
