package publishing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"adsync/base/day"
	"adsync/base/store/ledger"
	"adsync/base/store/publishing"
	"adsync/base/task"
	"adsync/publish"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

// All are the scenarios.
var All = []Scenario{
	{
		Name: "publish-killed",
		Doc: "kill -9 of a consumer at each step of a file: rendered, uploaded, verified, with its name, with its " +
			"manifest; in a directory and in S3",
		steps: killAtEachStep,
	},
	{
		Name: "publish-paused-before-rename",
		Doc: "SIGSTOP of a consumer just before it gives a file its name, until its successor has published newer " +
			"figures and a newer revision; then SIGCONT within its deadline",
		steps: func(ctx context.Context, d *desk) error {
			for _, kind := range []string{onDir, onS3, onSFTP} {
				if err := pauseBeforeName(ctx, d, kind, 0); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name: "publish-paused-three-deadlines", Long: true, Extra: 4 * time.Minute, timeout: 45 * time.Second,
		Doc: "the same pause, for three times the deadline of a try: in a directory before the rename, in S3 before the " +
			"completion",
		steps: func(ctx context.Context, d *desk) error {
			for _, kind := range []string{onDir, onS3} {
				if err := pauseBeforeName(ctx, d, kind, 3*45*time.Second); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name: "publish-paused-before-upload",
		Doc: "SIGSTOP of a consumer that has rendered a file, until its successor has published newer figures; then " +
			"SIGCONT: the older rendering is not uploaded",
		steps: pauseBeforeUpload,
	},
	{
		Name: "publish-two-tries",
		Doc: "SIGSTOP of a consumer before its last look at a row; its successor takes the row over and uploads newer " +
			"figures; then SIGCONT: the older file does not get the name",
		steps: twoTries,
	},
	{
		Name: "publish-part-file",
		Doc: "two consumers are killed with different renderings of one file, and the first one returns and completes " +
			"it: it uploads what the row describes",
		steps: partFile,
	},
	{
		Name: "publish-overtaken",
		Doc: "a consumer is slow with a revision, and the next revision is published meanwhile: the older one does not " +
			"replace it",
		steps: overtaken,
	},
	{
		Name: "publish-connection-cut",
		Doc: "servers cut the connection in the middle of a file, and after a rename before its answer; one loses the " +
			"end of the files",
		steps: cutConnections,
	},
	{
		Name: "publish-server-refuses",
		Doc: "servers are full, or read-only, or confirm files and keep half of them, or keep zeroes instead of their " +
			"second half",
		steps: refusals,
	},
	{
		Name:  "publish-server-away",
		Doc:   "all servers are away for the first three waits of their files, 7 minutes, whose ends are moved earlier",
		steps: serversAway,
	},
	{
		Name:  "publish-source-changes",
		Doc:   "all figures of a day change all the time while its files are made: each file has those of one moment",
		steps: changeFigures,
	},
	{
		Name: "publish-ordered-thrice",
		Doc: "the same files are ordered three times at once, and then the same revision's subtask in three runs at " +
			"once",
		steps: orderThrice,
	},
}

func killAtEachStep(ctx context.Context, d *desk) error {
	points := []string{"publish.rendered", "publish.uploaded", "publish.verified", "publish.revealed", "publish.manifest"}
	for _, n := range d.random.Perm(len(points)) {
		for _, kind := range []string{onDir, onS3} {
			on, err := d.fresh(ctx, usualRows)
			if err != nil {
				return err
			}
			if _, err := d.orderAt(ctx, kind, on, points[n], "kill"); err != nil {
				return err
			}
			// The next order's point must not strike in the retry of this file: a subtask that ends three processes fails.
			if err := d.settle(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// pauseBeforeName pauses a consumer for at least a time, and until a newer revision is published.
func pauseBeforeName(ctx context.Context, d *desk, kind string, least time.Duration) error {
	on, err := d.fresh(ctx, usualRows)
	if err != nil {
		return err
	}
	held, err := d.orderAt(ctx, kind, on, "publish.verified", "stop")
	if err != nil {
		return err
	}
	defer held.Resume()
	began := time.Now()
	if err := errors.Join(d.revise(ctx, on), d.awaitPublished(ctx, kind, on, 1), d.revise(ctx, on),
		d.deliver(ctx, kind, on, 2)); err != nil {
		return err
	}
	if err := wait(ctx, least-time.Since(began)); err != nil {
		return err
	}
	d.Log("%s continues after %.0f s", held.Name, time.Since(began).Seconds())
	held.Resume()
	return d.rest(ctx, held)
}

// rest waits until a consumer that was held works again, and has ended what it held.
func (d *desk) rest(ctx context.Context, held *stage.Instance) error {
	return errors.Join(held.AwaitReady(ctx), wait(ctx, 3*time.Second))
}

func pauseBeforeUpload(ctx context.Context, d *desk) error {
	for _, kind := range []string{onDir, onS3, onSFTP} {
		on, err := d.fresh(ctx, usualRows)
		if err != nil {
			return err
		}
		held, err := d.orderAt(ctx, kind, on, "publish.rendered", "stop")
		if err != nil {
			return err
		}
		err = errors.Join(d.revise(ctx, on), d.awaitPublished(ctx, kind, on, 1))
		held.Resume()
		if err := errors.Join(err, d.rest(ctx, held)); err != nil {
			return err
		}
	}
	return nil
}

func twoTries(ctx context.Context, d *desk) error {
	const held = 12 * time.Second
	for _, kind := range []string{onDir, onSFTP} {
		on, err := d.fresh(ctx, usualRows)
		if err != nil {
			return err
		}
		first, err := d.orderAt(ctx, kind, on, "publish.discarded", "stop")
		if err != nil {
			return err
		}
		err = d.revise(ctx, on)
		if err == nil {
			_, err = d.armAny(ctx, "publish.uploaded", "wait "+held.String(), d.others(first))
		}
		first.Resume()
		if err != nil {
			return err
		}
		p, _, err := d.file(ctx, kind, on, 1)
		if err != nil {
			return err
		}
		for until := time.Now().Add(held - 4*time.Second); time.Now().Before(until); {
			files, err := d.shelves[kind].files()
			if err != nil {
				return err
			}
			if _, visible := files[p.Name]; visible {
				d.tell(judge.Fence, "%s: a try that lost its row gave %s its name", kind, p.Name)
			}
			if err := wait(ctx, watchInterval); err != nil {
				return err
			}
		}
		// The first try has ended the subtask. If the rebalance has ended the second try too, the file is ordered again.
		if err := d.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

func partFile(ctx context.Context, d *desk) error {
	all := d.of("consumer")
	if err := all[2].Stop(); err != nil {
		return err
	}
	on, err := d.fresh(ctx, usualRows)
	if err != nil {
		return err
	}
	first, err := d.orderAt(ctx, onDir, on, "publish.rendered", "wait 1m")
	if err != nil {
		return err
	}
	if err := errors.Join(first.Kill(), d.revise(ctx, on)); err != nil {
		return err
	}
	second, err := d.armAny(ctx, "publish.uploaded", "wait 1m", d.others(first)[:1])
	if err != nil {
		return err
	}
	return errors.Join(second.Kill(), first.StartReady(ctx), d.awaitPublished(ctx, onDir, on, 1))
}

func overtaken(ctx context.Context, d *desk) error {
	for _, kind := range []string{onDir, onS3} {
		on, err := d.fresh(ctx, usualRows)
		if err != nil {
			return err
		}
		if _, err := d.orderAt(ctx, kind, on, "publish.rendered", "wait 15s"); err != nil {
			return err
		}
		if err := errors.Join(d.revise(ctx, on), d.deliver(ctx, kind, on, 2)); err != nil {
			return err
		}
		if err := d.awaitFile(ctx, kind, on, 1, "over",
			func(p publishing.Publication) bool { return !p.State.Open() }); err != nil {
			return err
		}
	}
	return nil
}

// eachServed orders a file at each server with a fault, waits until each fault has struck, ends them, and waits until
// the files are published.
func eachServed(ctx context.Context, d *desk, fault string, begin func(*shelf), kinds ...string) error {
	on, err := d.fresh(ctx, usualRows)
	if err != nil {
		return err
	}
	before := map[string]int{}
	for _, kind := range kinds {
		before[kind] = d.shelves[kind].struck()
		begin(d.shelves[kind])
		if err := d.order(ctx, kind, on); err != nil {
			return err
		}
	}
	err = rig.Await(ctx, stage.Patience, "each server was "+fault, func(context.Context) (bool, error) {
		for _, kind := range kinds {
			if d.shelves[kind].struck() == before[kind] {
				return false, nil
			}
		}
		return true, nil
	})
	if err == nil {
		err = wait(ctx, 2*time.Second) // Some files fail meanwhile.
	}
	d.Log("the servers were %s", fault)
	for _, kind := range kinds {
		d.shelves[kind].faults.end()
	}
	return errors.Join(err, d.settle(ctx))
}

func cutConnections(ctx context.Context, d *desk) error {
	return errors.Join(
		eachServed(ctx, d, "cut in a file", func(s *shelf) { s.faults.cutUpload.Store(true) }, served...),
		eachServed(ctx, d, "cut before an answer", func(s *shelf) { s.faults.cutRename.Store(true) }, served...),
		eachServed(ctx, d, "losing ends", func(s *shelf) { s.faults.losesTail.Store(true) }, onFTPS),
	)
}

func refusals(ctx context.Context, d *desk) error {
	var errs []error
	for _, f := range []struct {
		name string
		of   func(*faults) *atomic.Bool
	}{
		{"full", func(f *faults) *atomic.Bool { return &f.full }},
		{"read-only", func(f *faults) *atomic.Bool { return &f.readOnly }},
		{"losing halves", func(f *faults) *atomic.Bool { return &f.halves }},
		{"writing zeroes", func(f *faults) *atomic.Bool { return &f.zeroes }},
	} {
		errs = append(errs, eachServed(ctx, d, f.name, func(s *shelf) { f.of(s.faults).Store(true) }, served...))
	}
	return errors.Join(errs...)
}

// waits is how many times a file tries a destination that is away: after 1, 2 and 4 minutes, whose ends are moved.
const waits = 3

func serversAway(ctx context.Context, d *desk) error {
	on, err := d.fresh(ctx, usualRows)
	if err != nil {
		return err
	}
	for _, kind := range served {
		d.shelves[kind].away()
		if err := d.order(ctx, kind, on); err != nil {
			return err
		}
	}
	for n := 1; n <= waits; n++ {
		err := rig.Await(ctx, stage.Patience, fmt.Sprintf("each server was away %d times", n),
			func(ctx context.Context) (bool, error) {
				states, err := d.store.DestinationStates(ctx)
				for _, kind := range served {
					if states[kind].Tries < n {
						// The row of a wait may be written after that of the destination.
						return false, errors.Join(err, d.hurry(ctx))
					}
				}
				return true, err
			})
		if err != nil {
			return err
		}
	}
	for _, kind := range served {
		d.shelves[kind].faults.end()
	}
	return d.settle(ctx)
}

func changeFigures(ctx context.Context, d *desk) error {
	const rows, revisions = 50_000, 3
	on, err := d.fresh(ctx, rows)
	if err != nil {
		return err
	}
	changing, stop := context.WithCancel(ctx)
	defer stop()
	changed := make(chan error, 1)
	go func() {
		for changing.Err() == nil {
			if err := d.revise(changing, on); err != nil && changing.Err() == nil {
				changed <- err
				return
			}
			d.strike("changes", 1)
		}
		changed <- nil
	}()
	kinds := append([]string{onDir}, served...)
	for n := 1; n <= revisions; n++ {
		for _, kind := range kinds {
			if err := d.deliver(ctx, kind, on, n); err != nil {
				return err
			}
		}
	}
	stop()
	if err := <-changed; err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := d.deliver(ctx, kind, on, revisions+1); err != nil {
			return err
		}
	}
	return nil
}

func orderThrice(ctx context.Context, d *desk) error {
	on, err := d.fresh(ctx, usualRows)
	if err != nil {
		return err
	}
	kinds := append([]string{onDir}, served...)
	var wg sync.WaitGroup
	errs := make([]error, 3*len(kinds))
	for n := range errs {
		api := d.of("producer")[n%2].Api
		wg.Go(func() {
			errs[n] = rig.Send(ctx, "POST", api+"/api/v1/subscriptions/"+kinds[n/3]+"/publications",
				map[string]any{"from": on, "to": on}, nil)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	d.strike("orders", len(errs))
	if err := d.settle(ctx); err != nil {
		return err
	}
	if on, err = d.fresh(ctx, usualRows); err != nil {
		return err
	}
	return d.runThrice(ctx, kinds, on)
}

// runThrice orders a file of each kind, and two more runs of each of its subtasks.
func (d *desk) runThrice(ctx context.Context, kinds []string, on day.Day) error {
	var taskID int64
	if err := d.store.Config.Writer(ctx).Raw("SELECT id FROM cron_task WHERE name = ?",
		publish.FilesName).Row().Scan(&taskID); err != nil {
		return err
	}
	var parts []string
	for _, kind := range kinds {
		if err := d.order(ctx, kind, on); err != nil {
			return err
		}
		parts = append(parts, kind+"/"+string(on)+"/r1")
	}
	now, err := d.Stack.Now(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		order := ledger.RunOrder{RunID: task.NewRunID(now), TaskID: taskID, OrderedAt: now,
			Request: task.Order{Scope: task.ScopeAll, Lane: publish.Lane, Parts: parts, By: "chaos"}}
		if err := d.store.AddOrder(ctx, order); err != nil {
			return err
		}
		d.strike("runs", 1)
	}
	return d.settle(ctx)
}
