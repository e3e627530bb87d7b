package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"adsync/base/sqldb"
	"adsync/test/chaos/levels"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
	"adsync/test/services/local"
)

const (
	lossEvery = 5 * time.Minute
	// downTime is about how long a lost process is down.
	downTime     = 15 * time.Second
	processEvery = 5 * time.Second
	tablesEvery  = 30 * time.Second
	// soakSamples is how often the tables are sampled for the judge: an hour's ledger is 70,000 rows.
	soakSamples = 15 * time.Second
	// soakDay is the part of the world's day that a soak may take.
	soakDay = 15 * time.Hour
)

// soakLeast and soakMost bound the minutes of a soak: one loss at least, and the world's day at its slowest.
const (
	soakLeast = 10
	soakMost  = 900
)

// soak is steady load for a time, during which one node after another is lost.
func soak(d time.Duration) scenario {
	return scenario{
		name: "soak", extra: d,
		doc: fmt.Sprintf(
			"steady load for %s, a node lost every %s: memory, goroutines, connections and tables stay level", d, lossEvery),
		sampleEvery: soakSamples,
		speed:       min(stage.UsualSpeed, int(soakDay/d)),
		before:      both(withBrokers, both(withSentinel, withPair)),
		steps: func(ctx context.Context, t *trial) error {
			watch := &soakWatch{t: t, began: time.Now()}
			background, stop := context.WithCancel(ctx)
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				watch.run(background)
			}()
			err := loseOneByOne(ctx, t, watch.began, d)
			stop()
			<-watched
			return errors.Join(err, watch.judge(d))
		},
	}
}

// loseOneByOne loses a node every five minutes, each kind of them in turn, the last one five minutes before the end.
func loseOneByOne(ctx context.Context, t *trial, began time.Time, d time.Duration) error {
	var turn []string
	for at := began.Add(lossEvery); at.Add(lossEvery).Sub(began) <= d; at = at.Add(lossEvery) {
		if err := t.wait(ctx, time.Until(at)); err != nil {
			return err
		}
		if len(turn) == 0 {
			turn = []string{"broker", "redis", "mariadb", "consumer", "leader"}
			t.random.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}
		t.log("lost now: %s", turn[0])
		if err := loseNode(ctx, t, turn[0]); err != nil {
			return fmt.Errorf("lose the %s: %w", turn[0], err)
		}
		turn = turn[1:]
	}
	return t.wait(ctx, time.Until(began.Add(d)))
}

// loseNode loses a node and returns when it is back, or another in its place. The first consumer is spared, so that
// one process is seen from the beginning to the end.
func loseNode(ctx context.Context, t *trial, which string) error {
	switch which {
	case "broker":
		return errors.Join(t.outage(ctx, t.anyBroker()), t.stack.Brokers.Await(ctx))
	case "redis":
		master, err := t.stack.Sentinel.Master(ctx)
		if err != nil {
			return err
		}
		return errors.Join(t.outage(ctx, master), t.stack.Sentinel.Await(ctx))
	case "mariadb":
		if err := t.stack.Pair.Promote(ctx); err != nil {
			return err
		}
		t.stack.Write(t.stack.Pair.Writer())
		t.strike("promotions", 1)
		return nil
	case "leader":
		leader, err := t.leader(ctx)
		if err != nil {
			return err
		}
		return loseProcess(ctx, t, leader)
	default:
		others := t.of("consumer")[1:]
		return loseProcess(ctx, t, others[t.random.IntN(len(others))])
	}
}

func loseProcess(ctx context.Context, t *trial, i *stage.Instance) error {
	if err := i.Kill(); err != nil {
		return err
	}
	t.strike("processes lost", 1)
	if err := t.wait(ctx, downTime); err != nil {
		return err
	}
	return i.StartReady(ctx)
}

// soakWatch records the figures that must stay level.
type soakWatch struct {
	t      *trial
	began  time.Time
	levels levels.Levels
	missed int // how often some figures could not be read, since a node was lost
}

func (w *soakWatch) run(ctx context.Context) {
	processes, tables := time.NewTicker(processEvery), time.NewTicker(tablesEvery)
	defer processes.Stop()
	defer tables.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-processes.C:
			for _, i := range w.t.instances {
				err = errors.Join(err, w.noteProcess(ctx, i))
			}
		case <-tables.C:
			err = errors.Join(w.noteTables(ctx, w.t.database("config")), w.noteTables(ctx, w.t.database("data")),
				w.noteConnections(ctx))
		}
		if err != nil {
			w.missed++
		}
	}
}

