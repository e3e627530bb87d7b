package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

const destinationsPath = "/api/v1/destinations"

func newDestinations(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "destinations",
		Short: "Shows, changes and tries the places where report files are delivered",
		Long: `A destination is a directory, an S3 bucket, or a directory of an SFTP, FTPS or FTP server. Its password and its
key are stored encrypted and are never shown. "adsync subscriptions" has the files that are delivered there.`,
		Example: `  adsync destinations list
  adsync destinations put depot --kind dir --address /srv/reports
  adsync destinations check depot`,
	})
	cmd.AddCommand(newDestinationsList(a), newDestinationsShow(a), newDestinationsPut(a), newDestinationsDelete(a),
		newDestinationsCheck(a))
	return cmd
}

// destinationArg takes the name of a destination.
var destinationArg = usage.Args(1, `the name of a destination: "adsync destinations list" lists them`)

func destinationPath(name string) string { return destinationsPath + "/" + url.PathEscape(name) }
