package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

var producerScenarios = []scenario{
	{
		name:  "leader-killed-after-rows",
		doc:   "kill -9 of the leader in a fan-out, when a batch's rows are written and its messages are not",
		steps: killAt("producer", "producer.fan_out.rows_written"),
	},
	{
		name:  "leader-killed-after-kafka",
		doc:   "kill -9 of the leader in a fan-out, when a batch's messages are written and the cursor is not",
		steps: killAt("producer", "producer.fan_out.sent"),
	},
	{
		name:  "leader-killed-after-cursor",
		doc:   "kill -9 of the leader in a fan-out, when the cursor has moved and the next batch has not begun",
		steps: killAt("producer", "producer.fan_out.cursor_advanced"),
	},
	{
		name:  "leader-killed-after-ticks",
		doc:   "kill -9 of the leader when ticks are in the ledger and their runs are not made",
		steps: killAt("producer", "producer.ticks.added"),
	},
	{
		name: "leader-killed-after-raise",
		doc:  "kill -9 of the leader when due subtasks have their next delivery and its messages are not written",
		steps: func(ctx context.Context, t *trial) error {
			// Some subtask must be due.
			if err := t.world.Fault(ctx, map[string]any{"kind": "status", "status": 502, "for_seconds": 20}); err != nil {
				return err
			}
			return killAt("producer", "producer.due.raised")(ctx, t)
		},
	},
	{
		name:  "leader-killed-with-outcomes",
		doc:   "kill -9 of the leader when outcomes are in Kafka and still in the table: their doubles have their numbers",
		steps: killAt("producer", "producer.notices_sent"),
	},
	{
		name: "leader-paused-with-outcomes",
		doc: "SIGSTOP of the leader before it sends outcomes for twice its lease, then SIGCONT: the next leader sends " +
			"them, and the late ones are doubles",
		steps: func(ctx context.Context, t *trial) error {
			return pauseAt(ctx, t, "producer", "producer.notices_read", t.between(9*time.Second, 13*time.Second))
		},
	},
	{
		name: "leader-killed-takeover",
		doc:  "kill -9 of the leader with the lease as shipped: another leads within 15 s",
		settings: func(s map[string]any) {
			s["producer"] = map[string]any{"batch_size": 5} // the lease as shipped
		},
		steps: func(ctx context.Context, t *trial) error {
			i, err := t.leader(ctx)
			if err != nil {
				return err
			}
			return takeover(ctx, t, i.Kill, 15*time.Second)
		},
	},
	{
		name: "leader-stopped-takeover",
		doc:  "SIGTERM of the leader: another leads within 2 s",
		steps: func(ctx context.Context, t *trial) error {
			i, err := t.leader(ctx)
			if err != nil {
				return err
			}
			// The process releases the lead before it ends.
			stopped := make(chan error, 1)
			err = takeover(ctx, t, func() error {
				go func() { stopped <- i.Stop() }()
				return nil
			}, 2*time.Second)
			if err != nil {
				return err
			}
			return <-stopped
		},
	},
	{
		name: "leader-paused",
		doc:  "SIGSTOP of the leader for twice its lease, then SIGCONT: it no longer changes anything",
		steps: func(ctx context.Context, t *trial) error {
			i, err := t.leader(ctx)
			if err != nil {
				return err
			}
			if err := i.Pause(); err != nil {
				return err
			}
			t.strike("pauses", 1)
			t.log("paused %s", i.Name)
			if err := t.wait(ctx, t.between(9*time.Second, 13*time.Second)); err != nil {
				return err
			}
			i.Resume()
			return nil
		},
	},
	{
		name: "leader-paused-between-rows-and-kafka",
		doc: "SIGSTOP of the leader in the middle of a fan-out's batch for twice its lease, then SIGCONT: the messages " +
			"that it still sends are duplicates of the same delivery",
		steps: func(ctx context.Context, t *trial) error {
			return pauseAt(ctx, t, "producer", "producer.fan_out.rows_written", t.between(9*time.Second, 13*time.Second))
		},
	},
	{
		name: "leader-stuck-in-a-write",
		doc: "a write of the leader is held up inside MariaDB while the leader itself is stopped for twice its lease: " +
			"no producer leads before that write is committed or rolled back",
		settings: func(s map[string]any) {
			// Otherwise the server's wait for the lock times out before the lease expires.
			s["store"] = map[string]any{"data": map[string]any{"patience": "60s"}}
		},
		steps: stickInWrite,
	},
	{
		name: "leader-paused-in-transaction", long: true,
		doc: "SIGSTOP of the leader in a transaction that holds the leader's row: the database ends its session, and " +
			"another leads",
		// The session ends after 20 s of silence.
		stallMax: 45 * time.Second,
		steps: func(ctx context.Context, t *trial) error {
			return pauseAt(ctx, t, "producer", "store.leader_tx.locked", t.between(26*time.Second, 30*time.Second))
		},
	},
}

