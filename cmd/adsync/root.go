package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/config"
	"adsync/base/service"
	"adsync/cmd/adsync/internal/completion"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/cmd/adsync/jobqueue"
	"adsync/cmd/adsync/operate"
)

// The exit codes. After a second signal the program exits with service.ExitInterrupted.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // the command line or the configuration is wrong: a retry without a change fails again
)

// run executes a command line and returns the exit code.
func run(args, environ []string, stdout, stderr io.Writer) int {
	ctx, cancel := service.NotifyContext(context.Background(), os.Exit)
	defer cancel()
	root := newRoot(environ)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "adsync: %v\n", err)
	if _, ok := errors.AsType[*config.Error](err); ok {
		fmt.Fprintln(stderr, "\nAll settings with their meanings: adsync config reference")
		return exitUsage
	}
	if _, ok := errors.AsType[*usage.Error](err); ok {
		fmt.Fprintf(stderr, "\nFor help: %s --help\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailure
}

func newRoot(environ []string) *cobra.Command {
	a := &settings.Source{Environ: environ}
	root := usage.Group(&cobra.Command{
		Use:   "adsync",
		Short: "Pulls advertising accounts and their figures into your own database",
		Long: `adsync pulls the campaigns and figures of advertising accounts from media platforms into your own database:
on cron schedules, within each platform's call limits, through failures, and with a check of every number.

Try it: "adsync standalone" runs everything in one process, with simulated platforms and nothing to install.

Deploy it: "adsync migrate up" makes the tables, "adsync serve --role=producer" plans the work and
"adsync serve --role=consumer" does it, in as many processes as you like.

Operate it: "adsync overview" shows the state of everything. "adsync tasks", "runs", "subtasks", "accounts" and
others call a producer's API, at --server or ADSYNC_SERVER. "adsync jobs" calls a job queue, at ADSYNC_JOBS_SERVER.
"adsync completion bash" completes them in your shell.

Settings come from a YAML file, then the environment, then flags; later ones override earlier ones.
"adsync config reference" lists them all, "adsync config check" finds every mistake at once.

Exit codes: 0 done or stopped as asked, 1 failed, 2 wrong command line or settings, 130 after a second Ctrl-C.`,
		Example: `  adsync standalone
  adsync config check --config configs/producer.yaml
  ADSYNC_LOG_LEVEL=debug adsync serve --role=all --config adsync.yaml
  adsync serve --role=consumer --set broker.span=512 --set log.format=text`,
		SilenceUsage:  true,
		SilenceErrors: true,
	})
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usage.Error{Err: err} })
	flags := root.PersistentFlags()
	flags.StringVarP(&a.File, "config", "c", settings.Variable(environ, "ADSYNC_CONFIG"),
		"YAML file with settings (or ADSYNC_CONFIG)")
	flags.StringArrayVar(&a.Sets, "set", nil, "one setting as key=value, such as log.level=debug; may be repeated")
	settings.Flag(flags, "log-level", "log.level", "debug, info, warn or error")
	root.AddCommand(
		newStandalone(a), newServe(a), newMigrate(a), newRestore(a), newSimulate(a), newQuota(), newBind(a), newUnbind(a),
		newKeys(a), newToken(), newConfig(a), newDictionary(), newVersion(),
	)
	root.AddCommand(operate.Commands(a)...)
	root.AddCommand(jobqueue.Command(a))
	completion.Complete(a, root)
	nameExamples(root, strings.NewReplacer("{media}", usage.SomePlatform()))
	return root
}

// nameExamples replaces words in the texts of a command and of the commands below it.
func nameExamples(cmd *cobra.Command, words *strings.Replacer) {
	cmd.Long, cmd.Example = words.Replace(cmd.Long), words.Replace(cmd.Example)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = words.Replace(f.Usage) })
	for _, sub := range cmd.Commands() {
		nameExamples(sub, words)
	}
}

// operator returns the name of the person at the command line, for the audit log.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "cli:" + u.Username
	}
	return "cli"
}
