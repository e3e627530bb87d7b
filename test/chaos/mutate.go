package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/mutants"
	"adsync/test/chaos/stage"
)

// caught is the outcome of a mutant.
type caught struct {
	Mutant   string `json:"mutant"`
	Breaks   string `json:"breaks"`
	Caught   bool   `json:"caught"`
	Scenario string `json:"scenario,omitempty"` // the scenario that failed
	Problem  string `json:"problem,omitempty"`  // the first problem that it found
}

// mutantPatience is how long the drain of a mutant may take: what is not done by then is lost, as the mutant intends.
// The sweep needs half a minute.
const mutantPatience = 45 * time.Second

// chooseMutants returns the mutants with these names, all of them for "all".
func chooseMutants(names string) ([]mutants.Mutant, error) {
	if names == "all" {
		return mutants.All, nil
	}
	var chosen []mutants.Mutant
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(mutants.All, func(m mutants.Mutant) bool { return m.Name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q", name)
		}
		chosen = append(chosen, mutants.All[i])
	}
	return chosen, nil
}

// runMutants builds each mutant and runs its scenarios until one fails. It reports whether all mutants were caught.
func runMutants(ctx context.Context, o options, dir string, stdout, stderr io.Writer) (bool, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return false, err
	}
	queue := make(chan int, len(o.mutants))
	for i := range o.mutants {
		queue <- i
	}
	close(queue)
	results := make([]caught, len(o.mutants))
	errs := make([]error, o.parallel)
	out := &lockedWriter{to: stderr}
	var wg sync.WaitGroup
	for n := range o.parallel {
		wg.Go(func() {
			err := withStack(ctx, filepath.Join(dir, fmt.Sprint(n)), out, func(s *stage.Stack) error {
				for i := range queue {
					m := o.mutants[i]
					results[i] = caught{Mutant: m.Name, Breaks: m.Breaks}
					program := filepath.Join(dir, m.Name)
					if err := m.Build(ctx, root, program); err != nil {
						// The other mutants may still be caught.
						errs[n] = errors.Join(errs[n], err)
						continue
					}
					r := &runner{stack: s, program: program, out: filepath.Join(o.out, "mutants", m.Name), stderr: out,
						patience: mutantPatience}
					if err := r.hunt(ctx, m, o.seed, &results[i]); err != nil {
						return err
					}
					_ = os.Remove(program)
				}
				return nil
			})
			errs[n] = errors.Join(errs[n], err)
		})
	}
	wg.Wait()
	all := true
	fmt.Fprintf(stdout, "\n%-24s %-8s %-36s %s\n", "MUTANT", "CAUGHT", "BY", "FIRST SIGN")
	for _, c := range results {
		all = all && c.Caught
		fmt.Fprintf(stdout, "%-24s %-8t %-36s %s\n", c.Mutant, c.Caught, c.Scenario, c.Problem)
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(o.out, "mutants.json"), append(text, '\n'), 0o644)
	}
	return all, errors.Join(errors.Join(errs...), err)
}

// hunt runs a mutant's scenarios until one of them catches it. Each has its own seed: a scenario that is named twice
// has other moments the second time.
func (r *runner) hunt(ctx context.Context, m mutants.Mutant, seed int64, c *caught) error {
	for i, name := range m.Scenarios {
		s, err := findScenario(name)
		if err != nil {
			return fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		v, err := r.run(ctx, s, seed+int64(i))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			// A mutant whose scenario could not be judged was not caught.
			fmt.Fprintf(r.stderr, "chaos: %s of the mutant %s could not be judged: %v\n", name, m.Name, err)
			continue
		}
		if p, ok := sign(v, m.Overruns); ok {
			c.Caught, c.Scenario, c.Problem = true, name, p
			return nil
		}
	}
	return nil
}

// sign returns the first problem that a broken mechanism causes. Stalls, floods and refused calls may have other
// reasons on a busy machine: refused calls are a sign only of a mutant that makes them.
func sign(v judge.Verdict, overruns bool) (string, bool) {
	for _, p := range v.Problems {
		if p.Kind != judge.Harmed && (p.Kind != judge.Overrun || overruns) {
			return string(p.Kind) + ": " + p.Text, true
		}
	}
	return "", false
}
