package stage

import (
	"context"
	"strconv"

	"adsync/client/outcomes"
	"adsync/test/chaos/judge"
)

// Follow returns the first n outcomes that a program is given which starts now, in their order; fewer if ctx ends
// before.
func Follow(ctx context.Context, cfg outcomes.Config, n int) ([]judge.Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	met := make(chan judge.Outcome)
	followed := make(chan error, 1)
	go func() {
		followed <- outcomes.Follow(ctx, cfg, func(ctx context.Context, o outcomes.Outcome) error {
			run, err := strconv.ParseInt(o.RunID, 10, 64)
			if err != nil {
				return err
			}
			select {
			case met <- judge.Outcome{Key: o.Key, Seq: o.Seq, RunID: run, Part: o.Part, State: string(o.State)}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	var all []judge.Outcome
	for {
		select {
		case o := <-met:
			if all = append(all, o); len(all) == n {
				cancel()
			}
		case err := <-followed:
			return all, err
		}
	}
}
