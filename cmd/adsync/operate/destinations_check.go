package operate

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newDestinationsCheck(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "check NAME",
		Aliases: []string{"test"},
		Short:   "Tries whether files can be delivered to a destination",
		Long: `Writes a small file at the destination, reads it back, renames it and deletes it. The producer that answers
does it: consumers, which deliver the files, may stand in another network. It exits with 1, and names the step that
failed, if the destination cannot be used.`,
		Example: "  adsync destinations check depot",
		Args:    destinationArg,
	}, func(r *api.Request, args []string) error {
		answer, err := r.Call(http.MethodPost, destinationPath(args[0])+"/test", nil)
		if err != nil {
			return err
		}
		return printDestinationTest(r, answer)
	})
}

// printDestinationTest prints the result, and returns the failure of one that failed in any form of output.
func printDestinationTest(r *api.Request, answer []byte) error {
	var result client.DestinationTest
	if err := json.Unmarshal(answer, &result); err != nil {
		return err
	}
	if r.JSON() {
		if err := api.Print(r, answer, show.DestinationTest); err != nil {
			return err
		}
		if result.Ok {
			return nil
		}
	}
	return show.DestinationTest(r.OutOrStdout(), &result)
}
