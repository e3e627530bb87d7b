package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"adsync/test/chaos/stage"
	"adsync/test/rig"
	"adsync/test/services/local"
)

// These faults hit the deployment as a whole.
var wholeScenarios = []scenario{
	{
		name: "rolling-restart",
		doc: "SIGTERM of every process, one after the other, under load: each stops within 15 s, and nothing waits " +
			"for long",
		stallMax: 20 * time.Second,
		steps: func(ctx context.Context, t *trial) error {
			for _, n := range t.random.Perm(len(t.instances)) {
				i := t.instances[n]
				if err := i.Stop(); err != nil {
					return err
				}
				t.strike("stops", 1)
				if err := i.StartReady(ctx); err != nil {
					return err
				}
				if err := t.wait(ctx, t.between(500*time.Millisecond, 2*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "consumers-stopped-in-slow-work",
		doc: "SIGTERM of every consumer, one after the other, while calls take longer than the drain: what is cut off is " +
			"done again elsewhere",
		steps: func(ctx context.Context, t *trial) error {
			if err := t.world.Fault(ctx, map[string]any{"kind": stage.Latency, "ms": 6000}); err != nil {
				return err
			}
			if err := t.wait(ctx, 2*time.Second); err != nil {
				return err
			}
			for _, i := range t.of("consumer") {
				if err := i.Stop(); err != nil {
					return err
				}
				t.strike("stops", 1)
				if err := i.StartReady(ctx); err != nil {
					return err
				}
				if err := t.wait(ctx, t.between(2*time.Second, 3*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "all-killed", stallMax: 45 * time.Second,
		doc: "kill -9 of all processes at once; they come back together",
		steps: func(ctx context.Context, t *trial) error {
			if err := t.all(func(i *stage.Instance) error { return i.Kill() }); err != nil {
				return err
			}
			t.strike("kills", len(t.instances))
			if err := t.wait(ctx, t.between(time.Second, 4*time.Second)); err != nil {
				return err
			}
			return t.all(func(i *stage.Instance) error { return i.Start() })
		},
	},
	{
		name: "everything-restarted", stallMax: 60 * time.Second,
		doc: "kill -9 of all processes and of Kafka, MariaDB and Redis at once; all are started together, in any order",
		steps: func(ctx context.Context, t *trial) error {
			servers := t.stack.Servers
			if err := t.all(func(i *stage.Instance) error { return i.Kill() }); err != nil {
				return err
			}
			for _, s := range servers {
				if err := s.Kill(); err != nil {
					return err
				}
			}
			t.strike("kills", len(t.instances)+len(servers))
			if err := t.all(func(i *stage.Instance) error { return i.Start() }); err != nil {
				return err
			}
			if err := t.wait(ctx, t.between(time.Second, 4*time.Second)); err != nil {
				return err
			}
			for _, s := range servers {
				if err := s.Start(); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "midnight", before: midnight,
		doc: "midnight in UTC, by the databases' clock, passes while runs are open; the leader is killed just before it",
		steps: func(ctx context.Context, t *trial) error {
			days := func(ctx context.Context) (n int, err error) {
				err = t.eachLog(ctx, func(string) error { n++; return nil })
				return n, err
			}
			now, err := t.now(ctx)
			if err != nil {
				return err
			}
			left := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
			t.log("midnight is %s away", left.Round(time.Second))
			if left > time.Minute {
				return errors.New("midnight has passed before the load was warm")
			}
			if err := t.wait(ctx, left-time.Second); err != nil {
				return err
			}
			i, err := t.leader(ctx)
			if err != nil {
				return err
			}
			if err := i.Kill(); err != nil {
				return err
			}
			if err := t.wait(ctx, 2*time.Second); err != nil {
				return err
			}
			if err := i.Start(); err != nil {
				return err
			}
			err = rig.Await(ctx, stage.Patience, "runs of two days are there", func(ctx context.Context) (bool, error) {
				n, err := days(ctx)
				return n == 2, err
			})
			if err == nil {
				t.strike("midnights", 1)
			}
			return err
		},
	},
	{
		name: "clocks-wrong",
		doc: "the clock of one producer is 5 minutes ahead and that of one consumer 5 minutes behind; then the other way " +
			"round",
		steps: func(ctx context.Context, t *trial) error {
			for _, skew := range []string{"5m", "-5m"} {
				back := "-5m"
				if skew == back {
					back = "5m"
				}
				leader, err := t.leader(ctx)
				if err != nil {
					return err
				}
				if err := t.restartWith(ctx, t.any("consumer"), "ADSYNC_CLOCK_SKEW="+back); err != nil {
					return err
				}
				// The other producer leads while this one is down, and this one leads after the other was restarted.
				if err := t.restartWith(ctx, leader, "ADSYNC_CLOCK_SKEW="+skew); err != nil {
					return err
				}
				if err := t.wait(ctx, t.between(2*time.Second, 4*time.Second)); err != nil {
					return err
				}
				for _, i := range t.of("producer") {
					if i != leader {
						if err := t.restartWith(ctx, i); err != nil {
							return err
						}
					}
				}
				if err := t.wait(ctx, t.between(3*time.Second, 5*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

// midnight makes the databases' clock reach midnight in UTC while the load runs: the runs before it belong to one
// day's table, and those after it to the next.
func midnight(ctx context.Context, s *stage.Stack) (undo func(context.Context) error, err error) {
	library, err := local.FakeTime(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	restart := func(ctx context.Context, env ...string) error {
		if err := s.MariaDBServer.Stop(); err != nil {
			return err
		}
		s.MariaDB.Env = env
		if err := s.MariaDBServer.Start(); err != nil {
			return err
		}
		return s.MariaDBServer.Await(ctx)
	}
	now := time.Now().UTC()
	// Deployment and warm-up take some seconds.
	offset := now.Truncate(24 * time.Hour).Add(24*time.Hour - untilMidnight).Sub(now)
	undo = func(ctx context.Context) error { return restart(ctx) }
	err = restart(ctx, "LD_PRELOAD="+library, fmt.Sprintf("FAKETIME=%+d", int(offset.Seconds())),
		"FAKETIME_DONT_FAKE_MONOTONIC=1")
	if err != nil {
		return nil, errors.Join(err, undo(ctx))
	}
	return undo, nil
}

// untilMidnight is how long before midnight the databases start.
const untilMidnight = 25 * time.Second

// all calls a function for every process at once.
func (t *trial) all(do func(*stage.Instance) error) error {
	errs := make(chan error, len(t.instances))
	for _, i := range t.instances {
		go func() { errs <- do(i) }()
	}
	var first error
	for range t.instances {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// restartWith stops a process and starts it with other environment variables.
func (t *trial) restartWith(ctx context.Context, i *stage.Instance, env ...string) error {
	if err := i.Stop(); err != nil {
		return err
	}
	i.Env = env
	if len(env) > 0 {
		t.strike("starts with a wrong clock", 1)
	}
	return i.StartReady(ctx)
}
