// Command bench measures how much adsync does on this machine, compared with task queues that do less.
//
//	go run ./bench
//	go run ./bench -rounds 5 -only noop,latency
//
// It starts its own real Kafka, MariaDB and Redis servers. Each measure is taken in several rounds, in turns of adsync
// and each peer. The medians of figures and of each turn's ratio, and the spread of the rounds, go to a table and a
// JSON file. Counts are read from the stores after everything has ended: a missing or extra row, outcome or message
// fails the run. Each line names what was durable, since figures are comparable only at equal durability.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"adsync/base/clock"
	"adsync/test/rig"
)

func main() {
	rig.Main("bench", parseOptions, func(ctx context.Context, o options) (int, error) {
		report, err := run(ctx, o, os.Stderr)
		if err == nil {
			err = report.write(os.Stdout, o.out)
		}
		return 0, err
	})
}

// options are the values of the command line's flags.
type options struct {
	rounds   int
	only     []string
	accounts int
	parts    int // subtasks of an account where throughput is measured
	day      int
	pool     int
	// The sizes of the flat measures.
	flatRows, flatAccounts, flatWaiting, flatTasks int
	dir, out                                       string
	profile                                        string // a directory
}

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(output)
	var usual, long []string
	for _, m := range measures {
		if m.long {
			long = append(long, m.id)
		} else {
			usual = append(usual, m.id)
		}
	}
	names := slices.Concat(usual, long)
	flags.IntVar(&o.rounds, "rounds", 3, "how often each measure is taken")
	only := flags.String("only", strings.Join(usual, ","),
		"the `measures` to take, separated by commas; of the others, "+strings.Join(long, ", ")+
			", each takes minutes")
	flags.IntVar(&o.accounts, "accounts", 40_000, "accounts")
	flags.IntVar(&o.parts, "parts", 5, "subtasks of an account where throughput is measured")
	flags.IntVar(&o.day, "day", 28_000_000, "subtasks of the day")
	flags.IntVar(&o.pool, "pool", 256, "the lane's pool_size, and the concurrency of the peers")
	flags.IntVar(&o.flatRows, "flat-rows", 28_000_000, "rows in the day's table of flat-day")
	flags.IntVar(&o.flatAccounts, "flat-accounts", 4_000_000, "accounts of flat-accounts")
	flags.IntVar(&o.flatWaiting, "flat-waiting", 1_000_000, "subtasks that wait in flat-waiting")
	flags.IntVar(&o.flatTasks, "flat-tasks", 10_000, "tasks of flat-tasks")
	flags.StringVar(&o.dir, "dir", "",
		"an empty or new `directory` for data and logs, kept at the end (default a temporary one)")
	flags.StringVar(&o.out, "out", "bench/out/results.json", "the file for the results")
	flags.StringVar(&o.profile, "profile", "", "a `directory` for profiles of each measure of adsync")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name = strings.TrimSpace(name); !slices.Contains(names, name) {
			return o, fmt.Errorf("-only %s: want some of %s", *only, strings.Join(names, ", "))
		}
		o.only = append(o.only, name)
	}
	if min(o.rounds, o.accounts, o.parts, o.day, o.pool, o.flatRows, o.flatAccounts, o.flatWaiting, o.flatTasks) < 1 {
		return o, errors.New("numbers are 1 or more")
	}
	return o, nil
}

// run starts the servers, measures, and stops everything.
func run(ctx context.Context, o options, stderr io.Writer) (report *Report, err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "adsync-bench-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	began := clock.Mark()
	say := func(format string, args ...any) {
		fmt.Fprintf(stderr, "bench: %4.0f s: %s\n", clock.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	d, err := deploy(ctx, o, stderr)
	defer func() { err = errors.Join(err, d.close()) }()
	if err != nil {
		return nil, err
	}
	say("the servers run, %d accounts are there", o.accounts)
	d.buildPeers(ctx, say)
	report = newReport(o)
	for round := range o.rounds {
		for _, m := range measures {
			if !slices.Contains(o.only, m.id) {
				continue
			}
			for _, who := range slices.Repeat(append([]string{ours}, m.peers...), max(1, m.turns)) {
				if !d.has(who) {
					continue
				}
				values, err := m.take(ctx, d, who)
				if err != nil {
					return nil, fmt.Errorf("%s of %s: %w", m.id, who, err)
				}
				for id, value := range values {
					report.add(id, who, value)
				}
				say("round %d, %s, %s: %s", round+1, m.id, who, inWords(values))
			}
		}
	}
	return report, nil
}
