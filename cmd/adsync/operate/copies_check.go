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

func newCopiesCheck(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "check NAME",
		Short: "Checks whether a copy of a table can run",
		Long: `Connects to the source and reads the columns of both tables; it copies nothing. The producer that answers does
it: consumers, which copy, may stand in another network. It exits with 1, and names what is wrong and what would be
right, if the copy cannot run.`,
		Example: "  adsync copies check orders",
		Args:    copyArg,
	}, func(r *api.Request, args []string) error {
		answer, err := r.Call(http.MethodPost, copyPath(args[0])+"/check", nil)
		if err != nil {
			return err
		}
		var result client.TableCopyCheck
		if err := json.Unmarshal(answer, &result); err != nil {
			return err
		}
		if r.JSON() {
			if err := api.Print(r, answer, show.TableCopyCheck); err != nil || result.Ok {
				return err
			}
		}
		return show.TableCopyCheck(r.OutOrStdout(), &result)
	})
}
