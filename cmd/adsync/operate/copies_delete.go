package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newCopiesDelete(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "delete NAME",
		Short:   "Deletes a copy of a table",
		Long:    `Deletes a copy and how far it has come. The table that it wrote stays as it is.`,
		Example: "  adsync copies delete orders",
		Args:    copyArg,
	}, func(r *api.Request, args []string) error {
		return api.Send(r, http.MethodDelete, copyPath(args[0]), nil, show.DeletedTableCopy)
	})
}
