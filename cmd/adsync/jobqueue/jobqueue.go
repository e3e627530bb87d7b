// Package jobqueue has the commands that call the job queue over HTTP. The file of a command has its name, and what
// the commands share is in jobqueue.go.
package jobqueue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/config"
	"adsync/base/store/jobstore"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
	"adsync/jobs"
)

// The environment variables of the commands. A token or a password is never an argument: everyone on the machine can
// read a command line.
const (
	serverVariable   = settings.JobsServerVariable
	tokenVariable    = settings.JobsTokenVariable
	adminVariable    = settings.JobsAdminVariable
	passwordVariable = "ADSYNC_JOBS_ADMIN_PASSWORD" //nolint:gosec // The name of the variable, not a password.
)

// Command returns the command group jobs.
func Command(a *settings.Source) *cobra.Command { return newJobs(a) }

// request is a command that calls the job queue, with its flags.
type request struct {
	*cobra.Command
	*client

	output string
	// patience is how much longer than callTimeout the answer may take.
	patience time.Duration
}

// json reports whether answers are printed as JSON, and not for people.
func (r *request) json() bool { return r.output == "json" }

// queueCommand makes cmd a command that calls jobs.listen with the token: do carries it out.
func queueCommand(a *settings.Source, cmd *cobra.Command, do func(r *request, args []string) error) *cobra.Command {
	return command(a, &protocol, cmd, func(c *client) error {
		token := settings.Variable(a.Environ, tokenVariable)
		if strings.ContainsFunc(token, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }) {
			return usage.Errorf("%s is not a token: it has spaces or line breaks", tokenVariable)
		}
		if token != "" {
			c.authorise = func(q *http.Request) { q.Header.Set("X-Token", token) }
			_, rest, pooled := strings.Cut(token, ":") // POOL:TOKEN
			c.hidden = token
			if pooled {
				c.hidden = rest
			}
		}
		return nil
	}, do)
}

// command makes cmd a command that calls an address of the job queue. login adds the caller's secret to the client.
func command(a *settings.Source, e *endpoint, cmd *cobra.Command, login func(*client) error,
	do func(r *request, args []string) error) *cobra.Command {
	r := &request{Command: cmd}
	var address string
	flags := cmd.Flags()
	flags.StringVar(&address, e.flag, "", fmt.Sprintf("address of %s, as http://host:port (or %s; otherwise %s)", e.name,
		e.variable, e.standard))
	flags.StringVar(&r.output, "output", "table", "table or json")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := usage.OneOf("output", r.output, "table", "json"); err != nil {
			return err
		}
		if err := refuseEmpty(flags); err != nil {
			return err
		}
		var err error
		if r.client, err = reach(a, e, address); err != nil {
			return err
		}
		if err := login(r.client); err != nil {
			return err
		}
		return do(r, args)
	}
	return cmd
}

// reach returns a client of the address that the flag, the environment or the default names, in this order.
func reach(a *settings.Source, e *endpoint, address string) (*client, error) {
	from := "--" + e.flag
	if address == "" {
		address, from = cmp.Or(settings.Variable(a.Environ, e.variable), e.standard), e.variable
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, usage.Errorf("%s is %q: want the address of %s, as http://host:port", from, config.Redacted(address),
			e.name)
	}
	return &client{endpoint: e, address: u.Scheme + "://" + u.Host, authorise: func(*http.Request) {}}, nil
}

// mayBeEmpty marks a flag whose empty value is a value too.
const mayBeEmpty = "may be empty"

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

// params returns those of some flags that were given, as the parameters of a request with the same names. Durations
// become seconds, and the protocol has only whole ones.
func (r *request) params(names ...string) (url.Values, error) {
	query := url.Values{}
	for _, name := range names {
		f := r.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		query.Set(name, f.Value.String())
		if f.Value.Type() != "duration" {
			continue
		}
		d, err := r.Flags().GetDuration(name)
		if err != nil {
			return nil, err
		}
		if d < 0 || d%time.Second != 0 {
			return nil, usage.Errorf("--%s is %s: want whole seconds, such as 30s or 10m", name, d)
		}
		query.Set(name, strconv.FormatInt(int64(d/time.Second), 10))
	}
	return query, nil
}

// The names of queues. A consumer may name several, with commas.
const (
	namespacePattern = `[A-Za-z0-9_-]{1,255}`
	queuePattern     = `[A-Za-z0-9-][A-Za-z0-9_-]{0,254}`
)

var (
	namespaceName = regexp.MustCompile(`^` + namespacePattern + `$`)
	queueName     = regexp.MustCompile(`^` + namespacePattern + `/` + queuePattern + `$`)
	queueNames    = regexp.MustCompile(`^` + namespacePattern + `/` + queuePattern + `(,` + queuePattern + `)*$`)
)

