// Command chaos injects every fault that adsync promises to survive into a deployment, and reports whether it did.
//
//	go run ./test/chaos                                   a seeded selection
//	go run ./test/chaos -long                             all scenarios
//	go run ./test/chaos -scenario redis-flushall -seed 7  one of them again
//	go run ./test/chaos -soak 60                          an hour of steady load that loses one node after another
//	go run ./test/chaos -list
//
// It starts real Kafka, MariaDB and Redis servers for itself, builds adsync with its fail points (tag chaos), and runs
// two producers, three consumers and the simulated platforms as processes. Each process reaches the services through
// its own proxies. A scenario is steady load, a fault, its end, a drain, and one full round of all tasks in a world
// whose clock is stopped. Its verdict comes from the tables and from the simulator's ledger, never from adsync's own
// counters.
//
// Histories, logs and verdicts.json are written to test/chaos/out. The exit code is 0 only if every verdict is pass.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log" //nolint:depguard // It is what the FTPS server of package publishing logs with.
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/mutants"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

func main() {
	rig.Main("chaos", parseOptions, func(ctx context.Context, o options) (int, error) {
		// Servers that do not answer are expected here, so that go-redis logs nothing.
		_ = mysql.SetLogger(&mysql.NopLogger{})
		redis.SetLogger(silent{})
		log.SetOutput(io.Discard) // That server logs each missing file.
		passed, err := run(ctx, o, os.Stdout, os.Stderr)
		return rig.Code(passed), err
	})
}

// options are the values of the command line's flags.
type options struct {
	scenarios []scenario
	mutants   []mutants.Mutant // run instead of the normal program
	seed      int64
	parallel  int
	program   string // a built adsync; empty to build one
	out       string
	list      bool
}

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(output)
	names := flags.String("scenario", "",
		"the `names` of the scenarios to run, separated by commas (default a selection by the seed)")
	broken := flags.String("mutants", "",
		"run the scenarios of these `mutants`, separated by commas, or of all, until one fails")
	long := flags.Bool("long", false, "run all scenarios")
	flags.Int64Var(&o.seed, "seed", 0, "the seed of moments and victims (default a new one)")
	flags.IntVar(&o.parallel, "parallel", 1, "how many stacks of servers run side by side")
	flags.StringVar(&o.program, "program", "", "an adsync that was built with the tag chaos (default a new build)")
	flags.StringVar(&o.out, "out", "test/chaos/out", "the `directory` for histories, logs and verdicts")
	minutes := flags.Int("soak", 0,
		"run steady load for so many `minutes` instead of scenarios, and lose a node every five")
	flags.BoolVar(&o.list, "list", false, "list the scenarios")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.parallel < 1 {
		return o, fmt.Errorf("-parallel %d: want 1 or more", o.parallel)
	}
	if o.seed == 0 {
		o.seed = 1 + rand.Int64N(99_999)
	}
	switch {
	case *minutes != 0:
		if *minutes < soakLeast || *minutes > soakMost || *names != "" || *broken != "" || *long {
			return o, fmt.Errorf("-soak %d: want %d to %d minutes, and no -scenario, -mutants or -long", *minutes, soakLeast,
				soakMost)
		}
		o.scenarios = []scenario{soak(time.Duration(*minutes) * time.Minute)}
	case *broken != "":
		var err error
		if o.mutants, err = chooseMutants(*broken); err != nil || *names != "" || *long || o.program != "" {
			return o, cmp.Or(err, errors.New("-mutants has its own programs and scenarios: leave the other flags out"))
		}
	case *names != "" && *long:
		return o, errors.New("-scenario and -long exclude each other")
	case *names != "":
		for name := range strings.SplitSeq(*names, ",") {
			s, err := findScenario(strings.TrimSpace(name))
			if err != nil {
				return o, err
			}
			o.scenarios = append(o.scenarios, s)
		}
	case *long:
		o.scenarios = scenarios
	default:
		o.scenarios = choose(o.seed)
	}
	return o, nil
}

// run runs the scenarios and reports whether all of them passed.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (bool, error) {
	if o.list {
		for _, s := range scenarios {
			fmt.Fprintf(stdout, "%-32s %s\n", s.name, s.doc)
		}
		return true, nil
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "adsync-chaos-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if len(o.mutants) > 0 {
		return runMutants(ctx, o, dir, stdout, stderr)
	}
	if o.program == "" {
		if o.program, err = rig.Build(ctx, dir, tags); err != nil {
			return false, err
		}
	}
	began := time.Now()
	verdicts, err := runAll(ctx, o, dir, stderr)
	judge.PrintTable(stdout, verdicts)
	fmt.Fprintf(stdout, "\nseed %d, %.0f s; histories are in %s\n", o.seed, time.Since(began).Seconds(), o.out)
	err = errors.Join(err, judge.WriteVerdicts(filepath.Join(o.out, "verdicts.json"), verdicts))
	passed := len(verdicts) == len(o.scenarios) && !slices.ContainsFunc(verdicts,
		func(v judge.Verdict) bool { return v.Verdict != judge.Pass })
	return passed, err
}

// tags are the build tags that add the fail points.
const tags = "chaos,timetzdata"

// runAll distributes the scenarios over the stacks. A scenario that could not be judged is an error and has the
// verdict fail.
func runAll(ctx context.Context, o options, dir string, stderr io.Writer) ([]judge.Verdict, error) {
	queue := make(chan int, len(o.scenarios))
	// The longest run first, so that no stack runs one of them alone at the end.
	for _, long := range []bool{true, false} {
		for i, s := range o.scenarios {
			if (s.extra > 0) == long {
				queue <- i
			}
		}
	}
	close(queue)
	verdicts := make([]judge.Verdict, len(o.scenarios))
	errs := make([]error, o.parallel)
	out := &lockedWriter{to: stderr}
	var wg sync.WaitGroup
	for n := range o.parallel {
		wg.Go(func() {
			errs[n] = withStack(ctx, filepath.Join(dir, fmt.Sprint(n)), out, func(s *stage.Stack) error {
				r := &runner{stack: s, program: o.program, out: o.out, stderr: out, patience: stage.Patience}
				return r.runQueue(ctx, o, queue, verdicts)
			})
		})
	}
	wg.Wait()
	verdicts = slices.DeleteFunc(verdicts, func(v judge.Verdict) bool { return v.Scenario == "" })
	return verdicts, errors.Join(errs...)
}

// withStack starts servers, calls the function, and stops the servers.
func withStack(ctx context.Context, dir string, stderr io.Writer, work func(*stage.Stack) error) (err error) {
	began := time.Now()
	s, err := stage.StartStack(ctx, dir, stderr)
	defer func() { err = errors.Join(err, s.Close()) }()
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "chaos: the servers are ready after %.1f s\n", time.Since(began).Seconds())
	return work(s)
}

func (r *runner) runQueue(ctx context.Context, o options, queue <-chan int, verdicts []judge.Verdict) error {
	for i := range queue {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v, err := r.run(ctx, o.scenarios[i], o.seed)
		if err != nil {
			fmt.Fprintf(r.stderr, "chaos: %s could not be judged: %v\n", o.scenarios[i].name, err)
			v = judge.Verdict{Verdict: judge.Fail}
		}
		v.Scenario, v.Seed = o.scenarios[i].name, o.seed
		verdicts[i] = v
	}
	return nil
}

// lockedWriter lets several goroutines write whole lines.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// silent is a go-redis logger that drops every line.
type silent struct{}

// Printf implements the logger.
func (silent) Printf(context.Context, string, ...any) {}
