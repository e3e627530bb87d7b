package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"adsync/base/clock"
	"adsync/base/store/ledger"
)

// dayRuns is how many runs of a day are open at the same time.
const dayRuns = 4

// day measures how long a whole day's subtasks take, run after run, and how much disk they use.
func (d *deployment) day(ctx context.Context) (map[string]float64, error) {
	if err := d.warm(ctx); err != nil {
		return nil, err
	}
	defer d.stopConsumer()
	before, err := d.onDisk()
	if err != nil {
		return nil, err
	}
	each := d.o.accounts * d.o.parts
	var runs []int64
	began := clock.Mark()
	for done := 0; done*each < d.o.day; done++ {
		for len(runs) < done+dayRuns && len(runs)*each < d.o.day {
			run, err := d.order(ctx, noop, nil)
			if err != nil {
				return nil, err
			}
			runs = append(runs, run)
		}
		if err := d.await(ctx, runs[done], over); err != nil {
			return nil, err
		}
	}
	took := clock.Since(began)
	after, err := d.onDisk()
	if err != nil {
		return nil, err
	}
	rows := map[string]int{}
	for _, run := range runs {
		if err := d.exact(ctx, run, each); err != nil {
			return nil, err
		}
		rows[ledger.LogTable(run)] += each
	}
	all := float64(len(runs) * each)
	values := map[string]float64{"day": took.Minutes(), "day-rate": all / took.Seconds()}
	for who, bytes := range after {
		values["day-disk-"+who] = float64(bytes-before[who]) / all
	}
	return values, d.nothingElse(ctx, rows)
}

// nothingElse checks that only the runs' rows in the log tables are left, each once.
func (d *deployment) nothingElse(ctx context.Context, rows map[string]int) error {
	rows["subtask_due"], rows["subtask_dead"] = 0, 0
	for table, want := range rows {
		query := "SELECT COUNT(*) FROM " + table
		if table != "subtask_due" && table != "subtask_dead" {
			query += " l JOIN run r ON r.id = l.run_id AND r.task_name = '" + noop + "'"
		}
		var n int
		if err := d.store.Data.Writer(ctx).Raw(query).Row().Scan(&n); err != nil {
			return err
		}
		if n != want {
			return fmt.Errorf("%s has %d rows, want %d", table, n, want)
		}
	}
	return nil
}

// onDisk returns how many bytes each server keeps on disk.
func (d *deployment) onDisk() (map[string]int64, error) {
	all := map[string]int64{}
	for _, s := range d.servers {
		err := filepath.WalkDir(filepath.Join(d.o.dir, s.Name()), func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // Servers remove files while one looks.
			}
			if info, err := entry.Info(); err == nil {
				all[s.Name()] += info.Size()
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
