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
		Short: "Lists who changed what",
		Long: `Lists what people and programs changed through the API, the command line and SQL, the newest first. For a
changed row it shows the columns that changed. For an order it shows what was ordered, or why it was not
carried out.`,
		Example: `  adsync audit --object cron_task/{media}.report_daily.account
  adsync audit --actor sql --since 24h`,
	})
	api.Param(cmd, "actor", "only changes by this actor: a token's name, cli: and a user, adsync, or sql")
	api.Param(cmd, "object", "only changes of this object and of those below it, such as cron_task")
	api.TimeParam(cmd, "since", "only changes since: "+api.SinceSyntax+"24h")
	api.TimeParam(cmd, "until", "only changes until then")
	return cmd
}
