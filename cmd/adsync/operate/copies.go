package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

const copiesPath = "/api/v1/copies"

func newCopies(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "copies",
		Short: "Shows, changes and checks the copies of tables of other databases",
		Long: `A copy reads a table of a database of the setting sources every ten minutes, and writes its rows into the table
copy_NAME of the data database. You create that table: its columns are those that are copied. One copy may have
the target partner_daily: the business's own figures.`,
		Example: `  adsync copies put orders --source erp --table orders --key id --cursor updated_at
  adsync copies check orders
  adsync copies list`,
	})
	cmd.AddCommand(newCopiesList(a), newCopiesShow(a), newCopiesPut(a), newCopiesDelete(a), newCopiesCheck(a))
	return cmd
}

// copyArg takes the name of a copy.
var copyArg = usage.Args(1, `the name of a copy: "adsync copies list" lists them`)

func copyPath(name string) string { return copiesPath + "/" + url.PathEscape(name) }
