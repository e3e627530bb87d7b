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

// Main is the main function of a command of this repository. It reads the command line, runs what it asks for, and
// ends the process: with the code that run returns, with 1 at an error of it, with 2 for a command line that cannot
// be used, and with 0 after its help.
//
// The first interrupt ends run's context, so that it can end in good order what it has started; a second one ends
// this process. Signals next to SIGINT and SIGTERM that shall do so are named.
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
	context.AfterFunc(ctx, stop) // The signals have their default again.
	code, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Code is the exit code of a command that has passed, or has not.
func Code(passed bool) int {
	if passed {
		return 0
	}
	return 1
}
