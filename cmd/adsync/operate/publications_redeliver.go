package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newPublicationsRedeliver(a *settings.Source) *cobra.Command {
	return changePublication(a, "redeliver", "Ordered again", &cobra.Command{
		Use:   "redeliver ID",
		Short: "Makes a report file again that was published or has ended",
		Long: `Runs the query of a file again, and delivers the file with its revision. It may have other rows than before:
the figures of its days may have changed. A file that is open is delivered anyway.`,
		Example: "  adsync publications redeliver 7529853616300212345",
	})
}
