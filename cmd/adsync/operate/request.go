package operate

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/clock"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

const thereAreMore = "There are more."

// request is what a command asks a producer's API for.
type request struct {
	*cobra.Command

	app            *settings.Source
	server, output string
	limit          int
}

// asking makes a command one that asks the API: do carries it out. Its flags that sends has marked are the request's parameters.
func asking(a *settings.Source, cmd *cobra.Command, do func(r *request, args []string) error) *cobra.Command {
	r := &request{Command: cmd, app: a}
	flags := cmd.Flags()
	flags.StringVar(&r.server, "server", "", "address of a producer's API, as http://host:port (or "+settings.ServerVariable+"); without it that of api.listen")
	flags.StringVar(&r.output, "output", "table", "table or json")
	if cmd.Args == nil {
		cmd.Args = usage.NoArgs
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := usage.OneOf("output", r.output, "table", "json"); err != nil {
			return err
		}
		if err := refuseEmpty(flags); err != nil {
			return err
		}
		return do(r, args)
	}
	return cmd
}

// listing makes a command one that shows up to --limit rows of a list, of the name rows in the answer.
func listing(a *settings.Source, path, rows string, print printer, cmd *cobra.Command) *cobra.Command {
	return askingForRows(a, cmd, func(r *request, _ []string) error { return r.list(path, rows, print) })
}

// askingForRows is asking with a --limit for list.
func askingForRows(a *settings.Source, cmd *cobra.Command, do func(r *request, args []string) error) *cobra.Command {
	var limit int
	asking(a, cmd, func(r *request, args []string) error {
		r.limit = limit
		return do(r, args)
	})
	cmd.Flags().IntVar(&limit, "limit", 50, "how many to list at most")
	return cmd
}

// The marks of flags.
const (
	parameter   = "parameter"    // Its value goes into the request.
	instant     = "instant"      // It is a time, or how long ago that is.
	mayBeEmpty  = "may be empty" // An empty value is a value too.
	sinceSyntax = "a time such as 2026-11-21T10:30:00Z, or how long ago, such as "
)

// param adds a flag that is a parameter of the request.
func param(cmd *cobra.Command, name, usage string) {
	cmd.Flags().String(name, "", usage)
	sends(cmd, name)
}

// instantParam adds a flag that is a parameter of the request, and a time.
func instantParam(cmd *cobra.Command, name, usage string) {
	param(cmd, name, usage)
	_ = cmd.Flags().SetAnnotation(name, instant, nil) // The flag is there.
}

// sends makes flags parameters of the request.
func sends(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.Flags().SetAnnotation(name, parameter, nil) // The flag is there.
	}
}

// params are the parameters that were given, by their names in the API. Those that are zero or false are left out.
func (r *request) params() map[string]any {
	params := map[string]any{}
	r.Flags().Visit(func(f *pflag.Flag) {
		if _, is := f.Annotations[parameter]; !is || f.Value.String() == "0" || f.Value.String() == "false" {
			return
		}
		var value any = f.Value.String()
		switch f.Value.Type() {
		case "int":
			value, _ = r.Flags().GetInt(f.Name) // It is one.
		case "bool":
			value = true
		}
		if _, is := f.Annotations[instant]; is {
			value = sinceWhen(f.Value.String())
		}
		params[strings.ReplaceAll(f.Name, "-", "_")] = value
	})
	return params
}

// query is params in an address.
func (r *request) query() url.Values {
	query := url.Values{}
	for name, value := range r.params() {
		query.Set(name, fmt.Sprint(value))
	}
	return query
}

// get asks for what is at a path, and shows it.
func (r *request) get(path string, print printer) error {
	return r.send(http.MethodGet, path, nil, print)
}

// send sends a request, and shows its answer. One without a body has the parameters in its address.
func (r *request) send(method, path string, body any, print printer) error {
	answer, err := r.answer(method, path, body)
	if err != nil {
		return err
	}
	return r.show(answer, print)
}

// answer sends a request as send does, and returns its answer.
func (r *request) answer(method, path string, body any) ([]byte, error) {
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	var query url.Values
	if body == nil {
		query = r.query()
	}
	return c.Call(r.Context(), method, path, query, body)
}

// list shows up to --limit rows of a list, of the name rows in the answer.
func (r *request) list(path, rows string, print printer) error {
	if r.limit < 1 {
		return usage.Errorf("--limit is %d: want 1 or more", r.limit)
	}
	c, err := r.client()
	if err != nil {
		return err
	}
	answer, err := c.Pages(r.Context(), path, r.query(), rows, r.limit)
	if err != nil {
		return err
	}
	return r.show(answer, print)
}

func (r *request) client() (producer, error) { return reach(r.app, r.Command, r.server) }

// show prints an answer in the form that was asked for.
func (r *request) show(answer []byte, print printer) error {
	if r.output == "json" {
		return table.JSON(r.OutOrStdout(), answer)
	}
	return print(r.OutOrStdout(), answer)
}

// printer prints an answer for people.
type printer func(io.Writer, []byte) error

// printing makes a printer of one that is given the answer's values.
func printing[T any](print func(io.Writer, *T) error) printer {
	return func(w io.Writer, answer []byte) error {
		var values T
		if err := json.Unmarshal(answer, &values); err != nil {
			return err
		}
		return print(w, &values)
	}
}

// rowsOf makes a printer of the rows that have a name in the answer: with what is said if there are none, the names of the columns, what is said if there
// are more, and what prints one.
func rowsOf[R any](name, none, columns, more string, print func(table.Table, *R)) printer {
	return printing(func(w io.Writer, answer *map[string]json.RawMessage) error {
		var rows []R
		if text := (*answer)[name]; text != nil {
			if err := json.Unmarshal(text, &rows); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			_, err := fmt.Fprintln(w, none)
			return err
		}
		t := table.New(w)
		t.Head(columns)
		for i := range rows {
			print(t, &rows[i])
		}
		if next := (*answer)["next"]; len(next) > 0 && string(next) != `""` && string(next) != "null" {
			t.Head(more)
		}
		return t.Flush()
	})
}

// moreBy says that there are more rows than were listed.
func moreBy(filters string) string { return "There are more: raise --limit, or choose by " + filters }

// refuseEmpty refuses a flag that was given without a value, as by a variable that is not set: what was to choose something must not come to
// choose everything.
func refuseEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if _, may := f.Annotations[mayBeEmpty]; err == nil && !may && f.Value.Type() == "string" && f.Value.String() == "" {
			err = usage.Errorf("--%s is empty: want a value, or leave it out", f.Name)
		}
	})
	return err
}

// sinceWhen is a time as the API takes it, of one that was given as such or as how long ago it is.
func sinceWhen(text string) string {
	if ago, err := time.ParseDuration(text); err == nil {
		return clock.System{}.Now().Add(-ago).UTC().Format(time.RFC3339Nano)
	}
	return text
}
