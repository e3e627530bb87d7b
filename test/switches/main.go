// Command switches shows that the night of `adsync standalone --once` proves something: it switches off one of adsync's
// defences at a time, and each time a row must differ.
//
//	go run ./test/switches                          all switches
//	go run ./test/switches -switch total -seed 7    one of them, in another world
//	go run ./test/switches -list
//
// The unchanged program runs first, in the same world: no row may differ, and every event of the night must take
// effect. A switch is caught only by a row that differs from the truth, in the night or after it: not by a program
// that ends in another way, nor by an event that did not take effect.
//
// The runs' JSON and logs are written to test/switches/out. The exit code is 0 only if every switch was caught.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"adsync/test/rig"
)

func main() {
	rig.Main("switches", parseOptions, func(ctx context.Context, o options) (int, error) {
		allCaught, err := run(ctx, o, os.Stdout)
		return rig.Code(allCaught), err
	})
}

// options are the values of the command line's flags.
type options struct {
	switches []defence
	seed     int64
	out      string
	list     bool
}

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("switches", flag.ContinueOnError)
	flags.SetOutput(output)
	names := flags.String("switch", "all", "the `names` of what is switched off, separated by commas: one at a time")
	flags.Int64Var(&o.seed, "seed", 1, "the seed of the world")
	flags.StringVar(&o.out, "out", "test/switches/out", "the `directory` for the runs' JSON and logs")
	flags.BoolVar(&o.list, "list", false, "list the switches")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag: name switches with -switch", flags.Arg(0))
	}
	if *names == "all" {
		o.switches = all
		return o, nil
	}
	for name := range strings.SplitSeq(*names, ",") {
		i := slices.IndexFunc(all, func(d defence) bool { return d.name == strings.TrimSpace(name) })
		if i < 0 {
			return o, fmt.Errorf("there is no switch %q: -list names them", name)
		}
		o.switches = append(o.switches, all[i])
	}
	return o, nil
}

// run plays the night as it is, then with each switch off, and reports whether all of them were caught.
func run(ctx context.Context, o options, stdout io.Writer) (bool, error) {
	if o.list {
		for _, d := range all {
			fmt.Fprintf(stdout, "%-24s %s\n", d.name, d.without)
		}
		return true, nil
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return false, err
	}
	began := time.Now()
	control, err := play(ctx, o, root, defence{name: "control"})
	if err != nil {
		return false, err
	}
	if err := control.Check(); err != nil {
		return false, fmt.Errorf("the program as it is, from which nothing is taken: %w", err)
	}
	fmt.Fprintf(stdout,
		"%-24s nothing is switched off: 0 differences in %d rows of the night and %d of the round, %.0f s\n",
		"control", control.Story.RowsCompared, control.Truth.RowsCompared, time.Since(began).Seconds())
	var verdicts []verdict
	var problems []error
	for _, d := range o.switches {
		began = time.Now()
		if d.season != nil && !d.season(began) {
			fmt.Fprintf(stdout, "%-24s left out: on these days the night has nothing that the defence is for\n", d.name)
			continue
		}
		report, err := play(ctx, o, root, d)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			problems = append(problems, err) // The other switches may still be caught.
			continue
		}
		v := judge(d, report)
		verdicts = append(verdicts, v)
		fmt.Fprintf(stdout, "%-24s %s, %.0f s\n", d.name, v, time.Since(began).Seconds())
	}
	printTable(stdout, verdicts)
	return len(problems) == 0 && !slices.ContainsFunc(verdicts, func(v verdict) bool { return !v.caught() }),
		errors.Join(problems...)
}

func printTable(out io.Writer, verdicts []verdict) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SWITCH\tCAUGHT\tIN THE NIGHT\tIN THE ROUND\tFIRST SIGN")
	for _, v := range verdicts {
		fmt.Fprintf(w, "%s\t%t\t%d\t%d\t%s\n", v.defence.name, v.caught(), v.night, v.round, v.sign)
	}
	_ = w.Flush()
}