// named accepts words of which the first matches a pattern, and count the others; want describes all of them.
func named(pattern *regexp.Regexp, want string, count func(others int) bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 || !count(len(args)-1) {
			return usage.Errorf("want %s", want)
		}
		if !pattern.MatchString(args[0]) {
			return usage.Errorf("%q is not a name: want %s; names have up to 255 letters, digits, - and _, and a queue's "+
				"does not begin with _", args[0], want)
		}
		for _, id := range args[1:] {
			if _, known := jobstore.ParseID(id); !known {
				return usage.Errorf("%q is not the id of a job: want 26 capital letters and digits, as publish and consume "+
					"print them", id)
			}
		}
		return nil
	}
}

func none(others int) bool { return others == 0 }

// oneQueue and oneNamespace accept one name.
var (
	oneQueue     = named(queueName, "NAMESPACE/QUEUE, such as shop/orders", none)
	oneNamespace = named(namespaceName, "NAMESPACE, such as shop", none)
)

// apiPath returns the path of a namespace, or of NAMESPACE/QUEUE. Such names need no escapes.
func apiPath(name string) string { return "/api/" + name }

const (
	callTimeout = 2 * time.Minute
	// answerMax is how many bytes of an answer are read: 100 jobs of 1 MiB in base64 need 140 MB.
	answerMax = 256 << 20
)

// endpoint is one of the two addresses of the job queue.
type endpoint struct {
	name, setting  string // what it is, and the setting of the server that has its address
	flag, variable string // what names it
	standard       string // its address if nothing names it
	login          string // the remedy of a caller that is unknown
}

var protocol = endpoint{name: "the job queue", setting: "jobs.listen", flag: "server", variable: serverVariable,
	standard: "http://" + jobs.ListenDefault,
	login:    "set " + tokenVariable + ` to a token of the namespace: "adsync jobs token" makes one`}

// client calls one of the addresses.
type client struct {
	*endpoint

	address   string // http://host:port
	authorise func(*http.Request)
	hidden    string // the token, which no error shows
}

// refusedError is the error of a request that the server refuses.
type refusedError struct {
	status       int
	answer       []byte
	text, remedy string
}

func (e *refusedError) Error() string {
	if e.remedy == "" {
		return e.text
	}
	return e.text + " (" + e.remedy + ")"
}

// call sends a request and returns its answer. Its errors name the remedy. If the request's values are wrong, the error
// is a usage.Error.
func (r *request) call(method, path string, query url.Values, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout+r.patience)
	defer cancel()
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, method, r.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.authorise(q)
	// A redirection would send the secret to another server.
	follow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := (&http.Client{CheckRedirect: follow}).Do(q)
	if err != nil {
		return nil, r.unanswered(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, r.unanswered(err)
	}
	switch success := response.StatusCode < http.StatusMultipleChoices; {
	case success && len(answer) > 0 && !json.Valid(answer):
		return nil, r.unexpected(response.StatusCode)
	case success:
		return answer, nil
	}
	return nil, r.refused(response.StatusCode, answer)
}

// unanswered returns the error of a request without an answer.
func (r *request) unanswered(err error) error {
	if of, is := errors.AsType[*url.Error](err); is {
		err = of.Err // The address is in the text below.
	}
	text := fmt.Sprintf("call %s at %s", r.name, r.address)
	failed, is := errors.AsType[*net.OpError](err)
	switch {
	case r.Context().Err() != nil:
		return fmt.Errorf("%s: it was interrupted: %w", text, context.Canceled)
	case is && failed.Op == "dial":
		return fmt.Errorf("%s: %w (start it with \"adsync serve --role=jobs\" or \"adsync standalone\", or name another "+
			"with --%s or %s)", text, err, r.flag, r.variable)
	}
	return fmt.Errorf("%s: %w", text, err)
}

// unexpected returns the error of an answer that is not one of the job queue.
func (c *client) unexpected(status int) error {
	return fmt.Errorf("%s answers %d %s, and not as %s does: is it the address of %s?", c.address, status,
		http.StatusText(status), c.name, c.setting)
}

// refused returns the error of an answer that is not a success.
func (c *client) refused(status int, answer []byte) error {
	var said struct{ Error, Msg string }
	err := json.Unmarshal(answer, &said)
	text := cmp.Or(said.Error, said.Msg)
	if err != nil || text == "" {
		return c.unexpected(status)
	}
	if c.hidden != "" { // The server's text about the limit of a token has the token.
		text = strings.ReplaceAll(text, c.hidden, "<secret>")
	}
	refusal := &refusedError{status: status, answer: answer, text: table.Clean(text), remedy: c.remedy(status, text)}
	if status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge {
		return &usage.Error{Err: refusal}
	}
	return refusal
}

