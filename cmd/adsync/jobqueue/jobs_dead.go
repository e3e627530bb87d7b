package jobqueue

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/clock"
	"adsync/base/plural"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newJobsDead(a *settings.Source) *cobra.Command {
	var limit int
	cmd := queueCommand(a, &cobra.Command{
		Use:   "dead NAMESPACE/QUEUE",
		Short: "Lists the dead letters of a queue",
		Long: `Lists the dead letters of a queue, the oldest first: jobs whose tries are spent. It shows for how long each has
been dead, how often it was claimed, and the error of its last try if its consumer gave one. With --output json
it also has their bodies. The token needs the role admin.`,
		Example: `  adsync jobs dead shop/orders --limit 20
  adsync jobs dead shop/orders --output json | jq -r '.jobs[].data | @base64d'`,
		Args: oneQueue,
	}, func(r *request, args []string) error {
		if limit < 1 {
			return usage.Errorf("--limit is %d: want 1 or more", limit)
		}
		answer, err := r.pages(apiPath(args[0])+"/deadletter/jobs", "jobs", limit)
		if err != nil {
			return err
		}
		return printAnswer(r, answer, printDead)
	})
	cmd.Flags().IntVar(&limit, "limit", 50, "how many to list at most")
	return cmd
}

// deadList are dead letters of a queue.
type deadList struct {
	Queue string `json:"queue"`
	Jobs  []struct {
		JobID  string    `json:"job_id"`
		Claims int64     `json:"claims"`
		Error  string    `json:"error"`
		DiedAt time.Time `json:"died_at"`
	} `json:"jobs"`
	Next string `json:"next"`
}

func printDead(w io.Writer, l *deadList) error {
	if len(l.Jobs) == 0 {
		_, err := fmt.Fprintf(w, "There are no dead letters in %s.\n", table.Plain(l.Queue))
		return err
	}
	now := clock.System{}.Now()
	t := table.New(w)
	t.Row("JOB", "DEAD FOR", "CLAIMS", "ERROR")
	for _, j := range l.Jobs {
		age := max(0, now.Sub(j.DiedAt)).Round(time.Second)
		t.Row(j.JobID, age, j.Claims, j.Error)
	}
	if err := t.Flush(); err != nil || l.Next == "" {
		return err
	}
	_, err := fmt.Fprintln(w, "\nThere may be more: raise --limit.")
	return err
}

// deadSize is how many dead letters a queue has.
type deadSize struct {
	Size int64 `json:"deadletter_size"`
}

// deadLetters returns how many dead letters a queue has.
func (r *request) deadLetters(queue string) (answer []byte, size int64, err error) {
	var d deadSize
	if answer, err = r.call(http.MethodGet, apiPath(queue)+"/deadletter", nil, nil); err == nil {
		err = json.Unmarshal(answer, &d)
	}
	return answer, d.Size, err
}

const (
	// deadMax is how many dead letters one request changes.
	deadMax = 100_000
	// deadPatience is how much longer than others such a request may take.
	deadPatience = 10 * time.Minute
)

// deadCommand makes cmd a command that changes the oldest dead letters of a queue: do carries it out. Without --yes it
// only shows how many there are. verb is what it does.
func deadCommand(a *settings.Source, verb string, cmd *cobra.Command,
	do func(r *request, queue string, query url.Values, before int64) error) *cobra.Command {
	var limit int
	var part string
	var yes bool
	cmd.Args = oneQueue
	queueCommand(a, cmd, func(r *request, args []string) error {
		if limit < 1 || limit > deadMax {
			return usage.Errorf("--limit is %d: want 1 to %d", limit, deadMax)
		}
		queue := args[0]
		answer, size, err := r.deadLetters(queue)
		switch {
		case err != nil:
			return err
		case size > 0 && yes:
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			if part != "" {
				query.Set("error", part)
			}
			r.patience = deadPatience
			return do(r, queue, query, size)
		case r.json():
			return table.JSON(r.OutOrStdout(), answer)
		}
		fmt.Fprintf(r.OutOrStdout(), "%s has %s.\n", queue, plural.Count(size, "dead letter", "dead letters"))
		if size > 0 {
			which := ""
			if part != "" {
				which = fmt.Sprintf(" with %q in their error", table.Plain(part))
			}
			fmt.Fprintf(r.OutOrStdout(), "\nNothing was changed: add --yes to %s up to %d%s, the oldest first.\n", verb,
				min(int64(limit), size), which)
		}
		return nil
	})
	cmd.Flags().IntVar(&limit, "limit", 1, "how many at most, the oldest first")
	cmd.Flags().StringVar(&part, "error", "", "only those with this in their error")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}
