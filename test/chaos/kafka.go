package main

import (
	"context"
	"fmt"
	"time"

	"adsync/test/chaos/proxy"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

var kafkaScenarios = []scenario{
	{
		name: "kafka-paused",
		doc:  "SIGSTOP of Kafka for longer than the consumers' sessions, then SIGCONT",
		steps: func(ctx context.Context, t *trial) error {
			if err := t.stack.KafkaServer.Pause(); err != nil {
				return err
			}
			t.strike("pauses of Kafka", 1)
			if err := t.wait(ctx, t.between(8*time.Second, 11*time.Second)); err != nil {
				return err
			}
			return t.stack.KafkaServer.Continue()
		},
	},
	{
		name: "kafka-restarted", long: true,
		doc: "Kafka is stopped in good order and started again",
		// The broker itself needs some 10 s to stop and to start.
		stallMax: 45 * time.Second,
		steps: func(ctx context.Context, t *trial) error {
			return restartKafka(ctx, t, t.stack.KafkaServer.Stop)
		},
	},
	{
		name: "kafka-killed", stallMax: 45 * time.Second,
		doc: "kill -9 of Kafka, which is started again some seconds later",
		steps: func(ctx context.Context, t *trial) error {
			return restartKafka(ctx, t, t.stack.KafkaServer.Kill)
		},
	},
	{
		name: "kafka-refuses-a-consumer", stallMax: 15 * time.Second,
		doc: "one consumer alone is cut off from Kafka for longer than its session: the others continue",
		steps: func(ctx context.Context, t *trial) error {
			i := t.any("consumer")
			i.Kafka.Cut()
			t.log("%s is cut off from Kafka", i.Name)
			return t.wait(ctx, t.between(9*time.Second, 13*time.Second))
		},
	},
	{
		name: "kafka-refuses-the-leader",
		doc:  "the leader alone is cut off from Kafka: its fan-outs stop at their cursors, and continue from there",
		steps: func(ctx context.Context, t *trial) error {
			i, err := t.leader(ctx)
			if err != nil {
				return err
			}
			i.Kafka.Cut()
			t.log("%s is cut off from Kafka", i.Name)
			return t.wait(ctx, t.between(6*time.Second, 9*time.Second))
		},
	},
	{
		name: "kafka-one-way",
		doc:  "Kafka's answers do not reach one consumer and the leader; their requests reach Kafka",
		steps: func(ctx context.Context, t *trial) error {
			leader, err := t.leader(ctx)
			if err != nil {
				return err
			}
			consumer := t.any("consumer")
			leader.Kafka.Hold(proxy.Down)
			consumer.Kafka.Hold(proxy.Down)
			t.log("%s and %s get no answers from Kafka", leader.Name, consumer.Name)
			return t.wait(ctx, t.between(9*time.Second, 13*time.Second))
		},
	},
	{
		name: "kafka-topics-lost", stallMax: 75 * time.Second, losesTopics: true,
		doc: "topics are deleted with unread messages, and come back empty: the lost messages are sent " +
			"again",
		steps: func(ctx context.Context, t *trial) error {
			for _, i := range t.of("consumer") {
				if err := i.Stop(); err != nil {
					return err
				}
			}
			if err := t.wait(ctx, t.between(5*time.Second, 8*time.Second)); err != nil {
				return err
			}
			before, _, err := t.open(ctx)
			if err != nil {
				return err
			}
			if err := t.stack.Kafka.DeleteTopics(ctx, t.name); err != nil {
				return err
			}
			t.strike("runs whose messages are gone", before)
			for _, i := range t.of("consumer") {
				if err := i.Start(); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "kafka-topics-deleted", stallMax: 75 * time.Second, losesTopics: true,
		doc: "topics are deleted while all processes run: the topics are made again, and the lost messages are sent " +
			"again",
		steps: func(ctx context.Context, t *trial) error {
			// Between two ticks no run may be open. Then no message could be lost.
			open := 0
			err := rig.Await(ctx, stage.Patience, "a run is open", func(ctx context.Context) (_ bool, err error) {
				open, _, err = t.open(ctx)
				return open > 0, err
			})
			if err != nil {
				return err
			}
			if err := t.stack.Kafka.DeleteTopics(ctx, t.name); err != nil {
				return err
			}
			t.strike("runs that were open", open)
			return t.wait(ctx, t.between(20*time.Second, 25*time.Second))
		},
	},
	{
		name: "partitions-raised",
		doc:  "topics get 12 partitions where they had 6, under load; the subtasks of an account still run one at a time",
		prepare: func(ctx context.Context, t *trial) error {
			return t.store.Config.Writer(ctx).Exec("UPDATE cron_task SET concurrency = 'serial' WHERE name LIKE ?", loadPrefix+
				firstMedia+".%").Error
		},
		steps: func(ctx context.Context, t *trial) error {
			before, err := t.stack.Kafka.Partitions(ctx, t.name)
			if err != nil {
				return err
			}
			if err := t.store.Config.Writer(ctx).Exec("UPDATE lane SET partitions = 12").Error; err != nil {
				return err
			}
			if err := t.reload(ctx); err != nil {
				return err
			}
			if err := t.wait(ctx, t.between(8*time.Second, 12*time.Second)); err != nil {
				return err
			}
			after, err := t.stack.Kafka.Partitions(ctx, t.name)
			for topic, n := range after {
				if n > before[topic] {
					t.strike("topics with more partitions", 1)
				}
			}
			return err
		},
		check: func(ctx context.Context, t *trial) error { return checkSerial(ctx, t, loadPrefix+firstMedia+".%") },
	},
	{
		name: "poison-messages", stallMax: 15 * time.Second,
		doc: "every topic holds messages that cannot be parsed: consumers set them aside, and nothing waits for them",
		steps: func(ctx context.Context, t *trial) error {
			topics, err := t.stack.Kafka.Partitions(ctx, t.name)
			if err != nil {
				return err
			}
			for topic, partitions := range topics {
				for n := range 4 {
					if err := t.stack.Kafka.Write(ctx, topic, t.random.IntN(partitions), []byte("?"), []byte{0xff, 0x00, 0x7b},
						poison[n]); err != nil {
						return err
					}
					t.strike("messages", 1)
				}
			}
			return t.wait(ctx, 3*time.Second)
		},
	},
	{
		name: "kafka-slow",
		doc:  "everything to and from Kafka takes 300 ms more",
		steps: func(ctx context.Context, t *trial) error {
			for _, i := range t.instances {
				i.Kafka.Delay(300 * time.Millisecond)
			}
			return t.wait(ctx, t.between(10*time.Second, 14*time.Second))
		},
	},
}

func restartKafka(ctx context.Context, t *trial, end func() error) error {
	if err := end(); err != nil {
		return err
	}
	t.strike("ends of Kafka", 1)
	if err := t.wait(ctx, t.between(2*time.Second, 4*time.Second)); err != nil {
		return err
	}
	if err := t.stack.KafkaServer.Start(); err != nil {
		return err
	}
	return t.stack.KafkaServer.Await(ctx)
}

// poison are the headers of messages that cannot be parsed: none at all, a malformed number, keys of no row, and a
// version that does not exist.
var poison = [4]map[string]string{
	nil,
	{"adsync-version": "1", "run": "many", "account": "1", "delivery": "1"},
	{"adsync-version": "1", "run": "-5", "account": "1", "part": "\xff\xfe", "delivery": "99999999999"},
	{"adsync-version": "none"},
}

// checkSerial counts pairs of subtasks of one account that ran at the same time, among the tasks whose names match.
func checkSerial(ctx context.Context, t *trial, names string) error {
	all := 0
	err := t.eachLog(ctx, func(table string) error {
		var pairs int
		err := t.store.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM "+table+" a JOIN "+table+` b
  ON b.account_id = a.account_id AND (b.run_id, b.part) > (a.run_id, a.part)
  AND a.started_at < b.ended_at AND b.started_at < a.ended_at
JOIN run ra ON ra.id = a.run_id AND ra.task_name LIKE ? JOIN run rb ON rb.id = b.run_id AND rb.task_name LIKE ?`, names,
			names).Row().Scan(&pairs)
		all += pairs
		return err
	})
	if err != nil {
		return err
	}
	return t.judgeSerial(all)
}

// apartNoMore is what a consumer logs when Redis does not answer it: until it does, serial holds within each process
// only.
const apartNoMore = "Redis does not answer: claims work within this process only"

// judgeSerial reports pairs of subtasks that ran at the same time. If a consumer was without Redis, the promise counts
// as not proved.
func (t *trial) judgeSerial(pairs int) error {
	if pairs == 0 {
		return nil
	}
	text := fmt.Sprintf("%d pairs of subtasks of one account ran at the same time", pairs)
	for _, i := range t.of("consumer") {
		f, err := i.ReadLog()
		if err != nil {
			return err
		}
		if f.Messages["WARN "+apartNoMore] > 0 {
			t.void("%s, and Redis did not always answer %s", text, i.Name)
			return nil
		}
	}
	t.complain("%s", text)
	return nil
}
