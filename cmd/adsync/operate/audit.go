package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newAudit(a *settings.Source) *cobra.Command {
	cmd := api.ListCommand(a, "/api/v1/audit", show.Audit, &cobra.Command{
		Use:   "audit",
		Short: "Tells who changed what",
		Long: `Lists what people and programs changed over the API, by the command line and by SQL, the newest first. Of a row that was changed it
tells the columns that changed, of an order what it was to be, or why it was not done.`,
		Example: `  adsync audit --object cron_task/{media}.report_daily.account
  adsync audit --actor sql --since 24h`,
	})
	api.Param(cmd, "actor", "only what this one did: a token's name, cli: and a user, adsync, or sql")
	api.Param(cmd, "object", "only what was done to this, or to what is below it, such as cron_task")
	api.TimeParam(cmd, "since", "only since: "+api.SinceSyntax+"24h")
	api.TimeParam(cmd, "until", "only until then")
	return cmd
}
