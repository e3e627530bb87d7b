package main

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func newResume(a *app) *cobra.Command {
	f := &stopFlags{}
	cmd := &cobra.Command{
		Use:     "resume PAUSE",
		Short:   "Ends a pause",
		Long:    `Ends a pause before its time, by its id: "adsync pauses" lists them.`,
		Example: `  adsync resume 7529853616300212345`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the id of a pause: adsync pauses lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.call(a, cmd, http.MethodDelete, "/api/v1/pauses/"+url.PathEscape(args[0]), given(map[string]string{"by": f.by}), nil, printStop("Ended the pause of"))
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&f.by, "by", "", "your name, where no token says it")
	return cmd
}