// remedy returns what to do about a refusal; "" if its text says it.
func (c *client) remedy(status int, text string) string {
	switch {
	case status == http.StatusUnauthorized:
		return c.login
	case status == http.StatusForbidden && strings.HasPrefix(text, "the token"):
		return "set " + tokenVariable + " to a token with this role"
	case text == "api not found":
		return fmt.Sprintf("is --%s the address of %s, and the server of this version?", c.flag, c.setting)
	case text == "pool not found":
		return "the pool is the part of " + tokenVariable + " before the colon"
	case text == "job not found":
		return "it was acknowledged, has expired, or is in another queue"
	case status == http.StatusRequestEntityTooLarge:
		return "a job has up to 1 MiB"
	case strings.HasPrefix(text, "the quota"):
		return "publish again when it has fewer, or change its quota"
	case status >= http.StatusInternalServerError:
		return "the server's log has the reason"
	}
	return ""
}

// job is a job as the server shows it.
type job struct {
	Queue       string            `json:"queue"`
	JobID       string            `json:"job_id"`
	Data        []byte            `json:"data"`
	TTL         int64             `json:"ttl"` // the seconds that are left; 0 forever
	ElapsedMS   int64             `json:"elapsed_ms"`
	RemainTries int               `json:"remain_tries"`
	Claim       int64             `json:"claim"` // 0 if the job was not claimed
	Attributes  map[string]string `json:"attributes"`
}

// ackMax is how many jobs one request acknowledges.
const ackMax = 1000

// ack acknowledges jobs of a queue.
func (r *request) ack(queue string, ids []string) error {
	for some := range slices.Chunk(ids, ackMax) {
		body, err := json.Marshal(some)
		if err != nil {
			return err
		}
		if _, err := r.call(http.MethodPost, apiPath(queue)+"/ack", nil, body); err != nil {
			return err
		}
	}
	return nil
}

// send sends a request, and prints its answer.
func send[A any](r *request, method, path string, query url.Values, print func(io.Writer, *A) error) error {
	answer, err := r.call(method, path, query, nil)
	if err != nil {
		return err
	}
	return printAnswer(r, answer, print)
}

// printAnswer prints an answer in the form that --output names.
func printAnswer[A any](r *request, answer []byte, print func(io.Writer, *A) error) error {
	if r.json() {
		return table.JSON(r.OutOrStdout(), answer)
	}
	var values A
	if err := json.Unmarshal(answer, &values); err != nil {
		return fmt.Errorf("read the answer of %s: %w", r.address, err)
	}
	return print(r.OutOrStdout(), &values)
}

// done prints a sentence, or an empty JSON object: the server answers such a request with nothing.
func (r *request) done(format string, args ...any) error {
	text := "{}"
	if !r.json() {
		text = fmt.Sprintf(format, args...)
	}
	_, err := fmt.Fprintln(r.OutOrStdout(), text)
	return err
}

// printBody prints the body of a job, and a line break if it does not end with one. A terminal gets no other control
// characters: they could move its cursor.
func (r *request) printBody(body []byte) error {
	text := string(body)
	if _, is := prompt.Terminal(r.OutOrStdout()); is {
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = table.Clean(lines[i])
		}
		text = strings.Join(lines, "\n")
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(r.OutOrStdout(), text)
	return err
}

// unlimited is the limit of a list that is read in full, and pageRows how many rows of it one request returns.
const (
	unlimited = math.MaxInt
	pageRows  = 100
)

// pages reads a list in as many requests as it takes, until it has limit rows or all. It returns one document: the
// answer to the first request with the rows of all, and the next of the last. rows is the name of the rows.
func (r *request) pages(path, rows string, limit int) ([]byte, error) {
	var first map[string]json.RawMessage
	all := []json.RawMessage{}
	query := url.Values{}
	for {
		query.Set("limit", strconv.Itoa(min(limit-len(all), pageRows)))
		answer, err := r.call(http.MethodGet, path, query, nil)
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
			return nil, fmt.Errorf("read a page of %s%s: %w", r.address, path, err)
		}
		if first == nil {
			first = page
		}
		all = append(all, some...)
		if next == "" || len(all) >= limit {
			first["next"] = page["next"]
			if first[rows], err = json.Marshal(all); err != nil {
				return nil, err
			}
			return json.Marshal(first)
		}
		query.Set("after", next)
	}
}
