package client

import (
	"context"
	"encoding/json"
	"io"
)

// BackUpDead writes the dead subtasks that params choose to w, one JSON object a line in the order of ListDead, and
// returns how many. Limit is how many one request returns. Subtasks that die or are redriven meanwhile may be missing.
// After an error the lines before it are written.
func (c *Client) BackUpDead(ctx context.Context, params ListDeadParams, w io.Writer) (int, error) {
	if params.Limit == 0 {
		params.Limit = PageRows
	}
	lines := json.NewEncoder(w)
	for n := 0; ; {
		page, err := c.ListDead(ctx, params)
		if err != nil {
			return n, err
		}
		for _, d := range page.Dead {
			if err := lines.Encode(d); err != nil {
				return n, err
			}
			n++
		}
		if page.Next == "" {
			return n, nil
		}
		params.After = page.Next
	}
}
