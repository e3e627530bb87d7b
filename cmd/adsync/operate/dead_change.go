package operate

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

const (
	noneChosen    = "No dead subtask is chosen."
	nothingIsDone = "\nNothing was changed: add --yes to do it."
)

// deadChange makes a command that changes the dead subtasks which a filter chooses: do shows what the change would do, and with yes does it.
func deadChange(a *settings.Source, do func(r *request, body map[string]any, yes bool) error, cmd *cobra.Command) *cobra.Command {
	var all, yes bool
	asking(a, cmd, func(r *request, _ []string) error {
		body := r.params()
		narrowed := false
		for name := range body {
			narrowed = narrowed || name != "until" && name != "rate"
		}
		switch { // A change of everything is asked for in so many words.
		case narrowed && all:
			return usage.Errorf("--all does not go with a filter: leave one of the two out")
		case !narrowed && !all:
			return usage.Errorf("want a filter, such as --task, or --all for every dead subtask")
		case all:
			body["scope"] = task.ScopeAll
		}
		return do(r, body, yes)
	})
	deadFilter(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every dead subtask, instead of a filter")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}

// planDead asks what a change of dead subtasks would do, and shows it to people.
func planDead[A any](r *request, path string, body map[string]any, print func(io.Writer, *A) error) (answer []byte, plan A, err error) {
	answer, plan, err = changeDead[A](r, path, body, true)
	if err == nil && r.output == "table" {
		err = print(r.OutOrStdout(), &plan)
	}
	return answer, plan, err
}

// changeDead has a change of dead subtasks done, or with dry asks what it would do.
func changeDead[A any](r *request, path string, body map[string]any, dry bool) (answer []byte, values A, err error) {
	body["dry_run"] = dry
	if answer, err = r.answer(http.MethodPost, path, body); err == nil {
		err = json.Unmarshal(answer, &values)
	}
	return answer, values, err
}

// printRedriving says how many of those that a filter chooses are left alone.
func printRedriving(w io.Writer, n client.Count) {
	if n > 0 {
		fmt.Fprintf(w, "%s being taken up again already, and left alone.\n", plural.Count(n, "more is", "more are"))
	}
}
