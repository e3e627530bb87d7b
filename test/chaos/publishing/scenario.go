// Package publishing breaks the making and the delivery of report files on purpose: consumers, destinations, and the
// figures while files are made. It runs on the servers of package stage, with a directory and an S3, an SFTP and an
// FTPS server as destinations.
//
// A reader who looks at a destination at any moment must find only whole files that a row describes. In the end each
// file has the SHA-256 of its row, the newest revision equals a rendering from the tables by the judge's own code, and
// nothing else is left.
package publishing

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
)

// Scenario is one fault.
type Scenario struct {
	Name string
	Doc  string // what is done
	// Long means that it takes more than two minutes.
	Long  bool
	Extra time.Duration // how much longer than other scenarios it may take
	// timeout is the deadline of each try, timeoutUsual if it is 0.
	timeout time.Duration
	// steps inject the fault. What they leave broken is repaired afterwards.
	steps func(context.Context, *desk) error
}

// timeoutUsual is the deadline of a try. It must be longer than a scenario pauses one.
const timeoutUsual = 3 * time.Minute

func (s *Scenario) deadline() time.Duration { return cmp.Or(s.timeout, timeoutUsual) }

// Trial is one run of a scenario.
type Trial struct {
	Stack    *stage.Stack
	Program  string // adsync with its fail points
	Dir      string // for settings, logs and files
	Seed     int64
	Patience time.Duration // until no file is open, after the fault
	Log      func(format string, args ...any)
}

// Run runs the scenario and returns its verdict. An error means that it could not be judged.
func (s *Scenario) Run(ctx context.Context, t Trial) (v judge.Verdict, err error) {
	d, err := open(ctx, t, s)
	defer func() {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := d.close(work); err != nil {
			t.Log("clearing away: %v", err)
		}
	}()
	if err != nil {
		return v, fmt.Errorf("start: %w", err)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.watch(watching)
	}()
	t.Log("the fault begins")
	if err := s.steps(ctx, d); err != nil {
		d.tell(judge.Harmed, "the steps failed: %v", err)
	}
	for kind, s := range d.shelves {
		if n := s.struck(); n > 0 {
			d.strike("of "+kind, n)
		}
	}
	if err := d.repair(ctx); err != nil {
		return v, fmt.Errorf("repair: %w", err)
	}
	t.Log("repaired: %v", d.struck)
	if err := d.settle(ctx); err != nil {
		t.Log("not settled: %v", err)
	}
	// A try that lost its file may still end.
	if err := wait(ctx, time.Second); err != nil {
		return v, err
	}
	stop()
	<-watched
	for _, i := range d.instances {
		for _, text := range i.Ended {
			d.tell(judge.Harmed, "%s", text)
		}
	}
	rows, err := d.judge(ctx)
	if err != nil {
		return v, fmt.Errorf("judge: %w", err)
	}
	struck := 0
	for _, n := range d.struck {
		struck += n
	}
	return d.verdict(rows, struck), nil
}
