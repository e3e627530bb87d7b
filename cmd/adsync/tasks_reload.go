package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/plural"
)

func newTasksReload(a *app) *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Reads the tasks' rows again, at once",
		Long: `Reads cron_task again after an edit by SQL, which would else be noticed within a minute: at once in the producer that answers, within a
few seconds in the others. It tells what has changed, and every row that cannot be used.`,
		Example: `  adsync tasks reload`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(a, cmd, http.MethodPost, tasksPath+"/reload", nil, nil, printReload)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printReload(w io.Writer, answer []byte) error {
	var a struct {
		Tasks                   int
		Added, Changed, Removed []string
		Bad                     []struct {
			Name, Status string
			Errors       []rowError
		}
		Warnings []struct {
			Name     string
			Warnings []string
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s.\n", plural.Count(a.Tasks, "task can run", "tasks can run"))
	if len(a.Added)+len(a.Changed)+len(a.Removed) == 0 {
		fmt.Fprintln(w, "Nothing has changed.")
	}
	for _, of := range []struct {
		what  string
		names []string
	}{{"Added", a.Added}, {"Changed", a.Changed}, {"Removed", a.Removed}} {
		for _, name := range of.names {
			fmt.Fprintf(w, "%s %s.\n", of.what, plain(name))
		}
	}
	t := table(w)
	for _, b := range a.Bad {
		how := "cannot be used"
		if b.Status == "last_good" {
			how = "cannot be used, and runs on as it last was good"
		}
		fmt.Fprintf(t, "\nThe row of %s %s:", plain(b.Name), how)
		rowErrors(t, b.Errors)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, of := range a.Warnings {
		fmt.Fprintf(w, "\nThe cron of %s is probably not what is meant.\n", plain(of.Name))
		warn(w, of.Warnings)
	}
	return nil
}
