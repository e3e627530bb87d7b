package jobqueue

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newJobsConsume(a *settings.Source) *cobra.Command {
	c := &consumption{}
	cmd := queueCommand(a, &cobra.Command{
		Use:   "consume NAMESPACE/QUEUE",
		Short: "Claims jobs and prints their bodies",
		Long: `Claims jobs that are ready and prints their bodies, each from a new line. Their ids and the numbers of their
claims go to standard error. A job is delivered again after --ttr unless it is acknowledged, by "adsync jobs ack",
or with --ack as soon as it is printed. "adsync jobs nack" and "adsync jobs release" end its claim in other ways.
Several queues of the namespace may be named with commas: the jobs come from the first that has any. Without a job
it prints nothing, and exits with 0.`,
		Example: `  adsync jobs consume shop/orders --timeout 10s --ack
  adsync jobs consume shop/urgent,orders --count 20 --ttr 10m
  adsync jobs consume shop/orders --output json`,
		Args: named(queueNames, "NAMESPACE/QUEUE, such as shop/orders, or NAMESPACE/QUEUE,QUEUE", none),
	}, func(r *request, args []string) error { return c.consume(r, args[0]) })
	flags := cmd.Flags()
	flags.DurationVar(&c.ttr, "ttr", 2*time.Minute, "how long the jobs are claimed")
	flags.DurationVar(&c.timeout, "timeout", 0, "how long to wait for a job, such as 10s")
	flags.IntVar(&c.count, "count", 1, "how many jobs at most")
	flags.BoolVar(&c.ack, "ack", false, "acknowledge the jobs after printing them")
	return cmd
}

// consumption is what is consumed.
type consumption struct {
	ttr, timeout time.Duration
	count        int
	ack          bool
}

const (
	// countMax is how many jobs one request claims.
	countMax = 100
	// noJob is what the server answers without a job.
	noJob = "no job available"
)

// consume claims jobs, prints them and acknowledges them if that is wanted.
func (c *consumption) consume(r *request, queues string) error {
	if c.count < 1 || c.count > countMax {
		return usage.Errorf("--count is %d: want 1 to %d", c.count, countMax)
	}
	query, err := r.params("ttr", "timeout", "count")
	if err != nil {
		return err
	}
	query.Set("claim", "true")
	r.patience = c.timeout
	answer, err := r.call(http.MethodGet, apiPath(queues), query, nil)
	if refusal, is := errors.AsType[*refusedError](err); is && refusal.text == noJob {
		if r.json() {
			return table.JSON(r.OutOrStdout(), refusal.answer)
		}
		fmt.Fprintf(r.ErrOrStderr(), "No job of %s is ready.\n", queues)
		return nil
	}
	if err != nil {
		return err
	}
	jobs := make([]job, 1)
	var into any = &jobs[0]
	if c.count > 1 {
		into = &jobs
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", r.address, err)
	}
	if r.json() {
		err = table.JSON(r.OutOrStdout(), answer)
	} else {
		err = printBodies(r, jobs)
	}
	if err != nil || len(jobs) == 0 {
		return err
	}
	return c.end(r, queues, jobs)
}

func printBodies(r *request, jobs []job) error {
	for i := range jobs {
		fmt.Fprintf(r.ErrOrStderr(), "Job %s of %s, claim %d:\n", table.Clean(jobs[i].JobID), table.Clean(jobs[i].Queue),
			jobs[i].Claim)
		if err := r.printBody(jobs[i].Data); err != nil {
			return fmt.Errorf("print a job: %w", err)
		}
	}
	return nil
}

// end acknowledges jobs, or names the command that does. They are of one queue.
func (c *consumption) end(r *request, queues string, jobs []job) error {
	namespace, _, _ := strings.Cut(queues, "/")
	queue := namespace + "/" + jobs[0].Queue
	ids := make([]string, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].JobID
	}
	text := fmt.Sprintf("To acknowledge within %s: adsync jobs ack %s %s", c.ttr, queue, strings.Join(ids, " "))
	if c.ack {
		if err := r.ack(queue, ids); err != nil {
			return fmt.Errorf("acknowledge the printed jobs, which are otherwise delivered again: %w", err)
		}
		text = "Acknowledged " + plural.Count(len(ids), "job", "jobs") + "."
	}
	if !r.json() {
		fmt.Fprintln(r.ErrOrStderr(), table.Clean(text))
	}
	return nil
}
