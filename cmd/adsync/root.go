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
	"adsync/cmd/adsync/operate"
)

// The exit codes. After a second signal the program exits with service.ExitInterrupted.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // the command line or the configuration is wrong: trying again without a change is of no use
)

// run carries out one command line and returns the exit code.
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
		Short: "Keeps advertising accounts and their figures fresh in your own database",
		Long: `adsync pulls the campaigns and the figures of advertising accounts from media platforms into your own
database: on cron schedules, under every platform's call limits, through failures, and so that the numbers
can be trusted.

Try it: "adsync standalone" runs everything in one process, with simulated platforms and nothing to install.

Deploy it: "adsync migrate up" makes the tables, "adsync serve --role=producer" plans the work and
"adsync serve --role=consumer" does it, in as many processes as you like.

Operate it: "adsync overview" tells how everything stands; "adsync tasks", "runs", "subtasks", "accounts" and the like ask a
producer's API, which --server or ADSYNC_SERVER names. "adsync completion bash" has your shell complete all of it.

Settings come from a YAML file, then the environment, then flags, later ones winning:
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
	flags.StringVarP(&a.File, "config", "c", settings.Variable(environ, "ADSYNC_CONFIG"), "YAML file with settings (or ADSYNC_CONFIG)")
	flags.StringArrayVar(&a.Sets, "set", nil, "one setting as key=value, such as log.level=debug; may be repeated")
	settings.Flag(flags, "log-level", "log.level", "debug, info, warn or error")
	root.AddCommand(
		newStandalone(a), newServe(a), newMigrate(a), newSimulate(a), newQuota(), newBind(a), newUnbind(a), newKeys(a),
		newToken(), newConfig(a), newDictionary(), newVersion(),
	)
	root.AddCommand(operate.Commands(a)...)
	completion.Complete(a, root)
	nameExamples(root, strings.NewReplacer("{media}", usage.SomePlatform()))
	return root
}

// nameExamples puts words into the texts of a command and of those below it, where they name an example.
func nameExamples(cmd *cobra.Command, words *strings.Replacer) {
	cmd.Long, cmd.Example = words.Replace(cmd.Long), words.Replace(cmd.Example)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = words.Replace(f.Usage) })
	for _, sub := range cmd.Commands() {
		nameExamples(sub, words)
	}
}

// operator names who works at the command line, for the audit log.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "cli:" + u.Username
	}
	return "cli"
}
