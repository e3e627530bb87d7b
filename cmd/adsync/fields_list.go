package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

func newFieldsList(a *app) *cobra.Command {
	f := &apiFlags{}
	var media, state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists the fields of reports and their states",
		Long: `Lists every field that a platform's package asks for, and every row of report_field. One without REPORT or LEVEL holds for all
of them, but for those that a row of their own speaks of. One without METRIC stands in the raw rows' JSON alone.`,
		Example: `  adsync fields list --media tencent
  adsync fields list --state retired`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(a, cmd, http.MethodGet, "/api/v1/fields", given(map[string]string{"media": media, "state": state}), nil, printFields)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&media, "media", "", "only of this platform")
	cmd.Flags().StringVar(&state, "state", "", "asked, trying, off, retired or refused; all if not given")
	return cmd
}

func printFields(w io.Writer, answer []byte) error {
	var a struct{ Fields []fieldRow }
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Fields) == 0 {
		_, err := fmt.Fprintln(w, "There are no such fields.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "MEDIA\tFIELD\tREPORT\tLEVEL\tSTATE\tMETRIC\tRETIRED\tCHANGED\tBY\tREASON")
	for _, f := range a.Fields {
		if f.Note != "" {
			f.Reason = strings.TrimPrefix(f.Reason+"; not decided yet: "+f.Note, "; ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(f.Media), plain(f.Field), dashed(f.Report), dashed(f.Level),
			plain(f.State), dashed(f.Metric), moment(f.RetiredAt), moment(f.UpdatedAt), dashed(f.By), dashed(f.Reason))
	}
	return t.Flush()
}
