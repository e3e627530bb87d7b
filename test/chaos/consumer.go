package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"adsync/base/store/ledger"
	"adsync/test/chaos/stage"
)

var consumerScenarios = []scenario{
	{
		name: "consumer-killed",
		doc:  "kill -9 of a consumer at any moment, twice, with some seconds until it is back",
		steps: func(ctx context.Context, t *trial) error {
			for range 2 {
				i := t.any("consumer")
				if err := i.Kill(); err != nil {
					return err
				}
				t.strike("kills", 1)
				t.log("killed %s", i.Name)
				if err := t.wait(ctx, t.between(time.Second, 6*time.Second)); err != nil {
					return err
				}
				if err := i.StartReady(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name:  "consumer-killed-after-call",
		doc:   "kill -9 of a consumer when the platform has answered and nothing is written",
		steps: killAt("consumer", "client.answered"),
	},
	{
		name:  "consumer-killed-after-upsert",
		doc:   "kill -9 of a consumer when a subtask's results are written and its outcome is not",
		steps: killAt("consumer", "consumer.handled"),
	},
	{
		name: "consumer-killed-with-outcomes",
		doc:  "kill -9 of a consumer whose outcomes wait to be written, after it has kept committing for seconds",
		steps: func(ctx context.Context, t *trial) error {
			const held = 3 * time.Second
			for range 2 {
				i, err := t.armAny(ctx, "consumer.outcomes_gathered", "kill "+held.String()+" after=2", t.of("consumer"))
				if err != nil {
					return err
				}
				if err := t.wait(ctx, held+time.Second); err != nil {
					return err
				}
				if err := i.AwaitReady(ctx); err != nil {
					return err
				}
				i.ForgetStruck()
			}
			return nil
		},
	},
	{
		name:  "consumer-killed-before-commit",
		doc:   "kill -9 of a consumer when outcomes are written and the offset is not committed",
		steps: killAt("consumer", "consumer.outcomes_written"),
	},
	{
		name: "consumer-killed-for-good", long: true,
		doc: "kill -9 of a consumer that does not come back, with the timeouts as shipped: others take over its " +
			"partitions " +
			"within 30 s",
		settings: func(s map[string]any) {
			broker, _ := s["broker"].(map[string]any)
			for _, key := range []string{"session_timeout", "drain_timeout", "commit_interval"} {
				delete(broker, key)
			}
			delete(s, "consumer")
		},
		steps: func(ctx context.Context, t *trial) error {
			i := t.any("consumer")
			if err := i.Kill(); err != nil {
				return err
			}
			t.strike("kills", 1)
			t.log("killed %s", i.Name)
			return t.wait(ctx, 35*time.Second)
		},
		check: func(ctx context.Context, t *trial) error {
			slowest, err := t.slowest(ctx, "1 = 1")
			t.log("the slowest subtask waited for %.1f s", slowest.Seconds())
			// Another consumer takes over the partitions within 30 s. The backlog of that time is still to be done.
			if slowest > 40*time.Second {
				t.complain("a subtask waited %.1f s for its end: no consumer took over its partition within 30 "+
					"s", slowest.Seconds())
			}
			return err
		},
	},
	{
		name: "consumers-at-half-speed", long: true, mayEnd: true, extra: 11 * time.Minute,
		doc: "for ten minutes consumers do about half of what is planned: the important lane is not late, and another " +
			"gets " +
			"no more ahead of them than its bound",
		settings: func(s map[string]any) {
			producer, _ := s["producer"].(map[string]any)
			producer["max_fan_outs"] = 1 // One batch may be in flight when the bound is reached.
		},
		prepare: planMore,
		steps:   halveSpeed,
	},
	{
		name: "consumers-killed-again-and-again", mayFail: true,
		doc: "kill -9 of consumers in the middle of their work, six times within seconds, as a message that crashes its " +
			"process would: only the subtasks that ran at the time may fail",
		steps: func(ctx context.Context, t *trial) error {
			for range 6 {
				i, err := t.armAny(ctx, "consumer.handled", "kill", t.of("consumer"))
				if err != nil {
					return err
				}
				i.ForgetStruck()
			}
			return nil
		},
	},
	{
		name: "consumer-paused-in-a-pull",
		doc: "SIGSTOP of a consumer that holds a platform's answers, until its successor has pulled the same data; " +
			"then SIGCONT: the older answers, whose transactions are shared, change nothing",
		steps: func(ctx context.Context, t *trial) error {
			if err := t.world.Fault(ctx, map[string]any{"kind": stage.Latency, "ms": 1500, "media": lastMedia}); err != nil {
				return err
			}
			for range 2 {
				for _, name := range []string{".ads", ".soon", ".ads"} {
					if err := t.orderSome(ctx, loadPrefix+lastMedia+name, t.accounts[lastMedia]); err != nil {
						return err
					}
				}
				if err := t.wait(ctx, time.Second); err != nil {
					return err
				}
				if err := pauseAt(ctx, t, "consumer", "client.answered", t.between(9*time.Second, 12*time.Second)); err != nil {
					return err
				}
				for _, i := range t.of("consumer") {
					i.ForgetStruck()
				}
			}
			return nil
		},
	},
	{
		name: "consumer-paused-in-a-failing-pull",
		doc: "SIGSTOP of a consumer that holds a failure, while others fail and retry the same subtask; then SIGCONT: the " +
			"failure of an older delivery changes nothing",
		steps: func(ctx context.Context, t *trial) error {
			if err := t.world.Fault(ctx, map[string]any{"kind": "status", "status": 503}); err != nil {
				return err
			}
			if err := t.wait(ctx, time.Second); err != nil {
				return err
			}
			// Long enough for others to own its partitions, and to fail and retry.
			if err := pauseAt(ctx, t, "consumer", "client.answered", t.between(15*time.Second, 17*time.Second)); err != nil {
				return err
			}
			return t.wait(ctx, 3*time.Second)
		},
	},
	{
		name: "consumer-paused-with-outcomes",
		doc: "SIGSTOP of a consumer that has done its work and written no outcome, until its successor has repeated and " +
			"written it; then SIGCONT: a subtask that ended does not end twice",
		steps: func(ctx context.Context, t *trial) error {
			return pauseAt(ctx, t, "consumer", "consumer.outcomes_gathered", t.between(10*time.Second, 12*time.Second))
		},
	},
	{
		name: "consumer-paused-before-commit",
		doc:  "SIGSTOP of a consumer whose outcomes are written and not committed, beyond its session; then SIGCONT",
		steps: func(ctx context.Context, t *trial) error {
			return pauseAt(ctx, t, "consumer", "consumer.outcomes_written", t.between(9*time.Second, 12*time.Second))
		},
	},
	{
		name: "rebalance-storm",
		doc:  "consumers leave and come back one after the other without pause, by SIGTERM or kill -9",
		steps: func(ctx context.Context, t *trial) error {
			for range 6 {
				i := t.any("consumer")
				end := i.Stop
				if t.random.IntN(2) == 0 {
					end = i.Kill
				}
				if err := end(); err != nil {
					return err
				}
				t.strike("members gone", 1)
				if err := i.StartReady(ctx); err != nil {
					return err
				}
				if err := t.wait(ctx, t.between(200*time.Millisecond, 2*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

// slowest returns the longest time from a subtask's creation to its end, among the runs that match a condition.
func (d *deployment) slowest(ctx context.Context, ofRuns string) (time.Duration, error) {
	var most time.Duration
	err := d.eachLog(ctx, func(table string) error {
		var ms int64
		err := d.store.Data.Writer(ctx).Raw(
			"SELECT COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, l.created_at, l.ended_at)), 0) DIV 1000 FROM " + table +
				" l JOIN run r ON r.id = l.run_id WHERE " + ofRuns).Row().Scan(&ms)
		most = max(most, time.Duration(ms)*time.Millisecond)
		return err
	})
	return most, err
}

// eachLog calls a function with each log table that holds subtasks.
func (d *deployment) eachLog(ctx context.Context, do func(table string) error) error {
	var runs []int64
	if err := d.store.Data.Writer(ctx).Raw("SELECT id FROM run").Scan(&runs).Error; err != nil {
		return err
	}
	done := map[string]bool{}
	for _, id := range runs {
		table := ledger.LogTable(id)
		if done[table] {
			continue
		}
		done[table] = true
		if err := do(table); err != nil {
			return err
		}
	}
	return nil
}

// For the slowed lane: how far its fan-outs may run ahead, what one batch may add, and what people order.
const (
	slowedBound  = 60
	slowedBatch  = 15
	slowedOrders = 20
)

// planMore adds tasks to the normal lane and leaves it so few workers that the speed of calls limits it.
func planMore(ctx context.Context, t *trial) error {
	config := t.store.Config.Writer(ctx)
	if err := config.Exec("INSERT INTO lane (media, name, pool_size, backlog_max) VALUES (?, 'normal', 2, ?)", firstMedia,
		slowedBound).Error; err != nil {
		return err
	}
	for n := range 6 {
		err := config.Exec(
			`INSERT INTO cron_task (name, media, handler, cron, timezone, lane, scope, params,
  timeout_seconds, retry_max, retry_base_seconds, ttl_seconds)
VALUES (?, ?, ?, ?, 'Asia/Shanghai', 'normal', 'all', '{"level":"account","days":3}', 20, 30, 1, 45)`,
			fmt.Sprintf("more.%d", n), firstMedia, firstMedia+".report_hourly", fmt.Sprintf("%d/30 * * * * *", 5*n)).Error
		if err != nil {
			return err
		}
	}
	return nil
}

func halveSpeed(ctx context.Context, t *trial) error {
	if err := t.world.Fault(ctx, map[string]any{"kind": stage.Latency, "media": firstMedia, "ms": 1000}); err != nil {
		return err
	}
	data := t.store.Data.Writer(ctx)
	most, held := 0, 0
	for ended := time.After(10 * time.Minute); ; {
		select {
		case <-ended:
			t.log("up to %d subtasks of the slowed lane waited, and at %d moments runs waited for their fan-out", most, held)
			t.strike("fan-outs held", held)
			return checkSlowed(ctx, t, most)
		case <-time.After(500 * time.Millisecond):
		}
		waiting := 0
		err := t.eachLog(ctx, func(table string) error {
			var n int
			err := data.Raw("SELECT COUNT(*) FROM "+table+` l JOIN run r ON r.id = l.run_id
WHERE r.media = ? AND r.lane = 'normal' AND l.state = 'waiting' AND l.started_at IS NULL`, firstMedia).Row().Scan(&n)
			waiting += n
			return err
		})
		if err != nil {
			return err
		}
		most = max(most, waiting)
		var rest int
		err = data.Raw(`SELECT COUNT(*) FROM run WHERE media = ? AND lane = 'normal' AND state = 'fanning_out'
AND created_at < UTC_TIMESTAMP(3) - INTERVAL 5 SECOND`, firstMedia).Row().Scan(&rest)
		if err != nil {
			return err
		}
		if rest > 0 {
			held++
		}
	}
}

func checkSlowed(ctx context.Context, t *trial, most int) error {
	if most > slowedBound+slowedBatch+slowedOrders {
		t.complain("%d subtasks of the slowed lane waited, want %d, a batch of %d, and a few orders at most", most,
			slowedBound, slowedBatch)
	}
	slowest, err := t.slowest(ctx, "r.lane = 'important'")
	t.log("the slowest subtask of an important lane took %.1f s", slowest.Seconds())
	if slowest > 30*time.Second {
		t.complain("a subtask of an important lane ended %.1f s after it was made, while another lane was slow",
			slowest.Seconds())
	}
	// The tasks added to the load end with the fault.
	return errors.Join(err,
		t.store.Config.Writer(ctx).Exec(
			"UPDATE cron_task SET enabled = 0, revision = revision + 1 WHERE name LIKE 'more.%'").Error)
}
