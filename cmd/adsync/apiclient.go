package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
)

const (
	serverVariable = "ADSYNC_SERVER"
	tokenVariable  = "ADSYNC_TOKEN" //nolint:gosec // The name of the variable, not a token.

	apiTimeout = 2 * time.Minute
	// answerMax is how much of an answer is read.
	answerMax = 64 << 20
	// pageRows is how many rows of a list one request asks for.
	pageRows = 500
)

// apiClient calls the operators' API of a producer.
type apiClient struct {
	server string
	token  string
	http   *http.Client
}

// serverFlag is the flag of the commands that call the API.
func serverFlag(flags *pflag.FlagSet, server *string) {
	flags.StringVar(server, "server", "", "address of a producer's API, as http://host:port (or "+serverVariable+"); without it that of api.listen")
}

// apiFlags are the flags of commands that ask the API and show its answer.
type apiFlags struct{ server, output string }

func (f *apiFlags) common(flags *pflag.FlagSet) {
	serverFlag(flags, &f.server)
	flags.StringVar(&f.output, "output", "table", "table or json")
}

// ask checks the flags and returns a client.
func (f *apiFlags) ask(a *app, cmd *cobra.Command) (*apiClient, error) {
	if err := oneOf("output", f.output, "table", "json"); err != nil {
		return nil, err
	}
	return a.client(cmd, f.server)
}

// call sends a request and shows its answer.
func (f *apiFlags) call(a *app, cmd *cobra.Command, method, path string, query url.Values, body any, forPeople func(io.Writer, []byte) error) error {
	c, err := f.ask(a, cmd)
	if err != nil {
		return err
	}
	answer, err := c.call(cmd.Context(), method, path, query, body)
	if err != nil {
		return err
	}
	return show(cmd.OutOrStdout(), f.output, answer, forPeople)
}

// listFlags are the flags of commands that list what comes in pages.
type listFlags struct {
	apiFlags

	limit int
}

func (f *listFlags) common(flags *pflag.FlagSet) {
	f.apiFlags.common(flags)
	flags.IntVar(&f.limit, "limit", 50, "how many to list at most")
}

// list shows up to --limit rows of a list; rows is their name in the answer.
func (f *listFlags) list(a *app, cmd *cobra.Command, path string, query url.Values, rows string, forPeople func(io.Writer, []byte) error) error {
	if f.limit < 1 {
		return usagef("--limit is %d: want 1 or more", f.limit)
	}
	c, err := f.ask(a, cmd)
	if err != nil {
		return err
	}
	answer, err := c.pages(cmd.Context(), path, query, rows, f.limit)
	if err != nil {
		return err
	}
	return show(cmd.OutOrStdout(), f.output, answer, forPeople)
}

// given returns the values that are not empty.
func given(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// mayBeEmpty marks flags whose empty value is a value too.
const mayBeEmpty = "may be empty"

// refuseEmpty refuses a flag that was given without a value, as by a variable that is not set: what was to choose something must not come to
// choose everything.
func refuseEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if _, may := f.Annotations[mayBeEmpty]; err == nil && !may && f.Value.Type() == "string" && f.Value.String() == "" {
			err = usagef("--%s is empty: want a value, or leave it out", f.Name)
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

// client returns a client for the server of the flag, the environment or the configuration, in this order. A token is
// taken from the environment alone: a command line can be read by everyone on the machine.
func (a *app) client(cmd *cobra.Command, server string) (*apiClient, error) {
	if err := refuseEmpty(cmd.Flags()); err != nil {
		return nil, err
	}
	from := "--server"
	if server == "" {
		server, from = variable(a.environ, serverVariable), serverVariable
	}
	if server == "" {
		cfg, _, err := a.load(cmd, "dead")
		if err != nil {
			return nil, err
		}
		scheme := "http://"
		if cfg.API.TLS.CertFile != "" {
			scheme = "https://" // Its certificate must be of the host of api.listen, or --server names another.
		}
		server, from = scheme+reachable(cfg.API.Listen), "api.listen"
	}
	u, err := url.Parse(server)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil {
		return nil, usagef("%s is %q: want the address of a producer, as http://host:port", from, config.Redacted(server))
	}
	return &apiClient{server: u.Scheme + "://" + u.Host, token: variable(a.environ, tokenVariable), http: &http.Client{Timeout: apiTimeout}}, nil
}

// reachable is an address to listen on as one to call.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// call sends a request, with body as JSON unless it is nil, and returns the answer. An answer that is a problem is an
// error that says what the server said.
func (c *apiClient) call(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, c.server+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, &awayError{fmt.Errorf("ask the producer at %s: %w (is it running, and is --server right?)", c.server, err)}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, &awayError{fmt.Errorf("read the answer of %s: %w", c.server, err)}
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, refusal(response.StatusCode, answer)
	}
	return answer, nil
}

// pages reads a list up to limit rows, in as many requests as it takes, and returns one document: the answer to the first with the rows of all
// and the next of the last.
func (c *apiClient) pages(ctx context.Context, path string, query url.Values, rows string, limit int) ([]byte, error) {
	var first map[string]json.RawMessage
	all := []json.RawMessage{}
	for {
		query.Set("limit", strconv.Itoa(min(limit-len(all), pageRows)))
		answer, err := c.call(ctx, http.MethodGet, path, query, nil)
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		var some []json.RawMessage
		var next string
		err = json.Unmarshal(answer, &page)
		for name, into := range map[string]any{rows: &some, "next": &next} {
			if err == nil {
				err = json.Unmarshal(page[name], into)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read a page of %s: %w", path, err)
		}
		more := next != "" && len(all)+len(some) < limit
		if first == nil && !more {
			return answer, nil
		}
		all = append(all, some...)
		if first == nil {
			first = page
		}
		if !more {
			first["next"] = page["next"]
			if first[rows], err = json.Marshal(all); err != nil {
				return nil, err
			}
			return json.Marshal(first)
		}
		query.Set("after", next)
	}
}

// awayError says that the producer cannot answer now: it may be starting or stopping, or what it needs is away.
type awayError struct {
	err error
}

func (e *awayError) Error() string { return e.err.Error() }

func (e *awayError) Unwrap() error { return e.err }

// refusal turns a problem into an error; one about the request's values is the caller's.
func refusal(status int, body []byte) error {
	var p httpapi.Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Detail == "" {
		return fmt.Errorf("the server answers %d %s: is it a producer's API?", status, http.StatusText(status))
	}
	var text strings.Builder
	if len(p.Errors) > 0 { // They come right below.
		p.Detail = strings.TrimSuffix(p.Detail, ": see errors.") + ":"
	}
	text.WriteString(p.Detail)
	for _, e := range p.Errors {
		fmt.Fprintf(&text, "\n  %s: %s", e.Field, e.Detail)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		fmt.Fprintf(&text, "\nSet %s to a token of the role that this needs.", tokenVariable)
	case http.StatusUnprocessableEntity:
		return usagef("%s", text.String())
	case http.StatusServiceUnavailable:
		return &awayError{errors.New(text.String())}
	}
	return fmt.Errorf("%s", text.String())
}
