package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// PageRows is how many rows of a list one request returns at most.
const PageRows = 500

const (
	timeout = 2 * time.Minute
	// answerMax is how many bytes of an answer are read.
	answerMax = 64 << 20
)

// Client calls the API of one producer. It may be used by several goroutines at once.
type Client struct {
	server string
	token  string
	http   *http.Client
}

// New returns a client of the producer at an address such as http://host:port. The token is one of the producer's
// api.tokens; it may be empty if the producer needs none. A call takes at most two minutes.
func New(server, token string) *Client {
	return &Client{server: strings.TrimSuffix(server, "/"), token: token, http: &http.Client{Timeout: timeout}}
}

// Call sends a request and returns the answer's bytes. The request has body as JSON unless it is nil. The error of a
// request that the producer refuses is a *Problem. It is an *AwayError if the producer does not answer, or answers
// that it cannot do its work now.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	_, answer, err := c.do(ctx, method, path, query, body)
	return answer, err
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, body any) (status int, answer []byte,
	err error) {
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(text)
	}
	if len(query) > 0 {
		joint := "?"
		if strings.Contains(path, joint) {
			joint = "&"
		}
		path += joint + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, c.server+path, content)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return 0, nil, &AwayError{fmt.Errorf("call the producer at %s: %w", c.server, err)}
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return 0, nil, &AwayError{fmt.Errorf("read the answer of %s: %w", c.server, err)}
	}
	if response.StatusCode >= http.StatusBadRequest {
		return 0, nil, refusal(response.StatusCode, answer)
	}
	return response.StatusCode, answer, nil
}

// Pages reads a list in as many requests as it takes, until it has limit rows or all. It returns one document: the
// answer to the first request with the rows of all, and the next of the last. rows is the name of the rows in the
// answer.
func (c *Client) Pages(ctx context.Context, path string, query url.Values, rows string, limit int) ([]byte, error) {
	var first map[string]json.RawMessage
	all := []json.RawMessage{}
	for {
		query.Set("limit", strconv.Itoa(min(limit-len(all), PageRows)))
		answer, err := c.Call(ctx, http.MethodGet, path, query, nil)
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

// call sends a request and reads its answer. params is nil or a struct whose fields have form tags.
func call[A any](ctx context.Context, c *Client, method, path string, params, body any) (A, error) {
	var answer A
	text, err := c.Call(ctx, method, path, queryOf(params), body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return answer, err
}

// either is call for a request whose answer is an A with status 200, and a B with any other status.
func either[A, B any](ctx context.Context, c *Client, method, path string, params, body any) (*A, *B, error) {
	status, text, err := c.do(ctx, method, path, queryOf(params), body)
	if err != nil {
		return nil, nil, err
	}
	if status == http.StatusOK {
		answer := new(A)
		return answer, nil, json.Unmarshal(text, answer)
	}
	answer := new(B)
	return nil, answer, json.Unmarshal(text, answer)
}

// at replaces the placeholders of a path, such as {id}, with values in their order.
func at(path string, values ...string) string {
	for _, value := range values {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		// The value has no brace: it is escaped.
		path = before + url.PathEscape(value) + after
	}
	return path
}

// queryOf returns the parameters of a struct whose fields have form tags. Those that are zero are left out.
func queryOf(params any) url.Values {
	query := url.Values{}
	if params == nil {
		return query
	}
	fields := reflect.ValueOf(params)
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("form"), ",")
		if value := fields.Field(i); !value.IsZero() {
			query.Set(name, textOf(value))
		}
	}
	return query
}

// textOf returns a parameter's value in an address: a time in RFC 3339, and a list with commas.
func textOf(value reflect.Value) string {
	if at, is := reflect.TypeAssert[time.Time](value); is {
		return at.Format(time.RFC3339Nano)
	}
	if value.Kind() == reflect.Slice {
		texts := make([]string, value.Len())
		for i := range texts {
			texts[i] = textOf(value.Index(i))
		}
		return strings.Join(texts, ",")
	}
	return fmt.Sprint(value.Interface())
}

// AwayError is the error of a call that the producer cannot answer now: it is unreachable, starts or stops, or a
// server that it needs is away. The call may be retried later.
type AwayError struct {
	err error
}

func (e *AwayError) Error() string { return e.err.Error() }

func (e *AwayError) Unwrap() error { return e.err }

// Error returns the detail, and a line for each refused field.
func (p *Problem) Error() string {
	if len(p.Errors) == 0 {
		return p.Detail
	}
	var text strings.Builder
	text.WriteString(strings.TrimSuffix(p.Detail, ": see errors.") + ":") // The errors are below.
	for _, e := range p.Errors {
		fmt.Fprintf(&text, "\n  %s: %s", e.Field, e.Detail)
	}
	return text.String()
}

// refusal returns the error of an answer that is a problem.
func refusal(status int, body []byte) error {
	p := &Problem{}
	if err := json.Unmarshal(body, p); err != nil || p.Detail == "" {
		return fmt.Errorf("the server answers %d %s: is it a producer's API?", status, http.StatusText(status))
	}
	if status == http.StatusServiceUnavailable {
		return &AwayError{p}
	}
	return p
}
