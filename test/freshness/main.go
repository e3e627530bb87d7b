// Command freshness measures the age of the figures that people see, at the seeded cadence and under call limits.
//
//	go run ./test/freshness -accounts 40000 -minutes 15
//
// It starts real Kafka, MariaDB and Redis servers for itself, builds adsync, and runs the simulated platforms, a
// producer and some consumers as processes, with the default tasks on their crons. One round of each task measures the
// demand; the limits are then set to a multiple of it. Every few seconds it reads from the tables, for each active
// account, the moment at which the last whole pull that the summaries show began. Accounts that were never pulled, or
// whose pulls fail, only grow older.
//
// The exit code is 0 only if the 95th percentile of each line, plain and weighted by spend, is within the tasks'
// period and 60 s.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"adsync/test/rig"
)

func main() {
	rig.Main("freshness", parseOptions, func(ctx context.Context, o options) (int, error) {
		report, err := run(ctx, o, os.Stderr)
		if err == nil {
			err = report.write(os.Stdout, o.output)
		}
		return rig.Code(err == nil && report.Held), err
	})
}

// options are the values of the command line's flags.
type options struct {
	accounts, active, consumers int
	pool                        int
	seed                        int64
	settle, window              time.Duration
	sample                      time.Duration
	margin                      float64
	program, dir, output        string
}

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	var minutes float64
	flags := flag.NewFlagSet("freshness", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.IntVar(&o.accounts, "accounts", 400, "accounts of all platforms together")
	flags.IntVar(&o.active, "active", 20, "how many of 100 accounts have ads that run, up to 65")
	flags.IntVar(&o.consumers, "consumers", 2, "how many consumers run")
	flags.IntVar(&o.pool, "pool", 20_000,
		"the lanes' pool_size, and broker.span: what waits for a limit stands in the pool, and holds up others once that "+
			"is full")
	flags.Int64Var(&o.seed, "seed", 1, "the seed of the world")
	flags.Float64Var(&minutes, "minutes", 15, "how long is measured")
	flags.DurationVar(&o.settle, "settle", 5*time.Minute, "how long the tasks run on their crons before it is measured")
	flags.DurationVar(&o.sample, "sample", 5*time.Second, "how often the tables are read")
	flags.Float64Var(&o.margin, "margin", 1.5, "the platforms' limits, in demands of the busiest app")
	flags.StringVar(&o.program, "program", "", "a built adsync (default a new build)")
	flags.StringVar(&o.dir, "dir", "",
		"an empty or new `directory` for data and logs, kept at the end (default a temporary one)")
	flags.StringVar(&o.output, "output", "text", "text or json")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.window = time.Duration(minutes * float64(time.Minute))
	if o.accounts < 2 || o.consumers < 1 || o.pool < 1 || o.window <= 0 || o.settle < 0 || o.sample < time.Second ||
		o.margin <= 0 {
		return o,
			errors.New(
				"want 2 or more -accounts, 1 or more -consumers, a -pool of 1 or more, a -sample of 1s or more, and -minutes and " +
					"a -margin above 0")
	}
	if o.output != "text" && o.output != "json" {
		return o, fmt.Errorf("-output %s: want text or json", o.output)
	}
	return o, nil
}

// run starts the deployment, measures, and stops everything.
func run(ctx context.Context, o options, stderr io.Writer) (report *Report, err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "adsync-freshness-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(stderr, "freshness: %4.0f s: %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	d, err := deploy(ctx, o, stderr)
	defer func() { err = errors.Join(err, d.close()) }()
	if err != nil {
		return nil, err
	}
	say("%d accounts are bound, %d of them were marked as initialised by adsync bind", o.accounts, d.initialised)
	say(
		"%d accounts had spend in the last 7 days and stay active; the others sleep, and were made inactive as the "+
			"activity check would", len(d.accounts))
	demand, err := d.measureDemand(ctx, say)
	if err != nil {
		return nil, err
	}
	limits, err := d.limit(ctx, demand, o.margin)
	if err != nil {
		return nil, err
	}
	if err := d.startProducer(ctx, true); err != nil {
		return nil, err
	}
	say("the tasks run on their crons; measured is from %s on, for %s", time.Now().Add(o.settle).Format(time.TimeOnly),
		o.window)
	rare, err := d.rareTicks(ctx, time.Now(), o.settle+o.window)
	if err != nil {
		return nil, err
	}
	report, err = d.measure(ctx, o, limits)
	if err != nil {
		return nil, err
	}
	report.Rare = rare
	return report, nil
}

