// Package api makes commands that call the API of a producer, and prints its answers.
package api

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
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

// Request is a command that calls the API, with its flags.
type Request struct {
	*cobra.Command

	source         *settings.Source
	server, output string
	limit          int
}

// ServerUsage is the usage of the flag --server.
const ServerUsage = "address of a producer's API, as http://host:port (or " + settings.ServerVariable +
	"); without it that of api.listen"

// Command makes cmd a command that calls the API: do carries it out. Its flags that Param and SendFlags mark are the
// request's parameters.
func Command(a *settings.Source, cmd *cobra.Command, do func(r *Request, args []string) error) *cobra.Command {
	r := &Request{Command: cmd, source: a}
	flags := cmd.Flags()
	flags.StringVar(&r.server, "server", "", ServerUsage)
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

// ListCommand makes cmd a command that prints up to --limit rows of the list at a path.
func ListCommand[R any](a *settings.Source, path string, rows show.List[R], cmd *cobra.Command) *cobra.Command {
	return LimitedCommand(a, cmd, func(r *Request, _ []string) error { return List(r, path, rows) })
}

// LimitedCommand is Command with the flag --limit, which List reads.
func LimitedCommand(a *settings.Source, cmd *cobra.Command, do func(r *Request, args []string) error) *cobra.Command {
	var limit int
	Command(a, cmd, func(r *Request, args []string) error {
		if limit < 1 {
			return usage.Errorf("--limit is %d: want 1 or more", limit)
		}
		r.limit = limit
		return do(r, args)
	})
	cmd.Flags().IntVar(&limit, "limit", 50, "how many to list at most")
	return cmd
}

// The marks of flags.
const (
	parameter  = "parameter"    // Its value goes into the request.
	instant    = "instant"      // It is a time, or how long ago that is.
	mayBeEmpty = "may be empty" // An empty value is a value too.
)

// SinceSyntax describes what a flag of TimeParam takes; an example of a duration follows it.
const SinceSyntax = "a time such as 2026-11-21T10:30:00Z, or how long ago, such as "

// Param adds a flag that is a parameter of the request.
func Param(cmd *cobra.Command, name, usage string) {
	cmd.Flags().String(name, "", usage)
	SendFlags(cmd, name)
}

// TimeParam adds a flag that is a parameter of the request, and a time.
func TimeParam(cmd *cobra.Command, name, usage string) {
	Param(cmd, name, usage)
	mark(cmd, name, instant)
}

// SendFlags makes flags parameters of the request.
func SendFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		mark(cmd, name, parameter)
	}
}

// AllowEmpty accepts the empty value of a flag.
func AllowEmpty(cmd *cobra.Command, name string) { mark(cmd, name, mayBeEmpty) }

func mark(cmd *cobra.Command, name, as string) {
	_ = cmd.Flags().SetAnnotation(name, as, nil) // The flag is there.
}

// Params returns the parameters that were given, by their names in the API. Those that are zero or false are left out.
func (r *Request) Params() map[string]any {
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

// query returns Params as the query of an address.
func (r *Request) query() url.Values {
	query := url.Values{}
	for name, value := range r.Params() {
		query.Set(name, fmt.Sprint(value))
	}
	return query
}

// Limit returns the value of --limit.
func (r *Request) Limit() int { return r.limit }

// JSON reports whether answers are printed as JSON, and not for people.
func (r *Request) JSON() bool { return r.output == "json" }

// Producer returns the producer that the command calls.
func (r *Request) Producer() (Producer, error) { return Reach(r.source, r.Command, r.server) }

// Call sends a request and returns its answer. One without a body has the parameters in its address.
func (r *Request) Call(method, path string, body any) ([]byte, error) {
	p, err := r.Producer()
	if err != nil {
		return nil, err
	}
	var query url.Values
	if body == nil {
		query = r.query()
	}
	return p.Call(r.Context(), method, path, query, body)
}

// Get prints what is at a path.
func Get[A any](r *Request, path string, print func(io.Writer, *A) error) error {
	return Send(r, http.MethodGet, path, nil, print)
}

// Send sends a request as Call does, and prints its answer.
func Send[A any](r *Request, method, path string, body any, print func(io.Writer, *A) error) error {
	answer, err := r.Call(method, path, body)
	if err != nil {
		return err
	}
	return Print(r, answer, print)
}

// List prints up to --limit rows of the list at a path, in as many requests as it takes.
func List[R any](r *Request, path string, rows show.List[R]) error {
	p, err := r.Producer()
	if err != nil {
		return err
	}
	answer, err := p.Pages(r.Context(), path, r.query(), rows.Rows, r.limit)
	if err != nil {
		return err
	}
	return Print(r, answer, rows.Print)
}

// Print prints an answer in the form that --output names.
func Print[A any](r *Request, answer []byte, print func(io.Writer, *A) error) error {
	if r.JSON() {
		return table.JSON(r.OutOrStdout(), answer)
	}
	var values A
	if err := json.Unmarshal(answer, &values); err != nil {
		return err
	}
	return print(r.OutOrStdout(), &values)
}

// refuseEmpty refuses a flag with an empty value, as of a shell variable that is not set: a filter must not turn into
// none.
func refuseEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if _, may := f.Annotations[mayBeEmpty]; err == nil && !may && f.Value.Type() == "string" && f.Value.String() == "" {
			err = usage.Errorf("--%s is empty: want a value, or leave it out", f.Name)
		}
	})
	return err
}

// sinceWhen returns a time as the API reads it. text is a time, or the duration since.
func sinceWhen(text string) string {
	if ago, err := time.ParseDuration(text); err == nil {
		return clock.System{}.Now().Add(-ago).UTC().Format(time.RFC3339Nano)
	}
	return text
}
