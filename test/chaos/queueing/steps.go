package queueing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"adsync/test/chaos/stage"
	"adsync/test/rig"
	"adsync/test/services/local"
)

// points are the fail points of the queue: before and after each commit, and around an answer with jobs.
var points = []string{"jobs.publishing", "jobs.published", "jobs.claiming", "jobs.claimed", "jobs.delivered",
	"jobs.acking", "jobs.acked"}

// All are the scenarios.
var All = []Scenario{
	{
		Name:  "jobs-killed",
		Doc:   "kill -9 of a process at each step: before and after a publication, a claim and an acknowledgement commit",
		steps: killAtEachStep,
	},
	{
		Name: "jobs-commits-cut",
		Doc:  "connections are cut when a COMMIT was sent and its answer has not come",
		steps: func(ctx context.Context, d *desk) error {
			for range 40 {
				d.any().MariaDB.CutAnswer(func(piece []byte) bool { return bytes.Contains(piece, []byte("COMMIT")) })
				if err := wait(ctx, d.between(100*time.Millisecond, 500*time.Millisecond)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name: "jobs-mariadb-restarted",
		Doc:  "MariaDB is stopped and started, and killed and started",
		steps: func(ctx context.Context, d *desk) error {
			for _, stop := range []func() error{d.Stack.MariaDBServer.Stop, d.Stack.MariaDBServer.Kill} {
				if err := d.restartDatabase(ctx, stop); err != nil {
					return err
				}
				if err := wait(ctx, d.between(3*time.Second, 5*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name: "jobs-redis-gone",
		Doc:  "Redis is cut off for 10 s, and then its data is removed",
		steps: func(ctx context.Context, d *desk) error {
			for _, i := range d.instances {
				i.Redis.Cut()
			}
			d.strike("Redis cut off", 1)
			if err := wait(ctx, 10*time.Second); err != nil {
				return err
			}
			for _, i := range d.instances {
				i.Redis.Pass()
			}
			return d.Stack.Cache.FlushAll(ctx).Err()
		},
	},
	{
		Name: "jobs-clocks",
		Doc:  "processes whose clocks are five minutes ahead and five minutes behind",
		steps: func(ctx context.Context, d *desk) error {
			for _, skews := range [][]string{{"5m", "-5m"}, {"-5m", "5m"}, {"", ""}} {
				for n, i := range d.instances {
					if err := i.Stop(); err != nil {
						return err
					}
					if i.Env = nil; skews[n] != "" {
						i.Env = []string{"ADSYNC_CLOCK_SKEW=" + skews[n]}
						d.strike("wrong clocks", 1)
					}
					if err := i.StartReady(ctx); err != nil {
						return err
					}
				}
				if err := wait(ctx, ttr); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name: "jobs-database-clock", Long: true, Extra: jumpBack, earlyLapse: true,
		Doc: "the database's clock jumps five minutes ahead, and then five minutes behind: what was published in between " +
			"is delivered when its time comes",
		steps: jumpClocks,
	},
	{
		Name: "jobs-rolling",
		Doc:  "each process is stopped and started, twice, while the other serves",
		steps: func(ctx context.Context, d *desk) error {
			for range 2 {
				for _, i := range d.instances {
					if err := i.Stop(); err != nil {
						return err
					}
					d.strike("stops", 1)
					if err := wait(ctx, d.between(500*time.Millisecond, 2*time.Second)); err != nil {
						return err
					}
					if err := i.StartReady(ctx); err != nil {
						return err
					}
				}
			}
			return nil
		},
	},
	{
		Name:  "jobs-clients-die",
		Doc:   "consumers die while they wait, and in the middle of their answers",
		steps: loseClients,
	},
	{
		Name: "jobs-paused",
		Doc: "a process stands still after it has claimed and before it answers, until the claim has lapsed and its client " +
			"is gone: by SIGSTOP, and only the request",
		steps: func(ctx context.Context, d *desk) error {
			// Another consumer has the job then, and may still work on it.
			still := clientTimeout + 500*time.Millisecond
			for _, act := range []string{"stop", "wait " + still.String(), "stop", "wait " + still.String()} {
				i := d.any()
				if err := i.Arm("jobs.claimed", act); err != nil {
					return err
				}
				err := rig.Await(ctx, stage.Patience, "a process has stopped", func(context.Context) (bool, error) {
					return striking(i, "jobs.claimed"), nil
				})
				if err != nil {
					return err
				}
				if err := wait(ctx, still); err != nil {
					return err
				}
				i.Resume()
				i.ForgetStruck()
				if err := wait(ctx, time.Second); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

func killAtEachStep(ctx context.Context, d *desk) error {
	for _, point := range points {
		i := d.any()
		lives := i.Lives()
		if err := i.Arm(point, fmt.Sprintf("kill after=%d", d.random.IntN(20))); err != nil {
			return err
		}
		err := rig.Await(ctx, stage.Patience, "a process was killed at "+point, func(context.Context) (bool, error) {
			return i.Lives() > lives, nil
		})
		if err != nil {
			return err
		}
		if err := i.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) restartDatabase(ctx context.Context, stop func() error, env ...string) error {
	if err := stop(); err != nil {
		return err
	}
	d.strike("stops of MariaDB", 1)
	d.Stack.MariaDB.Env = env
	if err := d.Stack.MariaDBServer.Start(); err != nil {
		return err
	}
	return d.Stack.MariaDBServer.Await(ctx)
}

// jumpBack is how far the database's clock jumps back at most, and so how much later a job may be delivered.
const jumpBack = 10 * time.Minute

func jumpClocks(ctx context.Context, d *desk) error {
	library, err := local.FakeTime(ctx, io.Discard)
	if err != nil {
		return err
	}
	for _, offset := range []int{300, -300} {
		if err := d.restartDatabase(ctx, d.Stack.MariaDBServer.Stop, "LD_PRELOAD="+library, fmt.Sprintf("FAKETIME=%+d",
			offset), "FAKETIME_DONT_FAKE_MONOTONIC=1"); err != nil {
			return err
		}
		if err := wait(ctx, 8*time.Second); err != nil {
			return err
		}
	}
	return d.restartDatabase(ctx, d.Stack.MariaDBServer.Stop)
}

// loseClients asks for jobs as consumers that die do: some close the connection while they wait, and some after the
// first bytes of the answer.
func loseClients(ctx context.Context, d *desk) error {
	for range 300 {
		address, _, _ := strings.Cut(strings.TrimPrefix(d.queues[d.random.IntN(len(d.queues))], "http://"), "/")
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(conn, "GET /api/%s/%s?timeout=5&ttr=%d&count=3 HTTP/1.1\r\nHost: %s\r\n\r\n", namespace,
			strings.Join(queueNames, ","), int(ttr.Seconds()), address)
		if err == nil && d.random.IntN(2) == 0 {
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = conn.Read(make([]byte, 20))
		}
		// An answer that was not read whole is as good as none.
		if err := errors.Join(err, conn.(*net.TCPConn).SetLinger(0), conn.Close()); err != nil {
			return err
		}
		d.strike("clients", 1)
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
