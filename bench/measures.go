package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/test/rig"
)

// figure is one number that a measure gives.
type figure struct {
	id, unit string
	more     bool // more is better
}

// measure is one measurement, of adsync and of its peers.
type measure struct {
	id                    string
	figures               []figure
	peers                 []string
	durable, peersDurable string
	long                  bool // not taken unless it is asked for
	// how often it is taken in a round, if more than once: the database's background writes disturb seconds of it
	turns int
	ours  take
	// sideBySide has the peers that are not task queues with their own program.
	sideBySide map[string]take
}

// take takes a measure once, and returns its figures by their ids.
type take func(d *deployment, ctx context.Context) (map[string]float64, error)

const (
	allDurable   = "log row and outcome in MariaDB (a sync a commit), message in Kafka (one broker, acks=all)"
	redisDurable = "asynq and machinery: nothing (Redis, in memory)"
	riverDurable = redisDurable + ", river: the job's row in PostgreSQL (fsync and synchronous_commit on)"
	river        = "river"
	machinery    = "machinery"
)

var measures = slices.Concat(engineMeasures, fullMeasures(), pullMeasures(), flatMeasures, scaleMeasures(),
	jobsMeasures())

var engineMeasures = []measure{
	{
		id: "noop", figures: append([]figure{{"noop", "subtasks/s", true}}, budget("noop")...),
		peers: []string{"asynq", machinery, river}, durable: allDurable, peersDurable: riverDurable,
		ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
			return d.throughput(ctx, "noop", noop)
		},
	},
	{
		id: "granted", figures: []figure{{"granted", "subtasks/s", true}}, durable: allDurable,
		ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
			return d.throughput(ctx, "granted", granted)
		},
	},
	{
		id: "fan-out", figures: []figure{{"fan-out", "s", false}},
		durable: "log rows in MariaDB (a sync a commit), messages in Kafka (one broker, acks=all)",
		ours:    (*deployment).fanOut,
	},
	{
		id: "latency", figures: []figure{{"latency-p50", "ms", false}, {"latency-p99", "ms", false}},
		peers:   []string{"asynq", machinery, river},
		durable: allDurable, peersDurable: riverDurable,
		ours: (*deployment).latency,
	},
	{
		id: "memory", figures: []figure{{"memory", "MB resident", false}}, durable: allDurable,
		ours: (*deployment).memory,
	},
	{
		id: "upsert", figures: []figure{{"upsert", "report rows/s", true}}, peers: []string{rawUpsert}, turns: 3,
		durable:      "raw and public row in MariaDB (a sync a commit), with fence and coverage",
		peersDurable: "raw and public row in MariaDB (a sync a commit)",
		ours:         (*deployment).upsert,
		sideBySide:   map[string]take{rawUpsert: (*deployment).upsertRaw},
	},
	{
		id: "day", figures: []figure{
			{"day", "min", false}, {"day-rate", "subtasks/s", true}, {"day-disk-mariadb", "bytes/subtask", false},
			{"day-disk-kafka", "bytes/subtask", false},
		},
		durable: allDurable, long: true, ours: (*deployment).day,
	},
}

// take measures once.
func (m measure) take(ctx context.Context, d *deployment, who string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	if measure := m.sideBySide[who]; measure != nil {
		return measure(d, ctx)
	}
	if who != ours {
		return d.peer(ctx, m.id, who)
	}
	if d.o.profile == "" {
		return m.ours(d, ctx)
	}
	if err := os.MkdirAll(d.o.profile, 0o755); err != nil {
		return nil, err
	}
	cpu, err := os.Create(filepath.Join(d.o.profile, m.id+".pprof"))
	if err != nil {
		return nil, err
	}
	defer cpu.Close()
	allocs, err := os.Create(filepath.Join(d.o.profile, m.id+".allocs.pprof")) // since the start
	if err != nil {
		return nil, err
	}
	defer allocs.Close()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	values, err := m.ours(d, ctx)
	pprof.StopCPUProfile()
	return values, errors.Join(err, pprof.Lookup("allocs").WriteTo(allocs, 0))
}

// peer has a peer measured by its own program, on the Redis of ours or a PostgreSQL that runs for it alone, which it
// finds and leaves empty.
func (d *deployment) peer(ctx context.Context, id, who string) (values map[string]float64, err error) {
	args := []string{"-peer", who, "-measure", id, "-redis", d.redis.Addr(), "-tasks",
		strconv.Itoa(d.o.accounts * d.o.parts),
		"-concurrency", strconv.Itoa(d.o.pool), "-rate", strconv.Itoa(latencyRate)}
	if who == river {
		if err := d.startPostgres(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, d.stopPostgres()) }()
		args = append(args, "-postgres", d.postgres.DSN())
	}
	cmd := exec.CommandContext(ctx, d.peers[peerModules[who]], args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	err = json.Unmarshal(out, &values)
	return values, err
}

