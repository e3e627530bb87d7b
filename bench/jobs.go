package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/jobstore"
	"adsync/jobs"
)

// The measures of the job queue: server and clients are in this process, and speak HTTP over keep-alive connections.

const (
	jobsConnections = 64
	jobsSingle      = 30_000 // jobs of a measure, one by one
	jobsBulk        = 76_800 // in bulks
	bulkSize        = 64
	batchSize       = 100
	jobsRate        = 300 // publications a second while their delivery is timed
	jobsTimed       = 3000
	jobsPolls       = 16 // that wait for them
)

const jobsDurable = "job, claim and acknowledgement in MariaDB (a sync a commit)"

func jobsMeasures() []measure {
	take := func(id string, more []figure, run func(*queueBench, context.Context) (map[string]float64, error)) measure {
		return measure{id: id, figures: append([]figure{{id, "jobs/s", true}}, more...), durable: jobsDurable, long: true,
			ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
				return d.onQueue(ctx, id, run)
			}}
	}
	return []measure{
		withPeer(take("jobs-one-by-one", budget("jobs-one-by-one"), (*queueBench).oneByOne)),
		take("jobs-bulk-acks", budget("jobs-bulk-acks"), func(q *queueBench, ctx context.Context) (map[string]float64,
			error) {
			return q.inBulk(ctx, "jobs-bulk-acks", false)
		}),
		take("jobs-bulk", budget("jobs-bulk"), func(q *queueBench, ctx context.Context) (map[string]float64, error) {
			return q.inBulk(ctx, "jobs-bulk", true)
		}),
		{id: "jobs-delivery", figures: []figure{{"jobs-delivery-p50", "ms", false}, {"jobs-delivery-p99", "ms", false}},
			durable: jobsDurable, long: true,
			ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
				return d.onQueue(ctx, "jobs-delivery", (*queueBench).delivery)
			}},
		{id: "jobs-two", figures: []figure{{"jobs-two-p50", "ms", false}, {"jobs-two-p99", "ms", false}},
			durable: jobsDurable, long: true,
			ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
				return d.onQueue(ctx, "jobs-two", (*queueBench).deliveryOfAnother)
			}},
		ratioMeasure("jobs-delayed", (*queueBench).withDelayed),
		ratioMeasure("jobs-snapshot", (*queueBench).withSnapshot),
		ratioMeasure("jobs-polls", (*queueBench).withPolls, figure{"jobs-polls-memory", "MB resident", false},
			figure{"jobs-polls-cpu", "% of a core", false}),
	}
}

// queueBench is a running job queue and its clients.
type queueBench struct {
	d         *deployment
	queue     string
	base      string
	consumeAt string // where delivery consumes, if not at base
	client    *http.Client

	// Of a queue in this process.
	store *jobstore.Store
	dsn   string
	now   *clock.Database
}

// jobsStore makes an empty database of jobs and opens it.
func jobsStore(ctx context.Context, d *deployment) (*jobstore.Store, string, error) {
	d.jobQueues++
	database := fmt.Sprint("jobs_", d.jobQueues)
	if err := d.mariadb.CreateDatabases(ctx, database); err != nil {
		return nil, "", err
	}
	dsn := d.mariadb.DSN() + database
	store, err := jobstore.Open(ctx, sqldb.Database{Driver: sqldb.MySQL, MaxOpenConns: 16, Writer: secret.NewText(dsn)},
		d.log)
	if err != nil {
		return nil, "", err
	}
	return store, dsn, store.MigrateUp(ctx)
}

// serveJobs serves a job queue in this process. Stop it.
func serveJobs(ctx context.Context, d *deployment, store *jobstore.Store, now *clock.Database) (*jobs.Server, error) {
	cfg := jobs.DefaultConfig()
	cfg.Listen, cfg.AdminListen, cfg.Tokens = "127.0.0.1:0", "127.0.0.1:0", jobs.TokensNone
	server := jobs.New(cfg, jobs.Deps{Stores: jobs.Stores{"default": store}, Clock: now, Logger: d.log,
		Registerer: prometheus.NewRegistry()})
	if err := server.Start(ctx); err != nil {
		return nil, err
	}
	return server, nil
}

// onQueue runs a measure on a job queue of its own.
func (d *deployment) onQueue(ctx context.Context, id string,
	run func(*queueBench, context.Context) (map[string]float64, error)) (values map[string]float64, err error) {
	store, dsn, err := jobsStore(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	now := clock.NewDatabase(store.Now, d.log)
	if err := now.Start(ctx); err != nil {
		return nil, err
	}
	defer now.Stop()
	server, err := serveJobs(ctx, d, store, now)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	q := newQueueBench(d, server.Addr(), id)
	defer q.client.CloseIdleConnections()
	q.store, q.dsn, q.now, q.consumeAt = store, dsn, now, q.base
	values, err = run(q, ctx)
	if err != nil {
		return nil, err
	}
	var size struct{ Size int }
	if left, err := q.send(ctx, http.MethodGet, "/size", nil); err != nil {
		return nil, err
	} else if err := json.Unmarshal(left, &size); err != nil || size.Size != 0 {
		return nil, fmt.Errorf("%d jobs are left: %w", size.Size, err)
	}
	return values, nil
}

func newQueueBench(d *deployment, address, queue string) *queueBench {
	base := "http://" + address + "/api/bench/" + queue
	return &queueBench{d: d, queue: queue, base: base, consumeAt: base,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: jobsConnections + jobsPolls}}}
}

// send sends a request, and returns the answer's body; an error for a status from 300 on, except 404.
func (q *queueBench) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	return q.sendTo(ctx, method, q.base+path, body)
}

