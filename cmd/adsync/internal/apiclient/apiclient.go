// Package apiclient calls the operators' API of a producer.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adsync/base/httpapi"
	"adsync/cmd/adsync/internal/usage"
)

const (
	// TokenVariable holds the token that the API wants.
	TokenVariable = "ADSYNC_TOKEN" //nolint:gosec // The name of the variable, not a token.
	// PageRows is how many rows of a list one request asks for.
	PageRows = 500

	timeout = 2 * time.Minute
	// answerMax is how much of an answer is read.
	answerMax = 64 << 20
)

// Client calls the API of one producer.
type Client struct {
	server string
	token  string
	http   *http.Client
}

// New returns a client of the producer at an address, http://host:port.
func New(server, token string) *Client {
	return &Client{server: server, token: token, http: &http.Client{Timeout: timeout}}
}

// Call sends a request, with body as JSON unless it is nil, and returns the answer. An answer that is a problem is an
// error that says what the server said.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
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
		return nil, &AwayError{fmt.Errorf("ask the producer at %s: %w (is it running, and is --server right?)", c.server, err)}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, &AwayError{fmt.Errorf("read the answer of %s: %w", c.server, err)}
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, refusal(response.StatusCode, answer)
	}
	return answer, nil
}

// Pages reads a list up to limit rows, in as many requests as it takes, and returns one document: the answer to the first with the rows of all
// and the next of the last.
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

// AwayError says that the producer cannot answer now: it may be starting or stopping, or what it needs is away.
type AwayError struct {
	err error
}

func (e *AwayError) Error() string { return e.err.Error() }

func (e *AwayError) Unwrap() error { return e.err }

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
		fmt.Fprintf(&text, "\nSet %s to a token of the role that this needs.", TokenVariable)
	case http.StatusUnprocessableEntity:
		return usage.Errorf("%s", text.String())
	case http.StatusServiceUnavailable:
		return &AwayError{errors.New(text.String())}
	}
	return fmt.Errorf("%s", text.String())
}
