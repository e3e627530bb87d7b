// Package outside breaks the handler external on purpose: producers, consumers, servers of jobs, Redis, the database,
// and the workers, which are clients in this process. It runs on the servers of package stage.
//
//	scenario.go  the fault and its verdict
//	desk.go      the processes, the tasks and the orders
//	workers.go   the workers: they acknowledge, nack, release, and die with a claim
//	history.go   what the workers were answered
//	tables.go    what the tables have in the end
//	judge.go     compares the two
//
// In the end each ordered part has a row that succeeded, the runs' counts are those of their rows, and each attempt has
// one job. A success has an acknowledgement of a worker of its last attempt, and each failure a nack, the end of a
// worker's time, or the deletion of its job. No job of a subtask is left.
package outside

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/queueing"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

// The scenario.
const (
	Name = "jobs-external"
	Doc  = "programs outside work the subtasks of tasks: kill -9 of a producer, a consumer and a server of jobs at each " +
		"step from a subtask to its outcome, jobs deleted, Redis emptied, MariaDB stopped and killed"
	// Extra is how much longer than other scenarios it may take.
	Extra = leftPatience
)

// steps are where processes are killed: with a job published and its subtask not yet deferred, with an outcome that is
// not written or whose message is not done, with subtasks due and their jobs not yet put off, and before and after each
// commit of a server of jobs.
var steps = []struct{ role, point string }{
	{consumer, "external.published"}, {consumer, "consumer.outcomes_gathered"}, {consumer, "consumer.outcomes_written"},
	{producer, "external.released"}, {producer, "producer.due.raised"},
	{server, "jobs.claiming"}, {server, "jobs.claimed"}, {server, "jobs.delivered"}, {server, "jobs.acking"},
	{server, "jobs.acked"}, {server, "jobs.nacked"}, {server, "jobs.released"},
}

const (
	warmUp = 8 * time.Second // of work, before the fault
	after  = 5 * time.Second // of work, after its end
	// leftPatience is how long the jobs' ends may be kept at most when all subtasks have ended. They are kept for a minute
	// at least.
	leftPatience = 2 * time.Minute
)

// Run runs the scenario and returns its verdict. An error means that it could not be judged.
func Run(ctx context.Context, t queueing.Trial) (v judge.Verdict, err error) {
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
	workers := newWorkers(d)
	workers.start(ctx)
	defer workers.stop()
	orders := newOrders(d)
	orders.start(ctx)
	defer orders.stop()
	if err := wait(ctx, warmUp); err != nil {
		return v, err
	}
	t.Log("the fault begins")
	if err := d.fault(ctx, workers.history); err != nil {
		d.tell(judge.Harmed, "the steps failed: %v", err)
	}
	if err := d.repair(ctx); err != nil {
		return v, fmt.Errorf("repair: %w", err)
	}
	t.Log("repaired: %v", d.struck)
	if err := wait(ctx, after); err != nil {
		return v, err
	}
	orders.stop()
	found, err := d.settle(ctx)
	if err != nil {
		return v, err
	}
	workers.stop()
	for _, i := range d.instances {
		for _, text := range i.Ended {
			d.tell(judge.Harmed, "%s", text)
		}
	}
	d.problems = append(d.problems, workers.history.judge(found, orders.accepted, ttr)...)
	return d.verdict(found, workers.history), nil
}

// settle waits until all subtasks have ended and nothing is left of their jobs, and returns the tables then. What does
// not end is for the judge.
func (d *desk) settle(ctx context.Context) (found tables, err error) {
	ended := rig.Await(ctx, d.Patience, "all subtasks have ended", func(ctx context.Context) (bool, error) {
		found, err := d.read(ctx)
		return err == nil && !found.open(), err
	})
	if ended == nil {
		// Without an error all that is left shows in the tables.
		_ = rig.Await(ctx, leftPatience, "no job is left", func(ctx context.Context) (bool, error) {
			found, err := d.read(ctx)
			return err == nil && found.left() == 0, err
		})
	}
	if ctx.Err() != nil {
		return found, ctx.Err()
	}
	return d.read(ctx)
}

// fault kills a process at each step, in a random order, and then deletes jobs, empties Redis and restarts MariaDB.
func (d *desk) fault(ctx context.Context, h *history) error {
	for _, n := range d.random.Perm(len(steps)) {
		if err := d.killAt(ctx, steps[n].role, steps[n].point); err != nil {
			return err
		}
	}
	if err := d.withdraw(ctx, h); err != nil {
		return err
	}
	if err := d.Stack.Cache.FlushAll(ctx).Err(); err != nil {
		return err
	}
	d.strike("Redis emptied", 1)
	for _, stop := range []func() error{d.Stack.MariaDBServer.Stop, d.Stack.MariaDBServer.Kill} {
		if err := wait(ctx, d.between(2*time.Second, 4*time.Second)); err != nil {
			return err
		}
		if err := stop(); err != nil {
			return err
		}
		d.strike("stops of MariaDB", 1)
		if err := d.Stack.MariaDBServer.Start(); err != nil {
			return err
		}
		if err := d.Stack.MariaDBServer.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// killAt waits until a process of a role kills itself at a point, and until that works again.
func (d *desk) killAt(ctx context.Context, role, point string) error {
	all := d.of(role)
	act := fmt.Sprintf("kill after=%d", d.random.IntN(6))
	for _, i := range all {
		i.ForgetStruck()
		if err := i.Arm(point, act); err != nil {
			return err
		}
	}
	var killed *stage.Instance
	err := rig.Await(ctx, stage.Patience, "a process is killed at "+point, func(context.Context) (bool, error) {
		for _, i := range all {
			if len(i.Struck()) > 0 {
				killed = i
			}
		}
		return killed != nil, nil
	})
	for _, i := range all {
		i.Disarm(point)
	}
	if err != nil {
		return err
	}
	d.Log("%s struck in %s", point, killed.Name)
	if err := wait(ctx, 2*restartAfter); err != nil {
		return err
	}
	return killed.AwaitReady(ctx)
}

// restartAfter is how long the supervisor of a killed process waits (package stage).
const restartAfter = time.Second

func (d *desk) verdict(found tables, h *history) judge.Verdict {
	v := judge.Verdict{Subtasks: len(found.subtasks), Redelivered: h.again(), Verdict: judge.Pass, Problems: d.problems}
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
	case v.Struck == 0 || len(found.subtasks) == 0:
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
