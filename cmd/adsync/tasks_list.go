package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func newTasksList(a *app) *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Lists the tasks",
		Long:    `Lists the tasks by name, with their next tick and how the last one went. What is wrong with a row, "adsync tasks show" tells.`,
		Example: `  adsync tasks list`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(a, cmd, http.MethodGet, tasksPath, nil, nil, printTasks)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printTasks(w io.Writer, answer []byte) error {
	var a struct{ Tasks []taskRow }
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Tasks) == 0 {
		_, err := fmt.Fprintln(w, "There are no tasks.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "TASK\tSTATE\tLANE\tRUNS\tNEXT TICK\tLAST TICK\tITS RUN")
	for i := range a.Tasks {
		k := &a.Tasks[i]
		last, became := time.Time{}, "-"
		if len(k.LastTicks) > 0 {
			last, became = k.LastTicks[0].PlannedAt, k.LastTicks[0].State
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(k.Name), k.state(), dashed(k.Lane), dashed(k.when()), moment(k.next()), moment(last), plain(became))
	}
	return t.Flush()
}
