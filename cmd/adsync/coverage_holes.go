package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
)

func newHoles(a *app) *cobra.Command {
	f := &apiFlags{}
	var media string
	var order, all bool
	var subtasks int
	cmd := &cobra.Command{
		Use:   "holes",
		Short: "Tells which days are missing of all accounts, and orders them",
		Long: `Tells by task how many days coverage lacks within the reach of the tasks in cron_task: never pulled, partial, suspect, or
last pulled before they had settled. It says how many subtasks and calls it takes to fill them, and about how long. The task
system.fill orders them by itself, some at a time; --order orders the most important ones at once, of --media or with --all of all platforms.`,
		Example: `  adsync coverage holes --media tencent
  adsync coverage holes --order --media tencent --max-subtasks 10000
  adsync coverage holes --order --all`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !order {
				if subtasks != 0 {
					return usagef("--max-subtasks goes with --order")
				}
				if all {
					return usagef("--all goes with --order: without --media all platforms are listed")
				}
				return f.call(a, cmd, http.MethodGet, "/api/v1/coverage/holes", given(map[string]string{"media": media}), nil, printHoles)
			}
			body := map[string]any{}
			switch {
			case media != "" && all:
				return usagef("--media and --all do not go together")
			case media != "":
				body["media"] = media
			case all:
				body["scope"] = task.ScopeAll
			default:
				return usagef("--order wants --media, or --all for all platforms")
			}
			if subtasks != 0 {
				body["max_subtasks"] = subtasks
			}
			return f.call(a, cmd, http.MethodPost, "/api/v1/coverage/fill", nil, body, printHoles)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&media, "media", "", "only of this platform")
	cmd.Flags().BoolVar(&order, "order", false, "order runs for them")
	cmd.Flags().BoolVar(&all, "all", false, "with --order: of all platforms, instead of --media")
	cmd.Flags().IntVar(&subtasks, "max-subtasks", 0, "how many subtasks to order at the most, of each platform (2000 if not given)")
	return cmd
}

func printHoles(w io.Writer, answer []byte) error {
	var a struct {
		Holes, Subtasks, Waiting, Ordered int
		Calls                             *int64 `json:"estimated_calls"`
		Seconds                           *int64 `json:"estimated_seconds"`
		Tasks                             []struct {
			Task, From, To                              string
			Holes, Subtasks, Accounts, Waiting, Ordered int
			Calls                                       *int64 `json:"estimated_calls"`
			Seconds                                     *int64 `json:"estimated_seconds"`
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Tasks) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is missing within the reach of the tasks.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "TASK\tDAYS\tACCOUNTS\tFROM\tTO\tSUBTASKS\tCALLS\tTIME\tWAITING\tORDERED")
	for _, k := range a.Tasks {
		from, to := k.From, k.To
		if k.Holes == 0 {
			from, to = "-", "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%d\t%s\t%s\t%d\t%d\n", plain(k.Task), k.Holes, k.Accounts, from, to, k.Subtasks, number(k.Calls), took(k.Seconds), k.Waiting, k.Ordered)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s missing: %s, %s; %s ordered.\n", plural.Count(a.Holes, "day is", "days are"), plural.Count(a.Subtasks, "subtask", "subtasks"),
		estimate(a.Calls, a.Seconds), plural.Count(a.Ordered, "of them was", "of them were"))
	if a.Waiting > 0 {
		fmt.Fprintf(w, "%s under way, or ordered a moment ago.\n", plural.Count(a.Waiting, "more is", "more are"))
	}
	return nil
}