// Report is the result of the measurement.
type Report struct {
	Held     bool    `json:"held"` // the 95th percentiles of all lines are within their bounds
	Accounts int     `json:"accounts"`
	Pool     int     `json:"pool_size"` // of each lane, in each of the consumers
	Active   int     `json:"active"`
	Seconds  float64 `json:"seconds"`
	Samples  int     `json:"samples"`
	Lines    []Line  `json:"lines"`

	Limits         []Limit            `json:"limits"`
	Calls          int64              `json:"calls"`
	Refused        int64              `json:"refused"`
	Refusals       []Refusal          `json:"refusals,omitempty"` // by time
	Subtasks       map[string]int64   `json:"subtasks"`           // that ended, by state
	SubtasksSecond float64            `json:"subtasks_per_second"`
	Rows           map[string]float64 `json:"rows_per_active_account"` // of a day, by report and level
	CPU            map[string]float64 `json:"cpu"`                     // cores used, by process
	Rare           []string           `json:"rare_ticks,omitempty"`    // of tasks that are no part of the demand
}

// Line is the freshness of one report at one level.
type Line struct {
	Report  string  `json:"report"`
	Level   string  `json:"level"`
	Period  float64 `json:"period_seconds"`
	Bound   float64 `json:"bound_seconds"`
	Held    bool    `json:"held"`
	Plain   Ages    `json:"plain"`
	Weighed Ages    `json:"by_spend"`
	// Media has the 95th percentile of each platform's accounts.
	Media map[string]Age `json:"p95_by_media"`
}

// Ages are percentiles of ages over all samples and accounts.
type Ages struct {
	P50 Age `json:"p50"`
	P95 Age `json:"p95"`
	P99 Age `json:"p99"`
	Max Age `json:"max"`
}

func (r *Report) write(w io.Writer, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(w, "%d accounts, %d active; %d samples in %.0f s; pool_size %d\n\n", r.Accounts, r.Active, r.Samples,
		r.Seconds, r.Pool)
	fmt.Fprintf(w, "%-26s %-9s %8s %8s %8s %8s %8s\n", "now − fetch start, s", "", "p50", "p95", "p99", "max", "bound")
	for _, l := range r.Lines {
		for _, row := range []struct {
			name string
			ages Ages
		}{{"accounts", l.Plain}, {"by spend", l.Weighed}} {
			fmt.Fprintf(w, "%-26s %-9s %8s %8s %8s %8s %8.0f %s\n", l.Report+" "+l.Level, row.name, row.ages.P50, row.ages.P95,
				row.ages.P99, row.ages.Max, l.Bound,
				map[bool]string{true: "", false: "OVER"}[float64(row.ages.P95) <= l.Bound])
		}
	}
	fmt.Fprintln(w, "\np95 of each platform's accounts, s")
	for _, l := range r.Lines {
		fmt.Fprintf(w, "%-26s", l.Report+" "+l.Level)
		for _, name := range slices.Sorted(maps.Keys(l.Media)) {
			fmt.Fprintf(w, "  %s %s", name, l.Media[name])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n%-50s %12s %12s %12s %9s\n", "limits of an app", "demand/10 s", "limit/10 s", "calls made",
		"refused")
	for _, l := range r.Limits {
		fmt.Fprintf(w, "%-50s %12.1f %12d %12d %9d\n", l.Media+" "+l.Endpoint, l.Demand, l.Calls, l.Made, l.Refused)
	}
	fmt.Fprintf(w, "\n%d calls, %d refused for a limit\n%.1f subtasks/s, by state %v\n", r.Calls, r.Refused,
		r.SubtasksSecond, r.Subtasks)
	for _, x := range r.Refusals {
		fmt.Fprintf(w, "  %s %s %s: %d refused; in the %s before, the machine stopped for up to %.3f s\n",
			x.At.Format(time.TimeOnly), x.Media, x.Endpoint, x.Calls, limitPeriod, x.Stall)
	}
	printMap(w, "\nrows of a day per active account", "%.1f", r.Rows)
	printMap(w, "\ncores used", "%.2f", r.CPU)
	for _, tick := range r.Rare {
		fmt.Fprintln(w, "next to the demand:", tick)
	}
	_, err := fmt.Fprintln(w, cmp.Or(map[bool]string{true: "\nheld"}[r.Held], "\nnot held"))
	return err
}
