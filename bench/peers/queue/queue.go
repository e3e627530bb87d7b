// Package queue is the command line of the programs that take one measure of a task queue for bench, and print the
// figures as JSON. They count in the queue's store, which must be empty afterwards.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options are the values of the command line's flags.
type Options struct {
	peer, measure string
	Redis         string // host:port
	Postgres      string // a URL
	Tasks         int
	Concurrency   int
	Rate          int // tasks a second, of the latency
}

const (
	// latencyFor is how long the steady rate continues.
	latencyFor = 20 * time.Second
	// PollEvery is how often a queue is checked for whether all tasks are done.
	PollEvery = 20 * time.Millisecond
)

// Queue is a peer.
type Queue interface {
	// Throughput returns how many tasks a second are done, from the first one's enqueuing to the last one's end.
	Throughput(ctx context.Context, o Options) (float64, error)
	// Latency returns how long each task waited that was enqueued at a steady rate.
	Latency(ctx context.Context, o Options) ([]time.Duration, error)
}

// Wait waits for d, or returns the context's error.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// senders is how many goroutines send tasks one by one: with more, asynq does not get faster.
const senders = 16

// Send sends all tasks one by one, in several goroutines, and returns the errors.
func (o Options) Send(send func(number int) error) error {
	var sending sync.WaitGroup
	errs := make([]error, senders)
	for g := range senders {
		sending.Go(func() {
			for i := g; i < o.Tasks && errs[g] == nil; i += senders {
				errs[g] = send(i)
			}
		})
	}
	sending.Wait()
	return errors.Join(errs...)
}

// SendSteadily sends tasks at the steady rate for latencyFor, and returns how many it sent.
func (o Options) SendSteadily(send func(number int) error) (sent int, err error) {
	began := time.Now()
	for ; sent < o.Rate*int(latencyFor.Seconds()); sent++ {
		time.Sleep(time.Until(began.Add(time.Duration(sent) * time.Second / time.Duration(o.Rate))))
		if err := send(sent); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// Main measures one of the named queues, and ends the process with 1 when that fails.
func Main(queues map[string]Queue) {
	var o Options
	flag.StringVar(&o.peer, "peer", "", "the task queue: "+strings.Join(slices.Sorted(maps.Keys(queues)), ", "))
	flag.StringVar(&o.measure, "measure", "noop", "noop or latency")
	flag.StringVar(&o.Redis, "redis", "127.0.0.1:6379", "the address of Redis")
	flag.StringVar(&o.Postgres, "postgres", "postgres://postgres@127.0.0.1:5432/postgres", "the address of PostgreSQL")
	flag.IntVar(&o.Tasks, "tasks", 200_000, "how many tasks")
	flag.IntVar(&o.Concurrency, "concurrency", 256, "how many at a time")
	flag.IntVar(&o.Rate, "rate", 500, "tasks a second, of the latency")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	values, err := run(ctx, queues, o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(values)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, queues map[string]Queue, o Options) (map[string]float64, error) {
	q, known := queues[o.peer]
	if !known {
		return nil, fmt.Errorf("-peer %s is not known", o.peer)
	}
	switch o.measure {
	case "noop":
		perSecond, err := q.Throughput(ctx, o)
		return map[string]float64{"noop": perSecond}, err
	case "latency":
		waited, err := q.Latency(ctx, o)
		if err != nil {
			return nil, err
		}
		slices.Sort(waited)
		at := func(part int) float64 { return waited[len(waited)*part/100].Seconds() * 1000 }
		return map[string]float64{"latency-p50": at(50), "latency-p99": at(99)}, nil
	default:
		return nil, fmt.Errorf("-measure %s is none of noop, latency", o.measure)
	}
}
