package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"adsync/bench/peers/queue"
)

// riverQueue is river on PostgreSQL, set up as its own benchmark is (`river bench`): 2,000 workers (256 do two thirds
// as much, 5,000 less too), and fetches that hardly rest. Jobs are inserted by COPY (InsertManyFast), by one
// goroutine: with more it does not get faster. Its completer, as shipped, writes ends in batches.
type riverQueue struct{}

const (
	riverWorkers  = 2000
	riverCooldown = 2 * time.Millisecond
	riverPoll     = 20 * time.Millisecond
	// riverBatch is how many jobs are inserted at a time.
	riverBatch = 5000
	// riverConns is how many connections it has: with more it does not get faster.
	riverConns = 10
)

type riverArgs struct {
	Account int `json:"account"`
}

// Kind implements river.JobArgs.
func (riverArgs) Kind() string { return "noop" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
}

// Work implements river.Worker.
func (*riverWorker) Work(context.Context, *river.Job[riverArgs]) error { return nil }

type riverClient = river.Client[pgx.Tx]

// serve creates the tables, which must have no jobs, and runs a client until stop.
func (riverQueue) serve(ctx context.Context, o queue.Options) (pool *pgxpool.Pool, client *riverClient,
	stop func() error, err error) {
	config, err := pgxpool.ParseConfig(o.Postgres)
	if err != nil {
		return nil, nil, nil, err
	}
	config.MaxConns = riverConns
	if pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, nil, nil, err
	}
	if client, err = startRiver(ctx, pool); err != nil {
		pool.Close()
		return nil, nil, nil, err
	}
	return pool, client, func() error {
		defer pool.Close()
		return client.Stop(context.WithoutCancel(ctx))
	}, nil
}

func startRiver(ctx context.Context, pool *pgxpool.Pool) (*riverClient, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	states, err := riverStates(ctx, pool)
	if err != nil || len(states) > 0 {
		return nil, errors.Join(err, fmt.Errorf("there are jobs already: %v", states))
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{})
	client, err := river.NewClient(driver, &river.Config{
		FetchCooldown: riverCooldown, FetchPollInterval: riverPoll, Logger: log,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}}, Workers: workers,
	})
	if err != nil {
		return nil, err
	}
	return client, client.Start(ctx)
}

// riverStates counts the jobs in each state.
func riverStates(ctx context.Context, pool *pgxpool.Pool) (map[string]int, error) {
	rows, err := pool.Query(ctx, "SELECT state::text, COUNT(*) FROM river_job GROUP BY state")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	states := map[string]int{}
	for rows.Next() {
		var state string
		var n int
		if err := rows.Scan(&state, &n); err != nil {
			return nil, err
		}
		states[state] = n
	}
	return states, rows.Err()
}

// drained waits until no job is left to do.
func (riverQueue) drained(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		var open bool
		if err := pool.QueryRow(ctx,
			"SELECT EXISTS (SELECT 1 FROM river_job WHERE state IN ('available', 'running'))").Scan(&open); err != nil {
			return err
		}
		if !open {
			return nil
		}
		if err := queue.Wait(ctx, queue.PollEvery); err != nil {
			return err
		}
	}
}

// exact checks that exactly the given number of jobs are completed and none is in another state, and deletes them.
func (riverQueue) exact(ctx context.Context, pool *pgxpool.Pool, tasks int) error {
	states, err := riverStates(ctx, pool)
	if err != nil {
		return err
	}
	if len(states) != 1 || states["completed"] != tasks {
		return fmt.Errorf("the jobs are %v, want %d completed", states, tasks)
	}
	_, err = pool.Exec(ctx, "TRUNCATE river_job")
	return err
}

func (q riverQueue) Throughput(ctx context.Context, o queue.Options) (perSecond float64, err error) {
	pool, client, stop, err := q.serve(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	began := time.Now()
	for from := 0; from < o.Tasks; from += riverBatch {
		batch := make([]river.InsertManyParams, min(riverBatch, o.Tasks-from))
		for i := range batch {
			batch[i].Args = riverArgs{Account: from + i}
		}
		if _, err := client.InsertManyFast(ctx, batch); err != nil {
			return 0, err
		}
	}
	if err := q.drained(ctx, pool); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return float64(o.Tasks) / took.Seconds(), q.exact(ctx, pool, o.Tasks)
}

// latency is read from the rows, as adsync's is.
func (q riverQueue) Latency(ctx context.Context, o queue.Options) (waited []time.Duration, err error) {
	pool, client, stop, err := q.serve(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	tasks, err := o.SendSteadily(func(i int) error {
		_, err := client.Insert(ctx, riverArgs{Account: i}, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := q.drained(ctx, pool); err != nil {
		return nil, err
	}
	rows, err := pool.Query(ctx, "SELECT attempted_at - created_at FROM river_job")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var late time.Duration
		if err := rows.Scan(&late); err != nil {
			return nil, err
		}
		waited = append(waited, late)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return waited, q.exact(ctx, pool, tasks)
}