// processFigures are the metrics of a process that must stay level.
var processFigures = []struct {
	metric, name string
	kind         levels.Kind
}{
	{"go_memstats_heap_alloc_bytes", "heap", levels.Memory},
	{"process_resident_memory_bytes", "resident memory", levels.Memory},
	{"go_goroutines", "goroutines", levels.Count},
	{"process_open_fds", "open files and connections", levels.Count},
}

// noteProcess records a process's metrics. Each of its restarts begins a new series, and so does each time in which it
// leads: a leader holds more than a standby.
func (w *soakWatch) noteProcess(ctx context.Context, i *stage.Instance) error {
	if !i.Alive() {
		return nil
	}
	who := fmt.Sprintf("%s, start %d", i.Name, i.Lives())
	_, text, err := rig.Get(ctx, i.Api+"/metrics")
	if err != nil {
		return err
	}
	if leads(text) {
		who += ", leading"
	}
	at := time.Since(w.began)
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		metric, figure, _ := strings.Cut(lines.Text(), " ")
		for _, f := range processFigures {
			if f.metric != metric {
				continue
			}
			value, err := strconv.ParseFloat(figure, 64)
			if err != nil {
				return fmt.Errorf("metric %s of %s: %w", metric, i.Name, err)
			}
			w.levels.Note(who+": "+f.name, f.kind, at, value)
		}
	}
	return nil
}

// ledgers are the tables that grow as time goes by, until their days are pruned.
var ledgers = []string{"run", "tick", "manual_order", "audit_log"}

// growsByTruth names the tables that grow with the data: the subtasks of the day, the hours of the world's day and its
// changes. The judge compares them row by row.
func growsByTruth(table string) bool {
	return strings.HasPrefix(table, sqldb.LogTablePrefix) || strings.HasPrefix(table, sqldb.FailureTablePrefix) ||
		strings.HasSuffix(table, "_hourly") || table == "config_change"
}

// noteTables notes the rows and the bytes of each table of a database.
func (w *soakWatch) noteTables(ctx context.Context, database string) error {
	rows, err := w.t.stack.DB.QueryContext(ctx,
		"SELECT name, file_size FROM information_schema.innodb_sys_tablespaces WHERE name LIKE ?", database+"/%")
	if err != nil {
		return err
	}
	defer rows.Close()
	sizes := map[string]int64{} // by table, all its partitions
	for rows.Next() {
		var file string
		var size int64
		if err := rows.Scan(&file, &size); err != nil {
			return err
		}
		table, _, _ := strings.Cut(strings.TrimPrefix(file, database+"/"), "#")
		sizes[table] += size
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for table, size := range sizes {
		if growsByTruth(table) {
			continue
		}
		var count int64
		if err := w.t.stack.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+database+"."+table).Scan(&count); err != nil {
			return err
		}
		at, kind := time.Since(w.began), levels.Rows
		if slices.Contains(ledgers, table) {
			kind = levels.Growth
		} else {
			w.levels.Note(table+": bytes", levels.Bytes, at, float64(size))
		}
		w.levels.Note(table+": rows", kind, at, float64(count))
	}
	return nil
}

// noteConnections records the connections of the servers, and the memory and keys of Redis.
func (w *soakWatch) noteConnections(ctx context.Context) error {
	var name string
	var connections int
	if err := w.t.stack.DB.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name,
		&connections); err != nil {
		return err
	}
	w.levels.Note("MariaDB: connections", levels.Count, time.Since(w.began), float64(connections))
	master, err := w.t.stack.Sentinel.Master(ctx)
	if err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: master.Kind.(*local.Redis).Addr()})
	defer client.Close()
	keys, err := client.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	info, err := client.InfoMap(ctx, "clients", "memory").Result()
	if err != nil {
		return err
	}
	clients, err := strconv.ParseFloat(info["Clients"]["connected_clients"], 64)
	if err != nil {
		return err
	}
	memory, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
	if err != nil {
		return err
	}
	at := time.Since(w.began)
	w.levels.Note("Redis: connections", levels.Count, at, clients)
	w.levels.Note("Redis: keys", levels.Rows, at, float64(keys))
	w.levels.Note("Redis: memory", levels.Memory, at, memory)
	return nil
}

// judge writes all verdicts down and reports the figures that rise.
func (w *soakWatch) judge(d time.Duration) error {
	lines := w.levels.Judge(d)
	seen := 0
	for _, l := range lines {
		switch l.Verdict {
		case levels.Rises:
			w.t.complain("%s rises from %.0f to %.0f (%s)", l.Name, l.First, l.Last, l.Kind)
			seen++
		case levels.Level:
			seen++
		}
	}
	w.t.log("%d figures were watched, %d of them for long enough to be judged; some could not be read %d times",
		len(lines), seen, w.missed)
	if seen == 0 {
		w.t.void("no figure was watched for long enough to be level: want more minutes")
	}
	return w.t.writeJSON("levels.json", lines)
}
