package main

import (
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newDead(a *app) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "dead",
		Short: "Shows, repeats and drops subtasks that failed for good",
		Long: `A subtask that failed for good is kept, whatever becomes of its run and its day's log, until it is taken up
again (redrive) or dropped. These commands ask a producer's API. If it wants a token, set ` + tokenVariable + `.`,
		Example: `  adsync dead list --media tencent
  adsync dead redrive --task tencent.report_daily.account --yes`,
	})
	cmd.AddCommand(newDeadList(a), newDeadShow(a), newDeadRedrive(a), newDeadDrop(a))
	return cmd
}

// deadFlags are what the commands of dead subtasks share.
type deadFlags struct {
	server, output string
	values         map[string]*string // by the name of the parameter
}

func (f *deadFlags) common(flags *pflag.FlagSet) {
	serverFlag(flags, &f.server)
	flags.StringVar(&f.output, "output", "table", "table or json")
}

func (f *deadFlags) filter(flags *pflag.FlagSet) {
	f.values = map[string]*string{}
	for _, p := range [][2]string{
		{"task", "only of the task of this name"},
		{"media", "only of this platform"},
		{"account", "only of this account, by the platform's id, such as 20000001 or tencent/20000001"},
		{"run", "only of the run with this id"},
		{"print", "only with this error print, as list shows it"},
		{"class", "only with errors of this class: transient, quota, auth, invalid, bug"},
		{"text", "only with this in the error's text"},
		{"since", "only what died since: a time such as 2026-11-21T10:30:00Z, or how long ago, such as 24h"},
		{"until", "only what died until then"},
	} {
		f.values[p[0]] = flags.String(p[0], "", p[1])
	}
}

func (f *deadFlags) check() error { return oneOf("output", f.output, "table", "json") }

// checkChange refuses a filter that was given without a value, and a change of everything that is not asked for in so many words.
func (f *deadFlags) checkChange(flags *pflag.FlagSet, all bool) error {
	if err := refuseEmpty(flags); err != nil {
		return err
	}
	narrowed := false
	for name, value := range f.values {
		narrowed = narrowed || name != "until" && *value != ""
	}
	switch {
	case narrowed && all:
		return usagef("--all does not go with a filter: leave one of the two out")
	case !narrowed && !all:
		return usagef("want a filter, such as --task, or --all for every dead subtask")
	}
	return f.check()
}

// query returns the filter that was given.
func (f *deadFlags) query() url.Values {
	q := url.Values{}
	for name, value := range f.values {
		if *value == "" {
			continue
		}
		text := *value
		if name == "since" || name == "until" {
			text = sinceWhen(text)
		}
		q.Set(name, text)
	}
	return q
}

// body returns the filter as that of a change.
func (f *deadFlags) body() map[string]any {
	body := map[string]any{}
	for name, values := range f.query() {
		body[name] = values[0]
	}
	return body
}
