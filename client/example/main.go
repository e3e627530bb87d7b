// The command example is a program that uses package client: it has days of an account pulled again, and waits until
// they are.
//
//	ADSYNC_TOKEN=… go run ./client/example -server http://producer:8080 -task TASK -account ID -from DAY -to DAY
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"adsync/client"
)

// period is how long it waits before it looks at the run again.
const period = 2 * time.Second

func main() {
	server := flag.String("server", "http://127.0.0.1:8080", "the address of a producer")
	task := flag.String("task", "", "the name of the task that pulls them")
	account := flag.String("account", "", "the platform's id of the account")
	from := flag.String("from", "", "the first day")
	to := flag.String("to", "", "the last day")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	order := client.OrderRequest{Accounts: []string{*account}, From: *from, To: *to}
	if err := pullDays(ctx, client.New(*server, os.Getenv("ADSYNC_TOKEN")), *task, order, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1) //nolint:gocritic // The signal is no longer of interest.
	}
}

// pullDays orders a run of a task, and waits until it has ended.
func pullDays(ctx context.Context, c *client.Client, task string, order client.OrderRequest, out io.Writer) error {
	order.DryRun = true
	plan, _, err := c.OrderRun(ctx, task, order)
	if err != nil {
		return err // A *client.Problem names each field that is refused, and what would be right.
	}
	fmt.Fprintf(out, "%s: %d subtasks\n", plan.Task, plan.Subtasks)

	order.DryRun = false
	_, taken, err := c.OrderRun(ctx, task, order)
	if err != nil {
		return err
	}
	for {
		run, err := c.GetRun(ctx, taken.RunID)
		var away *client.AwayError
		switch {
		case errors.As(err, &away): // It may be asked again.
		case err != nil:
			return err
		case run.State == client.RunStateSucceeded:
			fmt.Fprintf(out, "%s: %d succeeded\n", run.Task, run.Counts.Succeeded)
			return nil
		case !run.EndedAt.IsZero():
			return fmt.Errorf("the run %s of %s is %s: %s", run.ID, run.Task, run.State, run.Error)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(period):
		}
	}
}
