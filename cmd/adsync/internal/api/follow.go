package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"adsync/base/clock"
	"adsync/client"
	"adsync/cmd/adsync/internal/show"
)

const (
	// watchInterval is the pause between two reads of a run.
	watchInterval = time.Second
	// AwayMax is how long a producer may be away while a command waits for something: an upgrade takes less.
	AwayMax = 2 * time.Minute
)

// FollowRun reads a run until it has ended, calls see with each answer, and returns the last one. moved reports
// whether the state changed. A producer may be away for AwayMax; standard error names the reason. An interrupt
// returns context.Canceled.
func (r *Request) FollowRun(id string, see func(run *client.Run, moved bool) error) ([]byte, *client.Run, error) {
	c, err := r.Producer()
	if err != nil {
		return nil, nil, err
	}
	ctx := r.Context()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	state := client.RunState("")
	var away time.Time // since when
	for {
		answer, err := c.Call(ctx, http.MethodGet, "/api/v1/runs/"+url.PathEscape(id), nil, nil)
		if ctx.Err() != nil {
			return nil, nil, context.Canceled
		}
		if _, isAway := errors.AsType[*client.AwayError](err); isAway {
			if away.IsZero() {
				away = clock.Mark()
				fmt.Fprintf(r.ErrOrStderr(), "%v (It is retried for %s.)\n", err, AwayMax)
			}
			if clock.Since(away) > AwayMax {
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
			if err != nil || !show.IsOpen(run) {
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