// stickInWrite blocks the leader's next INSERT into run in the server, stops the leader, and unblocks the INSERT long
// after the lease has expired. The INSERT has already read the leader's row: only its lock on that row makes the next
// leader wait.
func stickInWrite(ctx context.Context, t *trial) error {
	db, err := sql.Open("mysql", t.stack.DSN()+t.database("data"))
	if err != nil {
		return err
	}
	defer db.Close()
	i, err := t.leader(ctx)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	// Ids rise with time: this locks the gap for all later runs.
	var above int
	if err := tx.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM (SELECT id FROM run WHERE id > (SELECT MAX(id) FROM run) FOR UPDATE) r").Scan(
		&above); err != nil {
		return err
	}
	err = rig.Await(ctx, stage.Patience/2, "the leader's INSERT waits", func(ctx context.Context) (bool, error) {
		var waiting int
		err := db.QueryRowContext(ctx,
			"SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE '%INTO run "+
				"%'").Scan(&waiting)
		return waiting > 0, err
	})
	if err != nil {
		return err
	}
	if err := i.Pause(); err != nil {
		return err
	}
	t.strike("held writes", 1)
	t.log("an INSERT of %s waits, and %s is paused", i.Name, i.Name)
	if err := t.wait(ctx, t.between(10*time.Second, 13*time.Second)); err != nil {
		return err
	}
	if err := tx.Rollback(); err != nil {
		return err
	}
	if err := t.wait(ctx, 3*time.Second); err != nil {
		return err
	}
	i.Resume()
	return nil
}

// killAt kills, twice, the process of a role that reaches a fail point first.
func killAt(role, point string) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		for range 2 {
			i, err := t.armAny(ctx, point, fmt.Sprintf("kill after=%d", t.random.IntN(4)), t.of(role))
			if err != nil {
				return err
			}
			if err := i.AwaitReady(ctx); err != nil {
				return err
			}
			if err := t.wait(ctx, t.between(time.Second, 4*time.Second)); err != nil {
				return err
			}
			i.ForgetStruck()
		}
		return nil
	}
}

// pauseAt stops a process of a role at a fail point for a time.
func pauseAt(ctx context.Context, t *trial, role, point string, d time.Duration) error {
	i, err := t.armAny(ctx, point, "stop", t.of(role))
	if err != nil {
		return err
	}
	if err := t.wait(ctx, d); err != nil {
		return err
	}
	i.Resume()
	t.log("%s continues", i.Name)
	return nil
}

// takeover ends the leader and checks how soon another producer leads.
func takeover(ctx context.Context, t *trial, end func() error, within time.Duration) error {
	epoch := func(ctx context.Context) (n int64, err error) {
		err = t.store.Data.Writer(ctx).Raw("SELECT epoch FROM leader WHERE id = 1").Row().Scan(&n)
		return n, err
	}
	before, err := epoch(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := end(); err != nil {
		return err
	}
	t.strike("leaders ended", 1)
	err = rig.Await(ctx, stage.Patience, "another producer leads", func(ctx context.Context) (bool, error) {
		now, err := epoch(ctx)
		return now > before, err
	})
	took := time.Since(began)
	t.log("another leads after %.1f s", took.Seconds())
	if took > within+takeoverSlack {
		t.complain("another producer led after %.1f s only, want %s", took.Seconds(), within)
	}
	return err
}

// takeoverSlack is the time that reading the table may add on a busy machine.
const takeoverSlack = time.Second
