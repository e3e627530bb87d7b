package main

import (
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"adsync/base/httpapi"
	"adsync/cmd/adsync/internal/usage"
)

// tokenName keeps the line that is printed one line of YAML.
var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@-]{0,95}$`)

func newTokenNew() *cobra.Command {
	var name, role string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Makes a token and prints it once, with the line for api.tokens",
		Long: `Makes a token of 256 random bits. The first line printed is the token, for whoever is to use it: it is kept nowhere, and nobody
can find it from what is printed to standard error, which is the entry of api.tokens that lets it in. Add that to the settings of
all producers and restart them; take it out there to end the token.

Roles: a viewer reads, an operator also runs and repeats work, an admin also changes settings.`,
		Example: `  adsync token new --name otto --role operator
  adsync token new --name grafana --role viewer > token.txt   # the file has the token alone`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !tokenName.MatchString(name) {
				return usage.Errorf("--name is %q: want whose token it is, up to 96 letters, digits, dots, dashes, underscores and @", name)
			}
			if err := usage.OneOf("role", role, string(httpapi.Viewer), string(httpapi.Operator), string(httpapi.Admin)); err != nil {
				return err
			}
			token := httpapi.NewToken()
			fmt.Fprintln(cmd.OutOrStdout(), token.Reveal())
			_, err := fmt.Fprintf(cmd.ErrOrStderr(), "\nThe line above is the token: it is shown this once. For api.tokens in the settings of all producers:\n\n- {name: %q, role: %s, token: %q}\n", name, role, httpapi.HashToken(token))
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "whose token it is, as the audit log shows it")
	cmd.Flags().StringVar(&role, "role", string(httpapi.Viewer), "viewer, operator or admin")
	return cmd
}
