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
	// watchInterval is how long a run that is watched is left alone.
	watchInterval = time.Second
	// awayMax is for how long a producer may be away while a run is watched: an upgrade takes less.
	awayMax = 2 * time.Minute
)

// FollowRun asks for a run until it has ended, and has each answer seen; moved tells whether its state is another than before. A producer may be
// away for a while, which is said on standard error.
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
