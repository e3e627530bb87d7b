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
		Short: "Tells how everything stands, and what needs attention",
		Long: `Tells in short what the first page shows: what each platform's accounts spent today beside what the platform says, how many accounts are
fresh, late, new and parked, and what needs attention, the worst first, with its cause, the accounts and the money concerned, and what mends it.

With --wait it first waits until the producer answers and each account that is pulled all the time has figures of today in the summaries. It
exits 1 if that does not come about within --timeout.`,
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

// awaitFirstPull asks for the overview until the figures of today of all accounts are in the summaries. A producer that is still
// starting is waited for.
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
		case missing == "" || waiting.Err() == nil: // A call that the timeout has cut off tells less than the one before.
			missing = err.Error()
		}
		select {
		case <-waiting.Done():
			return fmt.Errorf("the figures of today are not whole after %s: %s", timeout, missing)
		case <-ticker.C:
		}
	}
}

// missingFigures returns what of the figures of today is missing, or nothing.
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
			missing = fmt.Sprintf("the first pull of %s is under way, %d of %s", table.Plain(m.Name), m.Pulled-m.New, plural.Count(m.Pulled, "account", "accounts"))
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
