// Command machinery measures machinery, see package queue. It is in its own module: its configuration brings clients
// of half a dozen services.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RichardKnop/machinery/v2"
	backend "github.com/RichardKnop/machinery/v2/backends/redis"
	broker "github.com/RichardKnop/machinery/v2/brokers/redis"
	"github.com/RichardKnop/machinery/v2/config"
	eagerlock "github.com/RichardKnop/machinery/v2/locks/eager"
	mlog "github.com/RichardKnop/machinery/v2/log"
	"github.com/RichardKnop/machinery/v2/tasks"
	"github.com/redis/go-redis/v9"

	"adsync/bench/peers/queue"
)

func main() { queue.Main(map[string]queue.Queue{"machinery": machineryQueue{}}) }

// machineryQueue is machinery with its queue and its results in Redis, by go-redis, and the concurrency of our pool.
// It needs a place for results; a task writes four states there. Tasks are sent one by one, as by its groups, by some
// goroutines at a time.
type machineryQueue struct{}

const (
	taskName  = "noop"
	queueName = "machinery_tasks"
	// page is how many states are read by one command.
	page = 1000
)

// server is a server with a worker, and the number of tasks that the worker has done.
type server struct {
	*machinery.Server
	done atomic.Int64
	stop func()
}

// serve starts a worker that gives each task's value to work.
func (machineryQueue) serve(o queue.Options, work func(value int64)) (*server, error) {
	mlog.Set(log.New(io.Discard, "", 0)) // It reports each start and stop on the standard output.
	cnf := &config.Config{DefaultQueue: queueName, ResultsExpireIn: 3600, NoUnixSignals: true,
		Redis: &config.RedisConfig{}}
	s := &server{Server: machinery.NewServer(cnf, broker.NewGR(cnf, []string{o.Redis}, 0),
		backend.NewGR(cnf, []string{o.Redis}, 0), eagerlock.New())}
	err := s.RegisterTask(taskName, func(value int64) error {
		work(value)
		s.done.Add(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	worker, ended := s.NewWorker("bench", o.Concurrency), make(chan error, 1)
	worker.LaunchAsync(ended)
	s.stop = func() {
		worker.Quit()
		<-ended
	}
	return s, nil
}

func taskID(number int) string { return fmt.Sprint("task_", number) }

func (s *server) send(ctx context.Context, number int, value int64) error {
	_, err := s.SendTaskWithContext(ctx, &tasks.Signature{
		UUID: taskID(number), Name: taskName, Args: []tasks.Arg{{Type: "int64", Value: value}},
	})
	return err
}

// drained waits until the results of all tasks are there, and returns when they were done. Then it deletes the
// results, and checks that no task is left.
func (s *server) drained(ctx context.Context, o queue.Options, sent int) (at time.Time, err error) {
	for s.done.Load() < int64(sent) { // This is not the count. It only shows when checking the results is worthwhile.
		if err := queue.Wait(ctx, queue.PollEvery); err != nil {
			return at, err
		}
	}
	store := redis.NewClient(&redis.Options{Addr: o.Redis})
	defer store.Close()
	at = time.Now()
	for first := 0; first < sent; {
		var ids []string
		for number := first; number < min(first+page, sent); number++ {
			ids = append(ids, taskID(number))
		}
		succeeded, err := allSucceeded(ctx, store, ids)
		if err != nil {
			return at, err
		}
		if !succeeded {
			at = time.Now()
			if err := queue.Wait(ctx, time.Millisecond); err != nil {
				return at, err
			}
			continue
		}
		if err := store.Del(ctx, ids...).Err(); err != nil {
			return at, err
		}
		first += len(ids)
	}
	left, err := store.LLen(ctx, queueName).Result()
	if err == nil && left > 0 {
		err = fmt.Errorf("%d tasks are left", left)
	}
	if err == nil && s.done.Load() > int64(sent) {
		err = fmt.Errorf("%d tasks were done, want %d", s.done.Load(), sent)
	}
	return at, err
}

// allSucceeded reports whether all tasks have succeeded.
func allSucceeded(ctx context.Context, store *redis.Client, ids []string) (bool, error) {
	states, err := store.MGet(ctx, ids...).Result()
	if err != nil {
		return false, err
	}
	for i, text := range states {
		encoded, known := text.(string)
		if !known {
			return false, fmt.Errorf("%s has no state", ids[i])
		}
		var state tasks.TaskState
		if err := json.Unmarshal([]byte(encoded), &state); err != nil {
			return false, err
		}
		if state.IsFailure() {
			return false, fmt.Errorf("%s: %s", ids[i], state.Error)
		}
		if !state.IsSuccess() {
			return false, nil
		}
	}
	return true, nil
}

func (q machineryQueue) Throughput(ctx context.Context, o queue.Options) (float64, error) {
	s, err := q.serve(o, func(int64) {})
	if err != nil {
		return 0, err
	}
	defer s.stop()
	began := time.Now()
	if err := o.Send(func(i int) error { return s.send(ctx, i, int64(i)) }); err != nil {
		return 0, err
	}
	ended, err := s.drained(ctx, o, o.Tasks)
	return float64(o.Tasks) / ended.Sub(began).Seconds(), err
}

func (q machineryQueue) Latency(ctx context.Context, o queue.Options) ([]time.Duration, error) {
	var mu sync.Mutex
	var waited []time.Duration
	s, err := q.serve(o, func(made int64) {
		mu.Lock()
		defer mu.Unlock()
		waited = append(waited, time.Since(time.Unix(0, made)))
	})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	sent, err := o.SendSteadily(func(i int) error { return s.send(ctx, i, time.Now().UnixNano()) })
	if err != nil {
		return nil, err
	}
	if _, err := s.drained(ctx, o, sent); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	return waited, nil
}
