package operate

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newTasksReload(a *settings.Source) *cobra.Command {
	return asking(a, &cobra.Command{
		Use:   "reload",
		Short: "Reads the tasks' rows again, at once",
		Long: `Reads cron_task again after an edit by SQL, which would else be noticed within a minute: at once in the producer that answers, within a
few seconds in the others. It tells what has changed, and every row that cannot be used.`,
		Example: `  adsync tasks reload`,
	}, func(r *request, _ []string) error {
		return r.send(http.MethodPost, tasksPath+"/reload", nil, printing(printReload))
	})
}

func printReload(w io.Writer, a *client.Reload) error {
	fmt.Fprintf(w, "%s.\n", plural.Count(a.Tasks, "task can run", "tasks can run"))
	if len(a.Added)+len(a.Changed)+len(a.Removed) == 0 {
		fmt.Fprintln(w, "Nothing has changed.")
	}
	for _, of := range []struct {
		what  string
		names []string
	}{{"Added", a.Added}, {"Changed", a.Changed}, {"Removed", a.Removed}} {
		for _, name := range of.names {
			fmt.Fprintf(w, "%s %s.\n", of.what, table.Plain(name))
		}
	}
	t := table.New(w)
	for _, b := range a.Bad {
		how := "cannot be used"
		if b.Status == client.TaskStatusLastGood {
			how = "cannot be used, and runs on as it last was good"
		}
		fmt.Fprintf(t, "\nThe row of %s %s:", table.Plain(b.Name), how)
		if err := rowErrors(t, b.Errors); err != nil {
			return err
		}
	}
	for _, of := range a.Warnings {
		fmt.Fprintf(w, "\nThe cron of %s is probably not what is meant.\n", table.Plain(of.Name))
		warn(w, of.Warnings)
	}
	return nil
}
