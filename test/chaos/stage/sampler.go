package stage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/test/chaos/judge"
)

const (
	// SampleInterval is the usual time between samples.
	SampleInterval = 300 * time.Millisecond
	// hoursEvery is the number of samples between those that also read the hourly results, which are many rows.
	hoursEvery = 6
)

// Sampler reads the tables repeatedly, without a proxy, passes them to the judge, and writes down what changed.
type Sampler struct {
	db      *sql.DB
	every   time.Duration
	history *json.Encoder
	file    *os.File

	mu      sync.Mutex
	Watch   judge.Watch
	Samples int
	Missed  int
	Torn    int // snapshots that contradicted themselves while the next one did not
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// NewSampler opens the data database for a sampler that writes its history to a file.
func NewSampler(dsn, history string, every time.Duration) (*Sampler, error) {
	db, err := sql.Open("mysql", dsn+"?parseTime=true&timeout=2s&readTimeout=5s")
	if err != nil {
		return nil, err
	}
	file, err := os.Create(history)
	if err != nil {
		return nil, err
	}
	return &Sampler{db: db, every: every, file: file, history: json.NewEncoder(file)}, nil
}

// Start samples until Close.
func (s *Sampler) Start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.done.Go(func() {
		ticker := time.NewTicker(s.every)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := s.Sample(ctx, n%hoursEvery == 0); err != nil {
				s.mu.Lock()
				s.Missed++ // The database is under a fault, or a table was just created.
				s.mu.Unlock()
			}
		}
	})
}

// Pause stops the sampling until Start. The samples so far stay.
func (s *Sampler) Pause() {
	if s.cancel != nil {
		s.cancel()
	}
	s.done.Wait()
}

// Close ends the sampling and closes the history.
func (s *Sampler) Close() error {
	s.Pause()
	_ = s.db.Close()
	return s.file.Close()
}

// TornMost is how many torn snapshots of a scenario may come from MariaDB: none or one was seen. If counts were
// written in other transactions than their rows, far more of the hundreds of snapshots would be torn.
const TornMost = 2

// Sample takes one snapshot, and another at once if it contradicts itself. A snapshot of MariaDB may show a
// transaction and not the one before it that this one built on, when both are committed while it is being taken (see
// docs/reliability.md): the other does not.
func (s *Sampler) Sample(ctx context.Context, hours bool) error {
	snapshot, err := readSnapshot(ctx, s.db, hours)
	if err != nil {
		return err
	}
	torn := false
	if len(snapshot.Contradictions()) > 0 {
		if snapshot, err = readSnapshot(ctx, s.db, hours); err != nil {
			return err
		}
		torn = len(snapshot.Contradictions()) == 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if torn {
		s.Torn++
	}
	s.Samples++
	for _, change := range s.Watch.Observe(snapshot) {
		if err := s.history.Encode(change); err != nil {
			return err
		}
	}
	return nil
}

// reader reads rows of one snapshot and keeps the first error.
type reader struct {
	tx  *sql.Tx
	err error
}

func (r *reader) rows(ctx context.Context, each func(scan func(...any) error) error, query string) {
	if r.err != nil {
		return
	}
	rows, err := r.tx.QueryContext(ctx, query)
	if err != nil {
		r.err = err
		return
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			r.err = err
			return
		}
	}
	r.err = rows.Err()
}

// readSnapshot reads the tables in one transaction, so that they agree with each other.
func readSnapshot(ctx context.Context, db *sql.DB, hours bool) (judge.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return judge.Snapshot{}, err
	}
	defer func() { _ = tx.Rollback() }()
	s := judge.Snapshot{At: time.Now().UTC()}
	r := &reader{tx: tx}
	r.rows(ctx, func(scan func(...any) error) error { return scan(&s.Epoch) }, "SELECT epoch FROM leader WHERE id = 1")
	r.rows(ctx, func(scan func(...any) error) error {
		var t judge.Tick
		err := scan(&t.TaskID, &t.Planned, &t.RunID)
		s.Ticks = append(s.Ticks, t)
		return err
	}, "SELECT task_id, planned_at, run_id FROM tick")
	r.runs(ctx, &s)
	days := map[string]bool{}
	for _, run := range s.Runs {
		days[ledger.LogTable(run.ID)] = true
	}
	for table := range days {
		r.rows(ctx, func(scan func(...any) error) error {
			var row judge.Row
			var ended sql.NullTime
			err := scan(&row.RunID, &row.AccountID, &row.Part, &row.State, &row.Delivery, &row.Attempt, &row.Created, &ended,
				&row.Error)
			row.Ended = ended.Time
			s.Rows = append(s.Rows, row)
			return err
		}, "SELECT run_id, account_id, part, state, delivery, attempt, created_at, ended_at, error_text FROM "+table)
	}
	r.rows(ctx, func(scan func(...any) error) error {
		var d judge.Due
		err := scan(&d.RunID, &d.AccountID, &d.Part, &d.State, &d.Delivery)
		s.Due = append(s.Due, d)
		return err
	}, "SELECT run_id, account_id, part, state, delivery FROM subtask_due")
	r.results(ctx, &s, hours)
	return s, r.err
}

func (r *reader) runs(ctx context.Context, s *judge.Snapshot) {
	r.rows(ctx, func(scan func(...any) error) error {
		var run judge.Run
		var total sql.NullInt64
		var fannedOut, ended sql.NullTime
		var counts [5]int64
		err := scan(&run.ID, &run.TaskID, &run.TaskName, &run.Media, &run.Kind, &run.Planned, &run.State, &run.Epoch,
			&run.Cursor, &total,
			&counts[0], &counts[1], &counts[2], &counts[3], &counts[4], &run.Created, &fannedOut, &ended, &run.Error)
		if total.Valid {
			run.Total = &total.Int64
		}
		run.FannedOut, run.Ended = fannedOut.Time, ended.Time
		run.Counts = map[task.State]int64{}
		for i, state := range []task.State{task.Succeeded, task.Failed, task.Expired, task.Cancelled, task.Superseded} {
			if counts[i] != 0 {
				run.Counts[state] = counts[i]
			}
		}
		s.Runs = append(s.Runs, run)
		return err
	}, `SELECT id, task_id, task_name, media, kind, planned_at, state, epoch, fan_out_cursor, total,
  succeeded, failed, expired, cancelled, superseded, created_at, fanned_out_at, ended_at, error_text FROM run`)
}

func (r *reader) results(ctx context.Context, s *judge.Snapshot, hours bool) {
	s.Claims = map[judge.Scope]int64{}
	s.Daily = r.reports(ctx, "report_daily", "0")
	if hours {
		s.Hourly = r.reports(ctx, "report_hourly", "hour")
	}
	r.rows(ctx, func(scan func(...any) error) error {
		var k judge.Scope
		var version int64
		err := scan(&k.AccountID, &k.Report, &k.Level, &k.Day, &version)
		s.Claims[k] = version
		return err
	}, "SELECT account_id, report, level, DATE_FORMAT(day, '%Y-%m-%d'), claimed_version FROM coverage")
}

func (r *reader) reports(ctx context.Context, table, hour string) map[judge.Report]int64 {
	versions := map[judge.Report]int64{}
	r.rows(ctx, func(scan func(...any) error) error {
		var k judge.Report
		var version int64
		err := scan(&k.Day, &k.AccountID, &k.Level, &k.Object, &k.Hour, &version)
		versions[k] = version
		return err
	}, fmt.Sprintf("SELECT DATE_FORMAT(day, '%%Y-%%m-%%d'), account_id, level, object_id, %s, version FROM %s", hour,
		table))
	return versions
}
