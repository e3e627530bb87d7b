package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"adsync/base/clock"
	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

const (
	// watchInterval is how long a run that is watched is left alone.
	watchInterval = time.Second
	// awayMax is for how long a producer may be away while a run is watched: an upgrade takes less.
	awayMax = 2 * time.Minute
)

// follow asks for a run until it has ended, and has each answer seen; moved tells whether its state is another than before. A producer may be
// away for a while, which is said on standard error.
func (r *request) follow(id string, see func(run *client.Run, moved bool) error) ([]byte, *client.Run, error) {
	c, err := r.client()
	if err != nil {
		return nil, nil, err
	}
	ctx := r.Context()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	state := client.RunState("")
	var away time.Time // since when
	for {
		answer, err := c.Call(ctx, http.MethodGet, runPath(id), nil, nil)
		if ctx.Err() != nil {
			return nil, nil, context.Canceled
		}
		if _, isAway := errors.AsType[*client.AwayError](err); isAway {
			if away.IsZero() {
				away = clock.Mark()
				fmt.Fprintf(r.ErrOrStderr(), "%v (It is tried again for %s.)\n", err, awayMax)
			}
			if clock.Since(away) > awayMax {
				return nil, nil, err
			}
		} else {
			away = time.Time{}
			run := &client.Run{}
			if err == nil {
				err = json.Unmarshal(answer, run)
			}
			if err == nil {
				err = see(run, run.State != state)
			}
			if err != nil || !isOpen(run) {
				return answer, run, err
			}
			state = run.State
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Canceled
		case <-ticker.C:
		}
	}
}

// progress is a line on how far a run is.
func progress(r *client.Run) string {
	switch {
	case r.State == pending:
		return "It is ordered, and not made yet."
	case r.Counts.Total == nil:
		return fmt.Sprintf("Its subtasks are being made; %s ended.", plural.Count(ended(&r.Counts), "has", "have"))
	}
	line := fmt.Sprintf("%d of %s %s ended", ended(&r.Counts), subtasks(&r.Counts), verb(ended(&r.Counts), "has", "have"))
	if n := undone(&r.Counts); n > 0 {
		line += fmt.Sprintf(", %s not done", plural.Count(n, "was", "were"))
	}
	if !r.EstimatedEnd.IsZero() {
		line += ", the rest by about " + table.Moment(r.EstimatedEnd)
	}
	return line + "."
}
