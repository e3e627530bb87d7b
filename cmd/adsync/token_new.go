package main

import (
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"adsync/base/httpapi"
	"adsync/cmd/adsync/internal/usage"
)

// tokenName is what a name may be, so that it fits into a line of YAML.
var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@-]{0,95}$`)

func newTokenNew() *cobra.Command {
	var name, role string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Makes a token and prints it once, with the line for api.tokens",
		Long: `Makes a token of 256 random bits. Standard output gets the token, for the person or program that uses it: it
is stored nowhere. Standard error gets the entry of api.tokens that admits it; the token cannot be derived
from the entry. Add the entry to the settings of all producers and restart them; remove it there to end the
token.

Roles: a viewer reads, an operator also runs and repeats work, an admin also changes settings.`,
		Example: `  adsync token new --name otto --role operator
  adsync token new --name grafana --role viewer > token.txt   # the file has only the token`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !tokenName.MatchString(name) {
				return usage.Errorf("--name is %q: want its holder, up to 96 letters, digits, dots, dashes, underscores and @",
					name)
			}
			if err := usage.OneOf("role", role, string(httpapi.Viewer), string(httpapi.Operator),
				string(httpapi.Admin)); err != nil {
				return err
			}
			token := httpapi.NewToken()
			fmt.Fprintln(cmd.OutOrStdout(), token.Reveal())
			_, err := fmt.Fprintf(cmd.ErrOrStderr(),
				"\nThe line above is the token: it is shown only once. For api.tokens in the settings of all producers:\n\n- "+
					"{name: %q, role: %s, token: %q}\n", name, role, httpapi.HashToken(token))
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the holder of the token, as the audit log shows it")
	cmd.Flags().StringVar(&role, "role", string(httpapi.Viewer), "viewer, operator or admin")
	return cmd
}
