package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newDead(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "dead",
		Short: "Shows, repeats and drops subtasks that failed for good",
		Long: `A subtask that failed for good is kept until it is redriven or dropped, even after its run and its day's log
are gone. These commands call a producer's API. If it needs a token, set ` + settings.TokenVariable + `.`,
		Example: `  adsync dead list --media {media}
  adsync dead redrive --task {media}.report_daily.account --yes`,
	})
	cmd.AddCommand(newDeadList(a), newDeadShow(a), newDeadRedrive(a), newDeadDrop(a))
	return cmd
}

// deadFilter adds the flags that select dead subtasks.
func deadFilter(cmd *cobra.Command) {
	api.Param(cmd, "task", "only of the task of this name")
	api.Param(cmd, "media", "only of this platform")
	api.Param(cmd, "account", "only of this account, by the platform's id, such as 20000001 or {media}/20000001")
	api.Param(cmd, "run", "only of the run with this id")
	api.Param(cmd, "print", "only with this error print, as list shows it")
	api.Param(cmd, "class", "only with errors of this class: transient, quota, auth, invalid, bug")
	api.Param(cmd, "text", "only with this in the error's text")
	api.TimeParam(cmd, "since", "only those that died since: "+api.SinceSyntax+"24h")
	api.TimeParam(cmd, "until", "only those that died until then")
}

const nothingIsDone = "\nNothing was changed: add --yes to do it."

// deadCommand makes cmd a command that changes the dead subtasks which a filter selects: do shows what the change
// would do, and with yes does it.
func deadCommand(a *settings.Source, do func(r *api.Request, body map[string]any, yes bool) error,
	cmd *cobra.Command) *cobra.Command {
	var all, yes bool
	api.Command(a, cmd, func(r *api.Request, _ []string) error {
		body := r.Params()
		narrowed := false
		for name := range body {
			narrowed = narrowed || name != "until" && name != "rate"
		}
		switch { // A change of everything must be given explicitly.
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

// planDead calls a change of dead subtasks as a dry run, and prints the plan unless --output is json.
func planDead[A any](r *api.Request, path string, body map[string]any, print func(io.Writer, *A) error) (answer []byte,
	plan A, err error) {
	answer, plan, err = changeDead[A](r, path, body, true)
	if err == nil && !r.JSON() {
		err = print(r.OutOrStdout(), &plan)
	}
	return answer, plan, err
}

// changeDead calls a change of dead subtasks; with dry, the producer only plans it.
func changeDead[A any](r *api.Request, path string, body map[string]any, dry bool) (answer []byte, values A,
	err error) {
	body["dry_run"] = dry
	if answer, err = r.Call(http.MethodPost, path, body); err == nil {
		err = json.Unmarshal(answer, &values)
	}
	return answer, values, err
}

const redrivePath = "/api/v1/dead/redrive"

// redrive shows which dead subtasks a request would redrive, and with yes redrives exactly those: subtasks that die
// meanwhile stay as they are.
func redrive(r *api.Request, path string, body map[string]any, yes bool) error {
	answer, plan, err := planDead(r, path, body, show.Redrive)
	if err != nil {
		return err
	}
	var undone error
	if plan.Count > 0 && yes {
		if path == redrivePath { // What failed in one run needs no bound.
			body["until"] = plan.Until
		}
		if answer, plan, err = changeDead[client.Redrive](r, path, body, false); err != nil {
			return err
		}
		undone = refused(&plan)
	}
	switch out := r.OutOrStdout(); {
	case r.JSON():
		return errors.Join(table.JSON(out, answer), undone)
	case plan.Count > 0 && !yes:
		fmt.Fprintln(out, nothingIsDone)
	case plan.Count > 0:
		fmt.Fprintln(out)
		for _, t := range plan.Tasks {
			if t.RunID != "" {
				fmt.Fprintf(out, "Ordered run %s of %s.\n", t.RunID, t.Task)
			}
		}
	}
	return undone
}

// refused returns an error if the dead subtasks of some tasks were not redriven.
func refused(p *client.Redrive) error {
	var refused []string
	for _, t := range p.Tasks {
		if t.Refused != "" {
			refused = append(refused, table.Clean(t.Task+": "+t.Refused))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return fmt.Errorf("the dead subtasks of %s were not redriven: %s", plural.Count(len(refused), "task", "tasks"),
		strings.Join(refused, "; "))
}
