// Command peers measures one task queue at one thing, as bench asks, and prints the figures as JSON. What it counts it counts in the queue's
// store, which must be empty afterwards.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// options is what the command line asks for.
type options struct {
	peer, measure string
	redis         string
	postgres      string
	tasks         int
	concurrency   int
	rate          int // tasks a second, of the latency
}

// latencyFor is how long the steady rate goes on.
const latencyFor = 20 * time.Second

// queue is a peer.
type queue interface {
	// throughput is how many tasks a second are done, from the first one's enqueuing to the last one's end.
	throughput(ctx context.Context, o options) (float64, error)
	// latency returns how long each task waited that was enqueued at a steady rate.
	latency(ctx context.Context, o options) ([]time.Duration, error)
}

var queues = map[string]queue{"asynq": asynqQueue{}, "river": riverQueue{}}

func main() {
	var o options
	flag.StringVar(&o.peer, "peer", "asynq", "the task queue")
	flag.StringVar(&o.measure, "measure", "noop", "noop or latency")
	flag.StringVar(&o.redis, "redis", "127.0.0.1:6379", "the address of Redis")
	flag.StringVar(&o.postgres, "postgres", "postgres://postgres@127.0.0.1:5432/postgres", "the address of PostgreSQL")
	flag.IntVar(&o.tasks, "tasks", 200_000, "how many tasks")
	flag.IntVar(&o.concurrency, "concurrency", 256, "how many at a time")
	flag.IntVar(&o.rate, "rate", 500, "tasks a second, of the latency")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	values, err := run(ctx, o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(values)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (map[string]float64, error) {
	q, known := queues[o.peer]
	if !known {
		return nil, fmt.Errorf("-peer %s is not known", o.peer)
	}
	switch o.measure {
	case "noop":
		perSecond, err := q.throughput(ctx, o)
		return map[string]float64{"noop": perSecond}, err
	case "latency":
		waited, err := q.latency(ctx, o)
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
