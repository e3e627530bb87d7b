package jobqueue

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
	"adsync/jobs"
)

// administration is the address on which tokens are made.
var administration = endpoint{name: "the administration of the job queue", setting: "jobs.admin_listen", flag: "admin",
	variable: adminVariable, standard: "http://" + jobs.DefaultConfig().AdminListen,
	login: "set " + passwordVariable + " to jobs.admin_password of the server, and --admin-user to its jobs.admin_user"}

func newJobsToken(a *settings.Source) *cobra.Command {
	var user, description, roles string
	cmd := command(a, &administration, &cobra.Command{
		Use:   "token NAMESPACE",
		Short: "Lists the tokens of a namespace, or makes one",
		Long: `Lists the first letters of a namespace's tokens and their descriptions. With --new it makes a token and prints
it. That is the only time that the token is shown: the server has only its hash. It calls the administration of
the job queue. If that needs a password, set ` + passwordVariable + `.

Roles: produce publishes, consume claims and acknowledges, admin changes queues and dead letters.`,
		Example: `  adsync jobs token shop
  adsync jobs token shop --new 'order service' --roles produce,consume
  ` + adminVariable + `=http://queue:7778 adsync jobs token shop`,
		Args: oneNamespace,
	}, func(c *client) error {
		password := settings.Variable(a.Environ, passwordVariable)
		if password != "" {
			c.authorise = func(q *http.Request) { q.SetBasicAuth(user, password) }
		}
		return nil
	}, func(r *request, args []string) error {
		path := "/token/" + args[0]
		switch {
		case description != "":
			return newToken(r, path, description, roles)
		case roles != "":
			return usage.Errorf("--roles goes with --new")
		}
		return send(r, http.MethodGet, path, nil, printTokens)
	})
	cmd.Flags().StringVar(&user, "admin-user", "admin", "the user whose password "+passwordVariable+" has")
	cmd.Flags().StringVar(&description, "new", "", "make a token with this description, such as the program that uses it")
	cmd.Flags().StringVar(&roles, "roles", "", "with --new: what it may do, such as produce,consume; all if left out")
	return cmd
}

// newToken makes a token and prints it.
func newToken(r *request, path, description, roles string) error {
	query := url.Values{"description": {description}}
	if roles != "" {
		query.Set("roles", roles)
	}
	return send(r, http.MethodPost, path, query, func(w io.Writer, t *struct {
		Token string `json:"token"`
	}) error {
		if _, err := fmt.Fprintln(w, table.Clean(t.Token)); err != nil {
			return err
		}
		_, err := fmt.Fprintln(r.ErrOrStderr(), "\nThe line above is the token: it is shown only once.")
		return err
	})
}

// tokenList are the first letters of tokens, with their descriptions.
type tokenList struct {
	Tokens map[string]string `json:"tokens"`
}

func printTokens(w io.Writer, l *tokenList) error {
	if len(l.Tokens) == 0 {
		_, err := fmt.Fprintln(w, "There are no tokens: --new makes one.")
		return err
	}
	t := table.New(w)
	t.Row("TOKEN", "DESCRIPTION")
	for _, begin := range slices.Sorted(maps.Keys(l.Tokens)) {
		t.Row(begin, l.Tokens[begin])
	}
	return t.Flush()
}
