package publish

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/publishing"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
)

const (
	// partSweep begins the parts that sweep one destination each; its name follows.
	partSweep = "sweep/"
	// sweepMinute is the minute of each hour whose planning orders them. The usual crons have it.
	sweepMinute = 30
	// sweepAge is how old a leftover is at least. Then no try has it, even one that read the open files later.
	sweepAge = 24 * time.Hour
	// sweepMax is how long a sweep may take.
	sweepMax = 20 * time.Minute
)

// orderSweeps orders a sweep of each destination that is switched on, once an hour. moment is that of the planning. A
// sweep that is missed, or ordered twice, does no harm.
func (f files) orderSweeps(ctx context.Context, moment time.Time) error {
	if moment.Minute() != sweepMinute {
		return nil
	}
	destinations, err := f.Store.Destinations(ctx)
	if err != nil {
		return err
	}
	var parts []string
	for i := range destinations {
		if destinations[i].Enabled {
			parts = append(parts, partSweep+destinations[i].Name)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	taskID, err := f.taskID(ctx)
	if err != nil {
		return err
	}
	now := f.Clock.Now()
	return f.Store.AddOrder(ctx, ledger.RunOrder{RunID: task.NewRunID(now), TaskID: taskID, OrderedAt: now,
		Request: task.Order{Scope: task.ScopeAll, Parts: parts, Lane: Lane, By: FilesName}})
}

// sweep deletes the temporary files and unfinished uploads at a destination that belong to no open file and are older
// than sweepAge. It returns how many. It waits for a connection. Any other failure is left to the next sweep.
func (f files) sweep(ctx context.Context, name string) (int, error) {
	within, cancel := context.WithTimeout(ctx, sweepMax)
	defer cancel()
	swept, err := f.sweepOnce(within, name)
	_, deferred := errors.AsType[*media.DeferError](err)
	switch {
	case deferred || ctx.Err() != nil:
		return swept, err
	case err != nil:
		f.causes.Report(slog.LevelWarn, partSweep+name, "cannot sweep a destination of files", telemetry.OneCause(err),
			"destination", name)
	default:
		f.causes.Clear(partSweep + name)
	}
	if swept > 0 {
		f.Logger.Info("leftovers of files were deleted", "destination", name, "count", swept)
	}
	return swept, nil
}

func (f files) sweepOnce(ctx context.Context, name string) (int, error) {
	destination, err := f.Store.Destination(ctx, name)
	if errors.Is(err, sqldb.ErrNotFound) || err == nil && !destination.Enabled {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	config, err := PlaceConfig(f.Box, destination)
	if err != nil {
		return 0, err
	}
	now := f.Clock.Now()
	// The turn to try a destination again stays with its files.
	if state, _, err := f.Store.MayUseDestination(ctx, name, now, now); err != nil || !state.DownSince.IsZero() {
		return 0, err
	}
	open, err := f.openDeliveries(ctx, now)
	if err != nil {
		return 0, err
	}
	at := &delivery{files: f, p: &publishing.Publication{Destination: name, Delivery: task.NewRunID(now)}, config: config}
	if err := at.connect(ctx); err != nil {
		return 0, err
	}
	defer at.close(ctx)
	return at.place.Sweep(ctx, open)
}

// openDeliveries returns a function that reports whether a leftover of a delivery may still be needed. Delivery 0 is
// an unknown one. The open files of all destinations count: one destination may be a directory of another one.
func (f files) openDeliveries(ctx context.Context, now time.Time) (func(name string, delivery int64) bool, error) {
	files, err := f.Store.OpenFiles(ctx)
	if err != nil {
		return nil, err
	}
	young := task.FirstRunIDAt(now.Add(-sweepAge)) // Deliveries are numbered by time.
	return func(name string, delivery int64) bool {
		name = strings.TrimSuffix(name, manifestSuffix)
		if delivery >= young {
			return true
		}
		for i := range files {
			if delivery == files[i].Delivery && delivery != 0 || below(name, files[i].Name) || below(files[i].Name, name) {
				return true
			}
		}
		return false
	}, nil
}

// below reports whether a name is another one, or ends with a slash and it.
func below(name, end string) bool { return name == end || strings.HasSuffix(name, "/"+end) }
