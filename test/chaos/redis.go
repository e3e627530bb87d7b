package main

import (
	"context"
	"errors"
	"time"

	"adsync/test/chaos/proxy"
)

// In all of these scenarios Redis loses its data, and with it the calls counted against the limits.
var redisScenarios = []scenario{
	{
		name: "redis-flushall",
		doc:  "FLUSHALL of Redis, several times while subtasks wait for their retries",
		steps: func(ctx context.Context, t *trial) error {
			if err := letSomeFail(ctx, t, 6); err != nil {
				return err
			}
			for range 4 {
				if err := t.wait(ctx, t.between(time.Second, 3*time.Second)); err != nil {
					return err
				}
				keys, err := t.stack.Cache.DBSize(ctx).Result()
				if err != nil {
					return err
				}
				if err := t.stack.Cache.FlushAll(ctx).Err(); err != nil {
					return err
				}
				t.strike("keys lost", int(keys))
			}
			return watchDue(ctx, t, 22*time.Second, 20*time.Second)
		},
	},
	{
		name: "redis-killed",
		doc:  "kill -9 of Redis, which comes back empty",
		steps: func(ctx context.Context, t *trial) error {
			if err := letSomeFail(ctx, t, 6); err != nil {
				return err
			}
			return redisAway(ctx, t, t.between(6*time.Second, 10*time.Second))
		},
	},
	{
		name: "redis-away", long: true,
		doc: "Redis is away for 60 s: everything continues",
		// Nothing waits for Redis but a call that is about to be granted.
		stallMax: 20 * time.Second,
		steps:    func(ctx context.Context, t *trial) error { return redisAway(ctx, t, time.Minute) },
	},
	{
		name: "redis-stands-still",
		doc:  "SIGSTOP of Redis for up to 6 s, several times: it refuses no connection, and answers late",
		steps: func(ctx context.Context, t *trial) error {
			for range 4 {
				if err := t.stack.RedisServer.Pause(); err != nil {
					return err
				}
				t.strike("stops of Redis", 1)
				err := t.wait(ctx, t.between(2*time.Second, 6*time.Second))
				if err := errors.Join(err, t.stack.RedisServer.Continue()); err != nil {
					return err
				}
				if err := t.wait(ctx, t.between(time.Second, 5*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "redis-silent-for-one",
		doc:  "Redis does not answer one consumer and refuses one producer, and works for the others",
		steps: func(ctx context.Context, t *trial) error {
			consumer, producer := t.any("consumer"), t.any("producer")
			consumer.Redis.Hold(proxy.Both)
			producer.Redis.Cut()
			t.log("%s and %s are without Redis", consumer.Name, producer.Name)
			return t.wait(ctx, t.between(10*time.Second, 14*time.Second))
		},
	},
}

// letSomeFail makes calls of a platform fail for some seconds, so that Redis has retries to lose.
func letSomeFail(ctx context.Context, t *trial, seconds int) error {
	err := t.world.Fault(ctx, map[string]any{"kind": "status", "status": 503, "media": firstMedia, "for_seconds": seconds})
	return err
}

func redisAway(ctx context.Context, t *trial, d time.Duration) error {
	if err := t.stack.RedisServer.Kill(); err != nil {
		return err
	}
	t.strike("kills of Redis", 1)
	if err := t.wait(ctx, d); err != nil {
		return err
	}
	return t.stack.RedisServer.Start()
}

// watchDue measures for a while how long subtasks wait beyond their due time.
func watchDue(ctx context.Context, t *trial, d, most time.Duration) error {
	var worst int64
	err := t.watch(ctx, d, func() error {
		var ms int64
		err := t.store.Data.Writer(ctx).Raw(
			`SELECT COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, due_at, UTC_TIMESTAMP(3))), 0) DIV 1000
FROM subtask_due WHERE state IN ('retrying', 'deferred')`).Row().Scan(&ms)
		worst = max(worst, ms)
		return err
	})
	if err != nil {
		return err
	}
	t.log("what was due waited for up to %d ms", worst)
	if worst > most.Milliseconds() {
		t.complain("a subtask that was due waited for another %d ms, want %s at most", worst, most)
	}
	return nil
}
