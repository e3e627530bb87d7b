// Command big measures the waits of people and tasks when the tables are large.
//
//	go run ./bench/big
//	go run ./bench/big -scale 0.02
//
// It starts its own MariaDB, which generates some hundred million rows. It measures the lists and searches of the API
// over a day of 28 million subtasks. Then it measures summaries, analysts' queries and retention over 100 million rows
// of results, and then of summaries. Each stage's rows are dropped before the next stage. The whole takes half an hour
// and 70 GB of disk.
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

	_ "github.com/go-sql-driver/mysql" // makes the rows

	"adsync/base/clock"
	"adsync/test/rig"
)

func main() {
	rig.Main("big", parseOptions, func(ctx context.Context, o options) (int, error) {
		report, err := run(ctx, o, os.Stderr)
		if report != nil {
			err = errors.Join(err, report.write(os.Stdout, o.out))
		}
		return 0, err
	})
}

// options are the values of the command line's flags.
type options struct {
	stages   []string
	scale    float64
	days     float64
	accounts int
	log      int // rows of the day
	public   int
	summary  int
	calls    int
	buffer   string
	dir, out string
}

var stages = []string{"api", "public", "summary"}

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("big", flag.ContinueOnError)
	flags.SetOutput(output)
	only := flags.String("only", strings.Join(stages, ","), "the `stages`, separated by commas")
	flags.Float64Var(&o.scale, "scale", 1, "a part of all sizes, as 0.02")
	flags.IntVar(&o.accounts, "accounts", 40_000, "accounts")
	flags.IntVar(&o.log, "log", 28_000_000, "rows of the day's log table; six days before have a tenth of them")
	flags.IntVar(&o.public, "public", 100_000_000, "rows of report_daily, report_hourly and wide_daily")
	flags.Float64Var(&o.days, "days", 1, "a part of the days of the public tables: as many rows in each, fewer of them")
	flags.IntVar(&o.summary, "summary", 100_000_000, "rows of both summaries")
	flags.IntVar(&o.calls, "calls", 120, "how often each route is called")
	flags.StringVar(&o.buffer, "buffer", "6G", "the server's buffer pool")
	flags.StringVar(&o.dir, "dir", "",
		"an empty or new `directory` for data and logs, kept at the end (default a temporary one)")
	flags.StringVar(&o.out, "out", "bench/out/big.json", "the file for the results")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name = strings.TrimSpace(name); !slices.Contains(stages, name) {
			return o, fmt.Errorf("-only %s: want some of %s", *only, strings.Join(stages, ", "))
		}
		o.stages = append(o.stages, name)
	}
	if o.scale <= 0 || o.scale > 10 || o.days <= 0 || o.days > 1 || o.calls < 20 {
		return o, errors.New("-scale is more than 0 and up to 10, -days more than 0 and up to 1, -calls is 20 or more")
	}
	for _, size := range []*int{&o.accounts, &o.log, &o.public, &o.summary} {
		*size = max(1, int(float64(*size)*o.scale))
	}
	return o, nil
}

// run starts the server, measures, and stops it. After an error the report has the measures taken before it.
func run(ctx context.Context, o options, stderr io.Writer) (report *Report, err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "adsync-big-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	began := clock.Mark()
	report = newReport(o)
	d := &deployment{o: o, report: report, say: func(format string, args ...any) {
		fmt.Fprintf(stderr, "big: %4.0f s: %s\n", clock.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.start(ctx, stderr); err != nil {
		return report, err
	}
	for _, s := range []struct {
		name string
		do   func(ctx context.Context) error
	}{{"api", d.api}, {"public", d.public}, {"summary", d.summary}} {
		if !slices.Contains(o.stages, s.name) {
			continue
		}
		if err := s.do(ctx); err != nil {
			return report, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return report, nil
}
