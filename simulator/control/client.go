package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Client is a client of a simulator's control API.
type Client struct {
	Address string // such as http://127.0.0.1:9090
}

// Get decodes the answer of a path below /_sim/ into a value.
func (c Client) Get(ctx context.Context, path string, into any) error {
	return c.Send(ctx, http.MethodGet, path, nil, into)
}

// Post sends an order and ignores the answer.
func (c Client) Post(ctx context.Context, path string, order any) error {
	return c.Send(ctx, http.MethodPost, path, order, nil)
}

// Send sends a request with an order, if it is not nil, and decodes the answer into into, if that is not nil.
func (c Client) Send(ctx context.Context, method, path string, order, into any) error {
	var body io.Reader = http.NoBody
	if order != nil {
		text, err := json.Marshal(order)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	url := c.Address + Prefix + path
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("call the simulator: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the simulator answered %s %s with %s", method, url, resp.Status)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the simulator's answer to %s %s: %w", method, url, err)
	}
	return nil
}
