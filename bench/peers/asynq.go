package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"adsync/bench/peers/queue"
)

// asynqQueue is asynq, with the concurrency of our pool (another makes no difference) and everything else but
// asynqCheck as shipped. Tasks are enqueued one by one, as it has no batches, by some goroutines at a time.
type asynqQueue struct{}

// asynqCheck is how often an idle server looks for tasks: as shipped, once a second, a task waits for half of that.
const asynqCheck = 5 * time.Millisecond

const (
	asynqType      = "noop"
	asynqQueueName = "default"
)

func (asynqQueue) serve(o queue.Options, done func(asynq.Task)) (stop func(), err error) {
	server := asynq.NewServer(asynq.RedisClientOpt{Addr: o.Redis}, asynq.Config{
		Concurrency: o.Concurrency, LogLevel: asynq.ErrorLevel, TaskCheckInterval: asynqCheck,
	})
	mux := asynq.NewServeMux()
	mux.HandleFunc(asynqType, func(_ context.Context, t *asynq.Task) error {
		done(*t)
		return nil
	})
	return server.Shutdown, server.Start(mux)
}

// drained waits until the given number of tasks is done, and checks that none is left.
func (asynqQueue) drained(ctx context.Context, o queue.Options, before, tasks int) error {
	inspector := asynq.NewInspector(asynq.RedisClientOpt{Addr: o.Redis})
	defer inspector.Close()
	for {
		info, err := inspector.GetQueueInfo(asynqQueueName)
		if err != nil {
			return err
		}
		if info.ProcessedTotal-before >= tasks && info.Size == 0 {
			if info.ProcessedTotal-before > tasks || info.Failed > 0 {
				return fmt.Errorf("%d tasks were done and %d failed, want %d and none", info.ProcessedTotal-before, info.Failed,
					tasks)
			}
			return nil
		}
		if err := queue.Wait(ctx, queue.PollEvery); err != nil {
			return err
		}
	}
}

// processed returns how many tasks were ever done.
func (asynqQueue) processed(o queue.Options) (int, error) {
	inspector := asynq.NewInspector(asynq.RedisClientOpt{Addr: o.Redis})
	defer inspector.Close()
	known, err := inspector.Queues()
	if err != nil || !slices.Contains(known, asynqQueueName) {
		return 0, err
	}
	info, err := inspector.GetQueueInfo(asynqQueueName)
	if err != nil {
		return 0, err
	}
	return info.ProcessedTotal, nil
}

func (q asynqQueue) Throughput(ctx context.Context, o queue.Options) (float64, error) {
	before, err := q.processed(o)
	if err != nil {
		return 0, err
	}
	stop, err := q.serve(o, func(asynq.Task) {})
	if err != nil {
		return 0, err
	}
	defer stop()
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: o.Redis})
	defer client.Close()
	began := time.Now()
	err = o.Send(func(i int) error {
		_, err := client.EnqueueContext(ctx, asynq.NewTask(asynqType, fmt.Appendf(nil, `{"account":%d}`, i)))
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := q.drained(ctx, o, before, o.Tasks); err != nil {
		return 0, err
	}
	return float64(o.Tasks) / time.Since(began).Seconds(), nil
}

func (q asynqQueue) Latency(ctx context.Context, o queue.Options) ([]time.Duration, error) {
	before, err := q.processed(o)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var waited []time.Duration
	stop, err := q.serve(o, func(t asynq.Task) {
		var made time.Time
		_ = json.Unmarshal(t.Payload(), &made)
		mu.Lock()
		defer mu.Unlock()
		waited = append(waited, time.Since(made))
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: o.Redis})
	defer client.Close()
	tasks, err := o.SendSteadily(func(int) error {
		made, err := json.Marshal(time.Now())
		if err != nil {
			return err
		}
		_, err = client.EnqueueContext(ctx, asynq.NewTask(asynqType, made))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := q.drained(ctx, o, before, tasks); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	return waited, nil
}
