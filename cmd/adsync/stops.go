package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stopFlags are what the commands that stop work share.
type stopFlags struct {
	apiFlags

	reason, by string
}

func (f *stopFlags) sign(flags *pflag.FlagSet) {
	flags.StringVar(&f.reason, "reason", "", "why; others will ask")
	flags.StringVar(&f.by, "by", "", "your name, where no token says it")
}

const stopTargets = `KIND TARGET is one of

  run 7529853616300212345               one run, by its id
  task tencent.report_daily.account     all runs of a task, by its name
  account tencent/20000001              the work of an account in all runs, by the platform's id
  media tencent                         everything of a platform`

func stopArgs(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usagef("want KIND TARGET, such as: media tencent")
	}
	return nil
}

type stopRow struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Target    string    `json:"target"`
	Reason    string    `json:"reason"`
	By        string    `json:"by"`
	State     string    `json:"state"`
	OrderedAt time.Time `json:"ordered_at"`
	Until     time.Time `json:"until"`
	EndedAt   time.Time `json:"ended_at"`
	LiftedBy  string    `json:"lifted_by"`
}

func printStop(done string) func(io.Writer, []byte) error {
	return func(w io.Writer, answer []byte) error {
		var s stopRow
		if err := json.Unmarshal(answer, &s); err != nil {
			return err
		}
		end := ""
		if s.State == "active" && !s.Until.IsZero() {
			end = " until " + moment(s.Until)
		}
		_, err := fmt.Fprintf(w, "%s %s %s%s, by order %s.\n", done, s.Kind, plain(s.Target), end, s.ID)
		return err
	}
}
