// Command publish measures how fast report files are made and delivered.
//
//	go run ./bench/publish
//	go run ./bench/publish -scale 0.02
//	go run ./bench/publish -only mix
//
// It starts its own MariaDB, which generates the rows, and delivers to a directory. The parts are:
//
//	csv   a CSV file of 5 GB: draining its query, writing as many bytes, and making and delivering the file
//	xlsx  an XLSX file of 3,000,000 rows: making and delivering it
//	mix   1,000 CSV files of 20 KB, 8 at a time as on the lane files, next to the CSV file of 5 GB
//
// Each is done in a process of its own, whose largest resident memory is a figure too. It needs 12 GB of disk.
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
	rig.Main("publish", parseOptions, func(ctx context.Context, o options) (int, error) {
		if o.job != "" {
			return 0, work(ctx, o)
		}
		report, err := run(ctx, o, os.Stderr)
		if report != nil {
			err = errors.Join(err, report.write(os.Stdout, o.out))
		}
		return 0, err
	})
}

// options are the values of the command line's flags.
type options struct {
	parts    []string
	rounds   int
	csvRows  int
	xlsxRows int
	small    int
	dir, out string
	// Those of a process that does one job.
	job, dsn string
}

var parts = []string{"csv", "xlsx", "mix"}

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	flags.SetOutput(output)
	only := flags.String("only", strings.Join(parts, ","), "the `parts`, separated by commas")
	scale := flags.Float64("scale", 1, "a part of all sizes, as 0.02")
	flags.IntVar(&o.rounds, "rounds", 1, "how often each part is measured")
	flags.IntVar(&o.csvRows, "csv-rows", 12_500_000, "rows of the CSV file, of 400 bytes each")
	flags.IntVar(&o.xlsxRows, "xlsx-rows", 3_000_000, "rows of the XLSX file; at most as many as of the CSV file")
	flags.IntVar(&o.small, "small", 1000, "small files")
	flags.StringVar(&o.dir, "dir", "",
		"an empty or new `directory` for data and files, kept at the end (default a temporary one)")
	flags.StringVar(&o.out, "out", "bench/out/publish.json", "the file for the results")
	flags.StringVar(&o.job, "job", "", "used by the command itself: the `job` of this process")
	flags.StringVar(&o.dsn, "dsn", "", "used by the command itself: the server")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name = strings.TrimSpace(name); !slices.Contains(parts, name) {
			return o, fmt.Errorf("-only %s: want some of %s", *only, strings.Join(parts, ", "))
		}
		o.parts = append(o.parts, name)
	}
	if *scale <= 0 || *scale > 10 || o.rounds < 1 {
		return o, errors.New("-scale is more than 0 and up to 10, -rounds is 1 or more")
	}
	for _, size := range []*int{&o.csvRows, &o.xlsxRows, &o.small} {
		*size = max(1, int(float64(*size)**scale))
	}
	if o.xlsxRows > o.csvRows {
		return o, fmt.Errorf("-xlsx-rows %d: want at most %d, the rows of the CSV file", o.xlsxRows, o.csvRows)
	}
	return o, nil
}

// run starts the server, measures, and stops it. After an error the report has the measures taken before it.
func run(ctx context.Context, o options, stderr io.Writer) (report *Report, err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "adsync-publish-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	began := clock.Mark()
	report = newReport(o)
	d := &deployment{o: o, say: func(format string, args ...any) {
		fmt.Fprintf(stderr, "publish: %4.0f s: %s\n", clock.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.start(ctx, stderr); err != nil {
		return report, err
	}
	for range o.rounds {
		for _, part := range []struct {
			name string
			do   func(ctx context.Context, d *deployment, r *Report) error
		}{{"csv", measureCSV}, {"xlsx", measureXLSX}, {"mix", measureMix}} {
			if !slices.Contains(o.parts, part.name) {
				continue
			}
			if err := part.do(ctx, d, report); err != nil {
				return report, fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	return report, nil
}
