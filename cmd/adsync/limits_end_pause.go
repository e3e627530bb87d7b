package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/store"
	"adsync/base/task"
)

func newLimitsEndPause(a *app) *cobra.Command {
	f := &apiFlags{}
	var media, endpoint, subject string
	var all, yes bool
	cmd := &cobra.Command{
		Use:   "end-pause",
		Short: "Ends pauses that platforms have asked for",
		Long: `Shows the pauses in force that the answers of a platform have ordered, and with --yes ends them in all processes: pauses of calls, and of a login's
refresh of tokens, which is the endpoint token_refresh. Subtasks that wait for a moment after a call was put off are due at once, and those that wait to be
tried again after a failure too, unless --endpoint or --subject is given. A limit that is really used up is paused again by the next refusal. What an
operator has paused is lifted by "adsync resume".`,
		Example: `  adsync limits end-pause --media tencent
  adsync limits end-pause --media tencent --endpoint adgroups/get --yes
  adsync limits end-pause --subject tencent/20000058 --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			of, _ := store.SplitName(subject)
			if media == "" && of == "" && !all || media != "" && all {
				return usagef("want --media, --subject with its platform, or --all for all platforms")
			}
			body := map[string]any{"dry_run": !yes}
			for name, value := range map[string]string{"media": media, "endpoint": endpoint, "subject": subject} {
				if value == "" && cmd.Flags().Changed(name) {
					return usagef("--%s is empty: want a value, or leave it out", name)
				}
				if value != "" {
					body[name] = value
				}
			}
			if all {
				body["scope"] = task.ScopeAll
			}
			return f.call(a, cmd, http.MethodPost, "/api/v1/limits/end-pause", nil, body, printEndedPauses)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&media, "media", "", "of this platform")
	cmd.Flags().BoolVar(&all, "all", false, "of all platforms, instead of --media")
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "only of this endpoint")
	cmd.Flags().StringVar(&subject, "subject", "", "only of this app, account or login, by the id that adsync limits shows, or with its platform, such as tencent/20000058")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}

func printEndedPauses(w io.Writer, answer []byte) error {
	var a struct {
		limitsAnswer

		DryRun   bool `json:"dry_run"`
		Subtasks int
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Pauses)+a.Subtasks == 0 {
		_, err := fmt.Fprintln(w, "Nothing that was chosen is paused.")
		return err
	}
	t := table(w)
	a.pauses(t)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(a.Pauses) > 0 {
		fmt.Fprintln(w)
	}
	if a.DryRun {
		_, err := fmt.Fprintf(w, "%s that would be due at once. Nothing was changed: add --yes to do it.\n", plural.Count(a.Subtasks, "subtask waits", "subtasks wait"))
		return err
	}
	_, err := fmt.Fprintf(w, "Ended %s; %s due at once.\n", plural.Count(len(a.Pauses), "pause", "pauses"), plural.Count(a.Subtasks, "subtask that waited is", "subtasks that waited are"))
	return err
}
