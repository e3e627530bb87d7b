package rig

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main is the main function of a command of this repository. It reads the command line, calls run, and ends the
// process: with the code that run returns, with 1 if run fails, with 2 for a wrong command line, and with 0 after its
// help.
//
// The first interrupt ends run's context, so that run can cleanly end what it has started. A second one ends this
// process. The arguments name signals that do this in addition to SIGINT and SIGTERM.
func Main[O any](name string, parse func(args []string, output io.Writer) (O, error),
	run func(context.Context, O) (code int, err error), signals ...os.Signal) {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(),
		append([]os.Signal{os.Interrupt, syscall.SIGTERM}, signals...)...)
	context.AfterFunc(ctx, stop) // From here on the signals have their default effect.
	code, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Code returns the exit code of a command: 0 if it passed, otherwise 1.
func Code(passed bool) int {
	if passed {
		return 0
	}
	return 1
}
