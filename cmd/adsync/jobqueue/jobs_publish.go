package jobqueue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newJobsPublish(a *settings.Source) *cobra.Command {
	var body, file string
	var wait time.Duration
	cmd := queueCommand(a, &cobra.Command{
		Use:   "publish NAMESPACE/QUEUE",
		Short: "Publishes a job",
		Long: `Publishes a job and prints its id when the job is committed. The body is --body or the bytes of --file, up to
1 MiB. If the answer was lost, repeat the command: with --dedupe it publishes no second job, and prints the id
of the first.

With --wait it also waits for the result of the job, prints its body after the id, and exits with 1 if none
came in time; the job is published all the same. A worker makes the result: it publishes in the queue that is
named by the job's id.`,
		Example: `  adsync jobs publish shop/orders --body 'order 17' --tries 3 --ttl 48h
  adsync jobs publish shop/orders --file order.json --delay 10m --dedupe order-17
  jq -c . order.json | adsync jobs publish shop/orders --file -
  adsync jobs publish shop/prices --body '{"article": 17}' --wait 10s`,
		Args: oneQueue,
	}, func(r *request, args []string) error {
		if r.Flags().Changed("body") == (file != "") {
			return usage.Errorf("want the body of the job: either --body, or --file with the name of a file or - for standard " +
				"input")
		}
		query, err := r.params("delay", "ttl", "tries", "priority", "dedupe", "wait")
		if err != nil {
			return err
		}
		text := []byte(body)
		if file != "" {
			if text, err = readBody(r.InOrStdin(), file); err != nil {
				return err
			}
		}
		return publish(r, args[0], query, text, wait)
	})
	flags := cmd.Flags()
	flags.StringVar(&body, "body", "", "the body of the job")
	_ = flags.SetAnnotation("body", mayBeEmpty, nil) // The flag is there.
	flags.StringVar(&file, "file", "", "a file with the body, or - for standard input")
	flags.Duration("delay", 0, "when the job becomes ready, such as 10m")
	flags.Duration("ttl", 24*time.Hour, "how long the job is kept if it is not done; 0s for forever")
	flags.Int("tries", 1, "how often the job is delivered before it is a dead letter")
	flags.Int("priority", 4, "0 to 9; the highest is delivered first")
	flags.String("dedupe", "", "a key: for 24h another publication with this key in the queue makes no job")
	flags.DurationVar(&wait, "wait", 0, "how long to wait for the result, such as 10s")
	return cmd
}

// publish publishes a job and prints its id, and its result if that is waited for.
func publish(r *request, queue string, query url.Values, body []byte, wait time.Duration) error {
	r.patience = wait
	answer, err := r.call(http.MethodPut, apiPath(queue), query, body)
	if err != nil {
		return err
	}
	var published struct {
		Msg    string `json:"msg"`
		JobID  string `json:"job_id"`
		Result *job   `json:"result"`
	}
	if err := json.Unmarshal(answer, &published); err != nil {
		return fmt.Errorf("read the answer of %s: %w", r.address, err)
	}
	id := table.Clean(published.JobID)
	var missing error
	if wait > 0 && published.Result == nil {
		missing = fmt.Errorf("job %s of %s is published, but no result came within %s", id, queue, wait)
	}
	if r.json() {
		return errors.Join(table.JSON(r.OutOrStdout(), answer), missing)
	}
	if published.Msg == "published before" {
		fmt.Fprintln(r.ErrOrStderr(), "A job was published with this key before: its id is below, and no other was made.")
	}
	if _, err := fmt.Fprintln(r.OutOrStdout(), id); err != nil {
		return err
	}
	if published.Result != nil {
		return r.printBody(published.Result.Data)
	}
	return missing
}

// bodyMax is how many bytes of a body are read. The server refuses a body that is larger than 1 MiB.
const bodyMax = 1<<20 + 1

// readBody reads the body of a job from a file, or from standard input for -.
func readBody(in io.Reader, name string) ([]byte, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	body, err := io.ReadAll(io.LimitReader(in, bodyMax))
	if err != nil {
		return nil, fmt.Errorf("read --file %s: %w", name, err)
	}
	return body, nil
}
