package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"time"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/jobstore"
	"adsync/test/rig"
	"adsync/test/services/local"
)

// Measures of whether the job queue costs the same under load: its throughput in bulks with batches of
// acknowledgements, before the load and with it.

const (
	delayedJobs    = 10_000_000
	delayedAtOnce  = 250_000
	snapshotFor    = 10 * time.Minute
	idlePolls      = 10_000
	idlePollsFor   = 30 * time.Second
	jobsAfterTwice = 2 // takes of the throughput, of which the last counts: the first fills caches
)

// ratioMeasure is a measure of the throughput with a load, and of its ratio to that without.
func ratioMeasure(id string, run func(*queueBench, context.Context) (map[string]float64, error),
	more ...figure) measure {
	figures := append([]figure{{id, "jobs/s", true}, {id + "-before", "jobs/s", true}, {id + "-ratio", "", true}}, more...)
	return measure{id: id, figures: figures, durable: jobsDurable, long: true,
		ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
			return d.onQueue(ctx, id, run)
		}}
}

// throughput takes the throughput of the queue.
func (q *queueBench) throughput(ctx context.Context) (perSecond float64, err error) {
	for range jobsAfterTwice {
		values, err := q.inBulk(ctx, "throughput", true)
		if err != nil {
			return 0, err
		}
		perSecond = values["throughput"]
	}
	return perSecond, nil
}

func (q *queueBench) ratio(before, after float64) map[string]float64 {
	return map[string]float64{q.queue: after, q.queue + "-before": before, q.queue + "-ratio": after / before}
}

// withDelayed measures with many delayed jobs, half of them in the same queue, and the others in a hundred more.
func (q *queueBench) withDelayed(ctx context.Context) (map[string]float64, error) {
	before, err := q.throughput(ctx)
	if err != nil {
		return nil, err
	}
	if err := q.fillDelayed(ctx); err != nil {
		return nil, err
	}
	after, err := q.throughput(ctx)
	return q.ratio(before, after), err
}

func (q *queueBench) fillDelayed(ctx context.Context) error {
	db, err := sqldb.OpenDurable(ctx, sqldb.Database{Driver: sqldb.MySQL, MaxOpenConns: 1, Writer: secret.NewText(q.dsn)},
		q.d.log)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	own := jobstore.Queue{Namespace: "bench", Name: q.queue}.ID()
	day := q.now.Now().Add(24 * time.Hour)
	for from := 0; from < delayedJobs; from += delayedAtOnce {
		// An id is a time, the mark of job_kept, and the number.
		err := db.Writer(ctx).Exec(fmt.Sprintf("INSERT INTO job_kept (queue_id, id, band, ready_at, expires_at, tries, "+
			"claims, body) SELECT IF(seq %% 2, ?, seq %% 100), CONCAT(UNHEX('01800000000080'), "+
			"UNHEX(LPAD(HEX(seq), 18, '0'))), 5, ? + INTERVAL seq %% 1000000 SECOND, NULL, 1, 0, 'a delayed job' "+
			"FROM seq_%d_to_%d", from+1, from+delayedAtOnce), int64(own), sqldb.At(day)).Error
		if err != nil {
			return fmt.Errorf("fill in delayed jobs: %w", err)
		}
	}
	return nil
}

// withSnapshot measures repeatedly while a transaction reads an old snapshot, which keeps the server from removing what
// was deleted since.
func (q *queueBench) withSnapshot(ctx context.Context) (map[string]float64, error) {
	before, err := q.throughput(ctx)
	if err != nil {
		return nil, err
	}
	db, err := sqldb.OpenDurable(ctx, sqldb.Database{Driver: sqldb.MySQL, MaxOpenConns: 1, Writer: secret.NewText(q.dsn)},
		q.d.log)
	if err != nil {
		return nil, err
	}
	pool, err := db.SQL()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	defer func() { _ = db.Close() }()
	reader, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for _, text := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
		if _, err := reader.ExecContext(ctx, text); err != nil {
			return nil, err
		}
	}
	began, after := clock.Mark(), 0.
	for clock.Since(began) < snapshotFor {
		if after, err = q.throughput(ctx); err != nil {
			return nil, err
		}
	}
	return q.ratio(before, after), nil
}

// withPolls measures the memory and the CPU time of a process with idle polls, each on a queue of its own, and then the
// throughput with them.
func (q *queueBench) withPolls(ctx context.Context) (map[string]float64, error) {
	p, address, err := jobsProcess(ctx, q.d, q.dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Stop(10 * time.Second) }()
	other := newQueueBench(q.d, address, q.queue)
	defer other.client.CloseIdleConnections()
	before, err := other.throughput(ctx)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	for i := range idlePolls {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET /api/bench/idle-%d?timeout=3600 HTTP/1.1\r\nHost: %s\r\n\r\n", i,
			address); err != nil {
			return nil, err
		}
	}
	// The first look at each queue is over when all of them wait.
	if err := clock.Sleep(ctx, idlePollsFor); err != nil {
		return nil, err
	}
	used, err := cpuOf(p.PID())
	if err != nil {
		return nil, err
	}
	if err := clock.Sleep(ctx, idlePollsFor); err != nil {
		return nil, err
	}
	now, err := cpuOf(p.PID())
	if err != nil {
		return nil, err
	}
	memory, err := residentMB(p.PID())
	if err != nil {
		return nil, err
	}
	after, err := other.throughput(ctx)
	values := q.ratio(before, after)
	values[q.queue+"-memory"] = memory
	values[q.queue+"-cpu"] = 100 * (now - used).Seconds() / idlePollsFor.Seconds()
	return values, err
}

// jobsProcess starts adsync serve --role=jobs on a database.
func jobsProcess(ctx context.Context, d *deployment, dsn string) (p *local.Process, address string, err error) {
	program, err := rig.Build(ctx, d.o.dir, "timetzdata")
	if err != nil {
		return nil, "", err
	}
	port, err := d.ports.Take()
	if err != nil {
		return nil, "", err
	}
	address = local.Loopback(port)
	cmd := exec.Command(program, "serve", "--role=jobs")
	cmd.Env = []string{"ADSYNC_LOG_FORMAT=json", "ADSYNC_API_LISTEN=127.0.0.1:0", "ADSYNC_JOBS_LISTEN=" + address,
		"ADSYNC_JOBS_ADMIN_LISTEN=127.0.0.1:0", "ADSYNC_JOBS_TOKENS=none", "ADSYNC_JOBS_STORE_WRITER=" + dsn,
		"ADSYNC_REDIS_ADDRS=" + d.redis.Addr()}
	p, err = local.StartLogged("jobs", filepath.Join(d.o.dir, "logs", "jobs.log"), cmd)
	if err != nil {
		return nil, "", err
	}
	err = local.AwaitReady(ctx, "jobs", func(ctx context.Context) error {
		_, _, err := rig.Get(ctx, "http://"+address+"/api/bench/none/size")
		return err
	}, p.Exited())
	return p, address, err
}

// deliveryOfAnother times deliveries by another process than that of the publication, without Redis: that one looks
// once a second.
func (q *queueBench) deliveryOfAnother(ctx context.Context) (map[string]float64, error) {
	other, err := serveJobs(ctx, q.d, q.store, q.now)
	if err != nil {
		return nil, err
	}
	defer other.Stop()
	q.consumeAt = newQueueBench(q.d, other.Addr(), q.queue).base
	values, err := q.delivery(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]float64{"jobs-two-p50": values["jobs-delivery-p50"], "jobs-two-p99": values["jobs-delivery-p99"]},
		nil
}
