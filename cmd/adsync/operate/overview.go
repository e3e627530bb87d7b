package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
)

func newOverview(a *settings.Source) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := api.Command(a, &cobra.Command{
		Use:   "overview",
		Short: "Shows the state of everything, and what needs attention",
		Long: `Shows the first page in short: what each platform's accounts spent today compared with what the platform
reports, how many accounts are fresh, late, new and parked, and what needs attention, the worst first, with
its cause, the accounts and the money affected, and the remedy.

With --wait it first waits until the producer answers and each account that is pulled continuously has figures
of today in the summaries. It exits with 1 if that takes longer than --timeout.`,
		Example: `  adsync overview
  adsync overview --wait
  adsync overview --output json | jq '.attention[] | select(.severity == "bad")'`,
	}, func(r *api.Request, _ []string) error {
		if wait {
			c, err := r.Producer()
			if err != nil {
				return err
			}
			if err := awaitFirstPull(r.Context(), c, timeout); err != nil {
				return err
			}
		}
		return api.Get(r, "/api/v1/overview", show.Overview)
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until each account has figures of today")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "with --wait: for how long at most")
	return cmd
}

// awaitFirstPull reads the overview until the figures of today of all accounts are in the summaries. It also waits
// for a producer that is starting.
func awaitFirstPull(ctx context.Context, c api.Producer, timeout time.Duration) error {
	waiting, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	missing := ""
	for {
		now, err := missingFigures(waiting, c)
		if now == "" && err == nil {
			return nil
		}
		if _, away := errors.AsType[*client.AwayError](err); err != nil && !away {
			return err
		}
		switch {
		case err == nil:
			missing = now
		// The error of a call that the timeout ended is no better than the reason before.
		case missing == "" || waiting.Err() == nil:
			missing = err.Error()
		}
		select {
		case <-waiting.Done():
			return fmt.Errorf("the figures of today are not whole after %s: %s", timeout, missing)
		case <-ticker.C:
		}
	}
}

// missingFigures returns in words which figures of today are missing, or "".
func missingFigures(ctx context.Context, c api.Producer) (string, error) {
	o, err := c.GetOverview(ctx)
	if err != nil {
		return "", api.WithRemedy(err)
	}
	missing, pulled := "", client.Count(0)
	for i := range o.Media {
		m := &o.Media[i]
		pulled += m.Pulled
		switch {
		case m.FirstPull:
			missing = fmt.Sprintf("the first pull of %s is under way, %d of %s", table.Plain(m.Name), m.Pulled-m.New,
				plural.Count(m.Pulled, "account", "accounts"))
		case m.Pulled > 0 && m.OldestSeconds < 0:
			missing = "an account of " + table.Plain(m.Name) + " was never pulled today"
		}
	}
	switch {
	case o.At.IsZero():
		return "the producer cannot read its tables yet", nil
	case pulled == 0:
		return "no account is pulled yet", nil
	}
	return missing, nil
}
