package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func newPauses(a *app) *cobra.Command {
	f := &stopFlags{}
	var all bool
	cmd := &cobra.Command{
		Use:     "pauses",
		Short:   "Lists what is paused",
		Long:    `Lists the pauses that hold work up now, the newest first; with --all also those that have ended.`,
		Example: `  adsync pauses --all`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {"500"}}
			if !all {
				query.Set("state", "active")
			}
			return f.call(a, cmd, http.MethodGet, "/api/v1/pauses", query, nil, printPauses)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "also those that have ended")
	return cmd
}

func printPauses(w io.Writer, answer []byte) error {
	var a struct {
		Pauses []stopRow
		Next   string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Pauses) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is paused.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "PAUSE\tKIND\tTARGET\tSTATE\tORDERED\tUNTIL\tENDED\tBY\tREASON")
	for _, p := range a.Pauses {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			p.ID, p.Kind, plain(p.Target), p.State, moment(p.OrderedAt), moment(p.Until), moment(p.EndedAt), plain(p.By), plain(p.Reason))
	}
	if a.Next != "" {
		fmt.Fprintln(t, "There are more.")
	}
	return t.Flush()
}
