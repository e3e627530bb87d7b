package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newLogLevel(a *app) *cobra.Command {
	f := &apiFlags{}
	var roleName, nodeName string
	var length time.Duration
	var end bool
	cmd := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Has running processes log more, or less, for a time",
		Long: `Has all processes of a deployment, or those of a role or with a name, log at another level for a time: debug, info, warn or error. It holds
within 5 seconds, in consumers too, and ends by itself; without a level it shows what is in force. One order holds at a time: the next takes its place.
It goes by Redis; without that, processes log as they are configured to.`,
		Example: `  adsync log-level debug --role consumer --for 10m
  adsync log-level
  adsync log-level --end`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || end && len(args) > 0 {
				return usagef("want one level, such as debug, or --end, or nothing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			const path = "/api/v1/log-level"
			switch {
			case end:
				return f.call(a, cmd, http.MethodDelete, path, nil, nil, printLogLevel)
			case len(args) == 0:
				return f.call(a, cmd, http.MethodGet, path, nil, nil, printLogLevel)
			case length < time.Second:
				return usagef("--for is %s: want a second or more, such as 10m", length)
			}
			body := map[string]any{"level": args[0]}
			for name, value := range map[string]any{"role": roleName, "node": nodeName, "for": int64(length / time.Second)} {
				if cmd.Flags().Changed(name) {
					body[strings.Replace(name, "for", "for_seconds", 1)] = value
				}
			}
			return f.call(a, cmd, http.MethodPut, path, nil, body, printLogLevel)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&roleName, "role", "", "only of processes of this role: producer, consumer or all")
	cmd.Flags().StringVar(&nodeName, "node", "", "only of the process with this name, as the column node of the log tables tells it")
	cmd.Flags().DurationVar(&length, "for", 15*time.Minute, "how long, 24h at the most")
	cmd.Flags().BoolVar(&end, "end", false, "end what is in force")
	return cmd
}

func printLogLevel(w io.Writer, answer []byte) error {
	var o struct {
		Level, Role, Node, By string
		Until                 time.Time
	}
	if err := json.Unmarshal(answer, &o); err != nil {
		return err
	}
	if o.Level == "" {
		_, err := fmt.Fprintln(w, "All processes log as they are configured to.")
		return err
	}
	who := "All processes"
	switch {
	case o.Node != "":
		who = "The process " + plain(o.Node)
	case o.Role != "":
		who = "Processes of the role " + plain(o.Role)
	}
	_, err := fmt.Fprintf(w, "%s: %s until %s, by %s.\n", who, o.Level, moment(o.Until), plain(o.By))
	return err
}