// order orders a run of a task now, for some accounts or all, and returns the run's id.
func (d *deployment) order(ctx context.Context, handler string, accounts []int64) (int64, error) {
	return d.place(ctx, handler, task.Order{Accounts: accounts})
}

// place is order with more than accounts; without these, it is for all.
func (d *deployment) place(ctx context.Context, handler string, order task.Order) (int64, error) {
	now := d.time.Now()
	id := task.NewRunID(now)
	order.By = "bench"
	if len(order.Accounts) == 0 {
		order.Scope = task.ScopeAll
	}
	err := d.store.AddOrder(ctx, ledger.RunOrder{RunID: id, TaskID: d.tasks[handler], Request: order, OrderedAt: now})
	d.producer.Wake()
	return id, err
}

// pollEvery is how often the bench checks whether a run has ended. This delay counts as adsync's.
const pollEvery = 20 * time.Millisecond

// await waits until a run meets a condition.
func (d *deployment) await(ctx context.Context, id int64, ready func(ledger.Run) bool) error {
	for {
		r, err := d.store.Run(ctx, id)
		if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
			return err
		}
		if err == nil && ready(r) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("run %d makes no progress: it is %s with %d of its subtasks ended: %w", id, r.State, r.Ended(),
				ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

func over(r ledger.Run) bool { return !r.State.Open() }

// exact checks that all subtasks of a run have succeeded, each once, and that only their rows are left.
func (d *deployment) exact(ctx context.Context, id int64, want int) error {
	r, err := d.store.Run(ctx, id)
	if err != nil {
		return err
	}
	if r.State != task.RunSucceeded || r.Total == nil || int(*r.Total) != want || int(r.Succeeded) != want {
		return fmt.Errorf("run %d is %s, with %d of %d subtasks", id, r.State, r.Succeeded, want)
	}
	var rows, due int
	db := d.store.Data.Writer(ctx)
	if err := db.Raw("SELECT COUNT(*) FROM "+ledger.LogTable(id)+" WHERE run_id = ? AND state = 'succeeded'",
		id).Row().Scan(&rows); err != nil {
		return err
	}
	if err := db.Raw("SELECT COUNT(*) FROM subtask_due WHERE run_id = ?", id).Row().Scan(&due); err != nil {
		return err
	}
	if rows != want || due != 0 {
		return fmt.Errorf("run %d has %d rows of subtasks that have succeeded, want %d, and %d that wait", id, rows, want,
			due)
	}
	return rig.Await(ctx, patience, "all messages are committed", func(ctx context.Context) (bool, error) {
		offsets, err := d.broker.Offsets(ctx, d.broker.GroupName(r.Media, r.Settings.Lane),
			d.broker.TopicName(r.Media, r.Settings.Lane))
		for _, o := range offsets {
			if o.Lag() > 0 {
				return false, err
			}
		}
		return err == nil, err
	})
}

// throughput measures how many subtasks of a task for all accounts end in a second, from the order to the end of the
// run.
func (d *deployment) throughput(ctx context.Context, id, handler string) (map[string]float64, error) {
	if err := d.warm(ctx); err != nil {
		return nil, err
	}
	defer d.stopConsumer()
	return d.workedOff(ctx, id, handler)
}

// workedOff measures throughput with the consumers that run.
func (d *deployment) workedOff(ctx context.Context, id, handler string) (map[string]float64, error) {
	values := map[string]float64{}
	return values, d.timed(ctx, values, id, handler, task.Order{}, d.o.accounts*d.o.parts)
}

// timed adds how many subtasks of a run end in a second, from its order to its end, and what each of them costs. It
// checks that all have succeeded.
func (d *deployment) timed(ctx context.Context, values map[string]float64, id, handler string, order task.Order,
	subtasks int) error {
	before, err := d.spent(ctx)
	if err != nil {
		return err
	}
	began := clock.Mark()
	run, err := d.place(ctx, handler, order)
	if err != nil {
		return err
	}
	if err := d.await(ctx, run, over); err != nil {
		return err
	}
	took := clock.Since(began)
	after, err := d.spent(ctx)
	if err != nil {
		return err
	}
	values[id] = float64(subtasks) / took.Seconds()
	addCosts(values, id, before, after, subtasks)
	return d.exact(ctx, run, subtasks)
}

// warm starts a consumer and gives it some work, so that it owns its partitions.
func (d *deployment) warm(ctx context.Context) error {
	return d.warmUp(ctx, one, d.accounts[:min(len(d.accounts), 100)])
}

// warmUp is warm with a task and accounts of its lane.
func (d *deployment) warmUp(ctx context.Context, handler string, accounts []int64) error {
	if err := d.startConsumer(ctx); err != nil {
		return err
	}
	run, err := d.order(ctx, handler, accounts)
	if err != nil {
		return err
	}
	return d.await(ctx, run, over)
}

// fanOut measures how long the fan-out to all accounts takes without consumers, from the order on.
func (d *deployment) fanOut(ctx context.Context) (map[string]float64, error) {
	began := clock.Mark()
	run, err := d.order(ctx, one, nil)
	if err != nil {
		return nil, err
	}
	if err := d.await(ctx, run, func(r ledger.Run) bool { return r.Total != nil }); err != nil {
		return nil, err
	}
	took := clock.Since(began)
	if err := d.startConsumer(ctx); err != nil {
		return nil, err
	}
	defer d.stopConsumer()
	if err := d.await(ctx, run, over); err != nil {
		return nil, err
	}
	return map[string]float64{"fan-out": took.Seconds()}, d.exact(ctx, run, d.o.accounts)
}

// latencyFor is how long the steady rate continues, after it has warmed up Kafka, whose code is compiled as it is used.
const (
	latencyFor     = 20 * time.Second
	latencyWarming = 5 * time.Second
)

// latency measures how long after its row was made a subtask starts, by the database's clock, at a steady rate.
func (d *deployment) latency(ctx context.Context) (map[string]float64, error) {
	if err := d.warm(ctx); err != nil {
		return nil, err
	}
	defer d.stopConsumer()
	run, err := d.order(ctx, paced, d.accounts[:min(len(d.accounts), latencyRate*int(latencyWarming.Seconds()))])
	if err != nil {
		return nil, err
	}
	if err := d.await(ctx, run, over); err != nil {
		return nil, err
	}
	n := min(len(d.accounts), latencyRate*int(latencyFor.Seconds()))
	run, err = d.order(ctx, paced, d.accounts[:n])
	if err != nil {
		return nil, err
	}
	if err := d.await(ctx, run, over); err != nil {
		return nil, err
	}
	var late []float64
	err = d.store.Data.Writer(ctx).Raw("SELECT TIMESTAMPDIFF(MICROSECOND, created_at, started_at) / 1000 AS late FROM "+
		ledger.LogTable(run)+
		" WHERE run_id = ? ORDER BY late", run).Scan(&late).Error
	if err != nil || len(late) != n {
		return nil, errors.Join(err, fmt.Errorf("%d of %d subtasks have started", len(late), n))
	}
	return map[string]float64{"latency-p50": late[n/2], "latency-p99": late[n*99/100]}, d.exact(ctx, run, n)
}

// heldMax is how many subtasks run while the memory is measured.
const heldMax = 10_000

// memory measures this process's memory (producer, consumer and the bench) while the given number of subtasks run.
func (d *deployment) memory(ctx context.Context) (map[string]float64, error) {
	n := min(len(d.accounts), heldMax)
	if err := d.resize(ctx, platform, n); err != nil {
		return nil, err
	}
	defer d.resize(ctx, platform, d.o.pool) //nolint:errcheck // The next measure would show it.
	if err := d.warm(ctx); err != nil {
		return nil, err
	}
	defer d.stopConsumer()
	run, err := d.order(ctx, held, d.accounts[:n])
	if err != nil {
		return nil, err
	}
	err = rig.Await(ctx, patience, "all are under way", func(context.Context) (bool, error) {
		return int(d.hold.under.Load()) == n, fmt.Errorf("%d of %d are", d.hold.under.Load(), n)
	})
	if err != nil {
		return nil, err
	}
	resident, err := residentMB(os.Getpid())
	d.hold.release()
	if err != nil {
		return nil, err
	}
	if err := d.await(ctx, run, over); err != nil {
		return nil, err
	}
	return map[string]float64{"memory": resident}, d.exact(ctx, run, n)
}

// resize changes the pool of a platform's lane, for the next consumer.
func (d *deployment) resize(ctx context.Context, of string, pool int) error {
	return d.store.Config.Writer(ctx).Exec("UPDATE lane SET pool_size = ? WHERE media = ?", pool, of).Error
}

// residentMB returns the resident memory of a process.
func residentMB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("the status of process %d has no VmRSS", pid)
}
