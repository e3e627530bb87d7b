package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/service"
	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/base/task"
	"adsync/media"
	"adsync/publish"
)

// The jobs of processes.
const (
	jobDrain = "drain" // reads the query of the CSV file
	jobWrite = "write" // writes as many bytes
	jobCSV   = "csv"
	jobXLSX  = "xlsx"
	jobMix   = "mix"
)

const (
	// workers are the subtasks that the lane files runs at a time, as shipped.
	workers = 8
	// writeBuffer is how much is written at a time, as by the rendering.
	writeBuffer = 1 << 20
)

// figuresOf are what a job found out.
type figuresOf struct {
	Seconds float64 `json:"seconds"` // until it was drained, written or rendered
	Deliver float64 `json:"deliver"` // from then until the file was published
	Small   float64 `json:"small"`   // until the last small file was published
	Bytes   int64   `json:"bytes"`   // of the large file
	Rows    int64   `json:"rows"`
	// ResidentMB is the process's largest resident memory.
	ResidentMB float64 `json:"-"`
}

// do runs a job in a process of its own.
func (d *deployment) do(ctx context.Context, job string) (f figuresOf, err error) {
	program, err := os.Executable()
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, program, "-job", job, "-dsn", d.mariadb.DSN(), "-dir", d.o.dir,
		"-csv-rows", strconv.Itoa(d.o.csvRows), "-xlsx-rows", strconv.Itoa(d.o.xlsxRows), "-small", strconv.Itoa(d.o.small))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return f, fmt.Errorf("the process for %s: %w", job, err)
	}
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		return f, err
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		f.ResidentMB = float64(usage.Maxrss) / 1024
	}
	d.say("%s: %+v", job, f)
	return f, nil
}

// work does this process's job and prints its figures.
func work(ctx context.Context, o options) error {
	service.GrowHeap()
	var f figuresOf
	var err error
	switch o.job {
	case jobDrain:
		f, err = drain(ctx, o.dsn)
	case jobWrite:
		f, err = write(o)
	case jobCSV:
		f, err = deliver(ctx, o, csvFile, 0)
	case jobXLSX:
		f, err = deliver(ctx, o, xlsxFile, 0)
	case jobMix:
		f, err = deliver(ctx, o, csvFile, o.small)
	default:
		return fmt.Errorf("-job %s is none", o.job)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(os.Stdout, text(f))
	return err
}

// drain reads all values of the CSV file's query and does nothing with them.
func drain(ctx context.Context, dsn string) (f figuresOf, err error) {
	db, err := sqldb.OpenReadOnly(sqldb.MySQL, secret.NewText(dsn+"data"), time.Hour, 1)
	if err != nil {
		return f, err
	}
	defer db.Close()
	began := clock.Mark()
	rows, err := db.QueryContext(ctx, statement(csvQuery, large))
	if err != nil {
		return f, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return f, err
	}
	raw, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range raw {
		into[i] = &raw[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return f, err
		}
		f.Rows++
		for _, value := range raw {
			f.Bytes += int64(len(value)) + 1
		}
	}
	f.Seconds = clock.Since(began).Seconds()
	return f, rows.Err()
}

// rowBytes is the length of the line that is written repeatedly.
const rowBytes = 400

// write writes as many bytes as the CSV file has, and waits until they are on the disk.
func write(o options) (f figuresOf, err error) {
	name := filepath.Join(o.dir, "written")
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	began := clock.Mark()
	file, err := os.Create(name)
	if err != nil {
		return f, err
	}
	defer file.Close()
	line := append(bytes.Repeat([]byte{'7'}, rowBytes-1), '\n')
	buffer := bufio.NewWriterSize(file, writeBuffer)
	for range o.csvRows {
		if _, err := buffer.Write(line); err != nil {
			return f, err
		}
	}
	if err := errors.Join(buffer.Flush(), file.Sync()); err != nil {
		return f, err
	}
	f.Seconds, f.Bytes = clock.Since(began).Seconds(), int64(o.csvRows)*rowBytes
	return f, nil
}

// deliver makes the large file of a subscription as a consumer does, and next to it small files.
func deliver(ctx context.Context, o options, subscription string, small int) (f figuresOf, err error) {
	s, err := openStore(ctx, o.dsn)
	if err != nil {
		return f, err
	}
	defer func() { _ = s.Close() }()
	db, err := sqldb.OpenReadOnly(sqldb.MySQL, secret.NewText(o.dsn+"data"), time.Hour, 2*workers)
	if err != nil {
		return f, err
	}
	defer db.Close()
	spool, err := publish.OpenSpool(filepath.Join(o.dir, "parts"), math.MaxInt64)
	if err != nil {
		return f, err
	}
	box, err := secret.NewBox(secret.NewKey("bench"))
	if err != nil {
		return f, err
	}
	handler := publish.Handler(publish.Deps{Store: s, Database: publish.Database{DB: db, Dialect: s.Data.Dialect()},
		Box: box, Clock: clock.System{}, Spool: spool, LargeBytes: math.MaxInt64, Node: "bench",
		Logger: slog.New(slog.DiscardHandler)})
	files := []publishing.Publication{planned(subscription, large, 1)}
	for n := range small {
		files = append(files, planned(smallFile, large.Add(-1-n), int64(n+1)))
	}
	if _, err := s.PlanFiles(ctx, files); err != nil {
		return f, err
	}
	began := clock.Mark()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return handle(ctx, handler, &files[0]) })
	next := make(chan int, small)
	for n := range small {
		next <- n + 1
	}
	close(next)
	var arrived [workers]time.Duration
	for w := range workers {
		group.Go(func() error {
			for n := range next {
				if err := handle(ctx, handler, &files[n]); err != nil {
					return err
				}
				arrived[w] = clock.Since(began)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return f, err
	}
	for _, at := range arrived {
		f.Small = max(f.Small, at.Seconds())
	}
	err = published(context.WithoutCancel(ctx), s, files, began, &f)
	return f, err
}

// planned returns the row of a file.
func planned(subscription string, on day.Day, sequence int64) publishing.Publication {
	now := clock.System{}.Now()
	return publishing.Publication{ID: task.NewRunID(now), Subscription: subscription, FromDay: on, ToDay: on, Revision: 1,
		Sequence: sequence, Destination: depot, State: publishing.Planned, PlannedAt: now, UpdatedAt: now}
}

func handle(ctx context.Context, handler media.Handler, p *publishing.Publication) error {
	work := media.Work{Params: json.RawMessage(`{}`)}
	work.Part = p.Part()
	_, err := handler.Run(ctx, work)
	if err != nil {
		return fmt.Errorf("make %s: %w", p.Part(), err)
	}
	return nil
}

// published reads what became of the files, and fails unless all are published.
func published(ctx context.Context, s interface {
	File(ctx context.Context, id int64) (publishing.Publication, error)
}, files []publishing.Publication, began time.Time, f *figuresOf) error {
	for i := range files {
		p, err := s.File(ctx, files[i].ID)
		if err != nil {
			return err
		}
		if p.State != publishing.Published {
			return fmt.Errorf("%s is %s: %s", p.Part(), p.State, p.ErrorText)
		}
		if i == 0 {
			f.Seconds, f.Deliver = p.RenderedAt.Sub(began).Seconds(), p.PublishedAt.Sub(p.RenderedAt).Seconds()
			f.Bytes, f.Rows = *p.ByteSize, *p.RowCount
		}
	}
	return nil
}
