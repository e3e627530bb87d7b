package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"
)

func newCancels(a *app) *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:     "cancels",
		Short:   "Lists what was cancelled",
		Long:    `Lists what was cancelled, by whom and why, the newest first. A cancel is active until it is carried out.`,
		Example: `  adsync cancels --limit 10`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.list(a, cmd, "/api/v1/cancels", url.Values{}, "cancels", printCancels)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printCancels(w io.Writer, answer []byte) error {
	var a struct {
		Cancels []stopRow
		Next    string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Cancels) == 0 {
		_, err := fmt.Fprintln(w, "Nothing was cancelled.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "CANCEL\tKIND\tTARGET\tSTATE\tORDERED\tENDED\tBY\tREASON")
	for _, c := range a.Cancels {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(c.ID), plain(c.Kind), plain(c.Target), plain(c.State), moment(c.OrderedAt), moment(c.EndedAt), plain(c.By), plain(c.Reason))
	}
	if a.Next != "" {
		fmt.Fprintln(t, "There are more: raise --limit.")
	}
	return t.Flush()
}
