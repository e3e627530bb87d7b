// Package queueing breaks the job queue on purpose: its processes, the database, Redis, the clocks, and its clients. It
// runs on the servers of package stage.
//
// Clients publish, consume and acknowledge, and write down what they tried and what they were answered. In the end,
// when the queues are empty, each job whose publication was answered must have been delivered to somebody who then
// tried to acknowledge it, or be a dead letter; nothing is delivered that nobody tried to publish; no job is delivered
// after an acknowledgement that was answered, and none to two consumers at a time within its time to run.
package queueing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	// earlyLapse means that claims may lapse before their time, since a clock jumps.
	earlyLapse bool
	// steps inject the fault while the clients work. What they leave broken is repaired afterwards.
	steps func(context.Context, *desk) error
}

// Trial is one run of a scenario.
type Trial struct {
	Stack    *stage.Stack
	Program  string // adsync with its fail points
	Dir      string // for settings and logs
	Seed     int64
	Patience time.Duration // until the queues are empty, after the fault
	Log      func(format string, args ...any)
}

const (
	warmUp = 3 * time.Second // of load, before the fault
	after  = 3 * time.Second // of load, after its end
)

// Run runs the scenario and returns its verdict. An error means that it could not be judged.
func (s *Scenario) Run(ctx context.Context, t Trial) (v judge.Verdict, err error) {
	d := &desk{Trial: t, random: rand.New(rand.NewPCG(uint64(t.Seed), 0)), struck: map[string]int{}}
	defer func() {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := d.close(work); err != nil {
			t.Log("clearing away: %v", err)
		}
	}()
	if err := d.open(ctx); err != nil {
		return v, fmt.Errorf("start: %w", err)
	}
	load := newLoad(d)
	load.start(ctx)
	defer load.stop()
	if err := wait(ctx, warmUp); err != nil {
		return v, err
	}
	t.Log("the fault begins")
	if err := s.steps(ctx, d); err != nil {
		d.tell(judge.Harmed, "the steps failed: %v", err)
	}
	if err := d.repair(ctx); err != nil {
		return v, fmt.Errorf("repair: %w", err)
	}
	t.Log("repaired: %v", d.struck)
	if err := wait(ctx, after); err != nil {
		return v, err
	}
	load.stopPublishing()
	if err := d.drain(ctx, t.Patience+s.Extra); err != nil {
		d.tell(judge.Lost, "the queues were not empty in the end: %v", err)
	}
	load.stop()
	dead, err := d.dead(ctx)
	if err != nil {
		return v, err
	}
	for _, i := range d.instances {
		for _, text := range i.Ended {
			d.tell(judge.Harmed, "%s", text)
		}
	}
	found := load.history.judge(dead, ttr, s.earlyLapse)
	d.problems = append(d.problems, found.problems...)
	return d.verdict(found), nil
}

func (d *desk) verdict(f findings) judge.Verdict {
	v := judge.Verdict{Subtasks: f.published, Redelivered: f.again, Verdict: judge.Pass, Problems: d.problems}
	for _, n := range d.struck {
		v.Struck += n
	}
	for _, p := range d.problems {
		switch p.Kind {
		case judge.Lost:
			v.Lost++
		case judge.Doubled:
			v.Doubled++
		}
	}
	switch {
	case len(d.problems) > 0:
		v.Verdict = judge.Fail
	case v.Struck == 0 || f.published == 0:
		v.Verdict = judge.Void
	}
	return v
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("interrupted"), ctx.Err())
	}
}
