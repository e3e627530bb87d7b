package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func newConsumers(a *app) *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:   "consumers",
		Short: "Lists the consumers that live, and what their pools do",
		Long: `Lists the processes that work off lanes, as they told of themselves within the last 15 seconds, with a line for each pool: how many subtasks
run in how many places, how many of them wait for a call limit beside their place, and how many partitions of the lane the process has.`,
		Example: `  adsync consumers`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(a, cmd, http.MethodGet, "/api/v1/consumers", nil, nil, printConsumers)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printConsumers(w io.Writer, answer []byte) error {
	var a struct {
		Consumers []struct {
			ID, Version string
			StartedAt   time.Time `json:"started_at"`
			AgeSeconds  float64   `json:"age_seconds"`
			Pools       []struct {
				Media, Lane                         string
				Running, Capacity, Limited, Careful int
				Partitions                          []int
			}
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Consumers) == 0 {
		_, err := fmt.Fprintln(w, "No consumer lives: nothing is pulled. Start one: adsync serve --role=consumer")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "CONSUMER\tVERSION\tSTARTED\tTOLD\tMEDIA\tLANE\tRUNNING\tPLACES\tWAIT FOR A LIMIT\tPARTITIONS\tONE BY ONE")
	for _, c := range a.Consumers {
		who := fmt.Sprintf("%s\t%s\t%s\t%.0fs ago", plain(c.ID), plain(c.Version), moment(c.StartedAt), c.AgeSeconds)
		if len(c.Pools) == 0 {
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\t-\t-\t-\n", who)
		}
		for _, p := range c.Pools {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", who, plain(p.Media), plain(p.Lane), p.Running, p.Capacity, p.Limited, len(p.Partitions), p.Careful)
			who = "\t\t\t"
		}
	}
	return t.Flush()
}
