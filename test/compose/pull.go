package compose

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"adsync/base/day"
	"adsync/client"
)

// Freeze stops the platforms' clock, and returns the moment at which it stopped.
func (d *Deployment) Freeze(ctx context.Context, frozen bool) (time.Time, error) {
	order := map[string]any{"frozen": frozen}
	if !frozen {
		order["now"] = time.Now().Format(time.RFC3339) // The clock was stopped already.
	}
	var clock struct{ Now time.Time }
	err := d.Ask(ctx, http.MethodPost, d.World+"/_sim/clock", order, &clock)
	return clock.Now, err
}

// Run orders a run and waits until it has ended.
func (d *Deployment) Run(ctx context.Context, task string, order client.OrderRequest) error {
	api := d.API()
	_, made, err := api.OrderRun(ctx, task, order)
	if err != nil {
		return err
	}
	return d.await(ctx, "the run of "+task+" has ended", func(ctx context.Context) (bool, error) {
		run, err := api.GetRun(ctx, made.RunID)
		if err != nil {
			return false, err
		}
		if !run.EndedAt.IsZero() && run.State != client.RunStateSucceeded {
			return false, fmt.Errorf("it is %s: %s", run.State, run.Error)
		}
		return run.State == client.RunStateSucceeded, fmt.Errorf("it is %s", run.State)
	})
}

// Whole reports whether all accounts' figures of today were pulled recently.
func (d *Deployment) Whole(ctx context.Context) (bool, error) {
	overview, err := d.API().GetOverview(ctx)
	if err != nil {
		return false, err
	}
	for i := range overview.Media {
		m := &overview.Media[i]
		if m.Pulled == 0 || m.Fresh < m.Pulled {
			return false, fmt.Errorf("%s: %d of %d accounts are fresh", m.Name, m.Fresh, m.Pulled)
		}
	}
	return len(overview.Media) == len(Platforms), nil
}

// Pull pulls all that Figures compares, of all accounts that are pulled.
func (d *Deployment) Pull(ctx context.Context) error {
	accounts, err := d.accounts(ctx)
	if err != nil {
		return err
	}
	// A future day is refused, and in some zone this day has not begun yet.
	type group struct {
		media string
		today day.Day
	}
	ids := map[group][]string{}
	for _, a := range accounts {
		if a.parked == "" {
			ids[group{a.media, a.today}] = append(ids[group{a.media, a.today}], a.external)
		}
	}
	var runs sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for g, accounts := range ids {
		for report, order := range map[string]client.OrderRequest{
			".report_hourly.account": {From: g.today.Add(-1).String(), To: g.today.String(), Accounts: accounts},
			".report_daily.account":  {From: g.today.Add(-1).String(), To: g.today.String(), Accounts: accounts},
			".balance":               {Accounts: accounts},
		} {
			runs.Go(func() {
				err := d.Run(ctx, g.media+report, order)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
	}
	runs.Wait()
	return errors.Join(errs...)
}