func (q *queueBench) sendTo(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := q.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 && res.StatusCode != http.StatusNotFound {
		err = fmt.Errorf("%s %s: %s: %s", method, url, res.Status, text)
	}
	if res.StatusCode == http.StatusNotFound {
		text = nil
	}
	return text, err
}

// timed runs work on each of n connections, until the first error, and returns what a job cost.
func (q *queueBench) timed(ctx context.Context, id string, connections, count int,
	work func(ctx context.Context, connection int) error) (map[string]float64, error) {
	before, err := q.d.spent(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := clock.Mark()
	var all sync.WaitGroup
	for c := range connections {
		all.Go(func() {
			if err := work(ctx, c); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	took := clock.Since(began)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	after, err := q.d.spent(ctx)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{id: float64(count) / took.Seconds()}
	addCosts(values, id, before, after, count)
	return values, nil
}

type delivered struct {
	JobID string `json:"job_id"`
	Data  []byte `json:"data"`
}

// oneByOne has each connection publish, consume and acknowledge one job after another.
func (q *queueBench) oneByOne(ctx context.Context) (map[string]float64, error) {
	var acked sync.Map
	values, err := q.timed(ctx, "jobs-one-by-one", jobsConnections, jobsSingle, func(ctx context.Context, c int) error {
		for i := c; i < jobsSingle; i += jobsConnections {
			if _, err := q.send(ctx, http.MethodPut, "", fmt.Appendf(nil, "job %d", i)); err != nil {
				return err
			}
			text, err := q.send(ctx, http.MethodGet, "?timeout=30&ttr=600", nil)
			if err != nil {
				return err
			}
			var job delivered
			if err := json.Unmarshal(text, &job); err != nil {
				return err
			}
			if _, twice := acked.LoadOrStore(string(job.Data), true); twice {
				return fmt.Errorf("%s was delivered twice", job.Data)
			}
			if _, err := q.send(ctx, http.MethodDelete, "/job/"+job.JobID, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return values, err
}

// inBulk publishes bulks from half of the connections, and consumes batches on the other half.
func (q *queueBench) inBulk(ctx context.Context, id string, ackBatches bool) (map[string]float64, error) {
	var published, acked atomic.Int64
	return q.timed(ctx, id, jobsConnections, jobsBulk, func(ctx context.Context, c int) error {
		if c%2 == 0 {
			for published.Add(bulkSize) <= jobsBulk {
				body := "[" + strings.TrimSuffix(strings.Repeat(`{"account":1234567},`, bulkSize), ",") + "]"
				if _, err := q.send(ctx, http.MethodPut, "/bulk", []byte(body)); err != nil {
					return err
				}
			}
			return nil
		}
		for acked.Load() < jobsBulk {
			text, err := q.send(ctx, http.MethodGet, fmt.Sprintf("?count=%d&timeout=1&ttr=600", batchSize), nil)
			if err != nil {
				return err
			}
			if text == nil {
				continue
			}
			var batch []delivered
			if err := json.Unmarshal(text, &batch); err != nil {
				return err
			}
			if err := q.ack(ctx, batch, ackBatches); err != nil {
				return err
			}
			acked.Add(int64(len(batch)))
		}
		return nil
	})
}

func (q *queueBench) ack(ctx context.Context, batch []delivered, together bool) error {
	if !together {
		for _, job := range batch {
			if _, err := q.send(ctx, http.MethodDelete, "/job/"+job.JobID, nil); err != nil {
				return err
			}
		}
		return nil
	}
	ids := make([]string, len(batch))
	for i, job := range batch {
		ids[i] = job.JobID
	}
	body, err := json.Marshal(ids)
	if err == nil {
		_, err = q.send(ctx, http.MethodPost, "/ack", body)
	}
	return err
}

// delivery publishes at a rate, and times each job from before its publication to its arrival in a waiting poll.
func (q *queueBench) delivery(ctx context.Context) (map[string]float64, error) {
	var mu sync.Mutex
	var took []float64
	began := clock.Mark()
	_, err := q.timed(ctx, "jobs-delivery", jobsPolls+jobsConnections, jobsTimed, func(ctx context.Context, c int) error {
		if c >= jobsPolls {
			for i := c - jobsPolls; i < jobsTimed; i += jobsConnections {
				if err := clock.Sleep(ctx, clock.Until(began.Add(time.Duration(i)*time.Second/jobsRate))); err != nil {
					return err
				}
				body := fmt.Append(nil, clock.Since(began).Nanoseconds())
				if _, err := q.send(ctx, http.MethodPut, "", body); err != nil {
					return err
				}
			}
			return nil
		}
		for {
			mu.Lock()
			left := jobsTimed - len(took)
			mu.Unlock()
			if left == 0 {
				return nil
			}
			text, err := q.sendTo(ctx, http.MethodGet, q.consumeAt+"?timeout=1&ttr=600", nil)
			if err != nil {
				return err
			}
			if text == nil {
				continue
			}
			var job delivered
			var sent int64
			if err := json.Unmarshal(text, &job); err != nil {
				return err
			}
			if _, err := fmt.Sscan(string(job.Data), &sent); err != nil {
				return err
			}
			mu.Lock()
			took = append(took, float64(clock.Since(began).Nanoseconds()-sent)/1e6)
			mu.Unlock()
			if err := q.ack(ctx, []delivered{job}, false); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(took)
	return map[string]float64{"jobs-delivery-p50": took[len(took)/2], "jobs-delivery-p99": took[len(took)*99/100]}, nil
}
