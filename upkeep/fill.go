package upkeep

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/day"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/media"
)

// The tables should hold what the tasks of cron_task pull: for each report and level, as many days back as the task
// that looks back furthest, and the accounts in that task's scope. A day that coverage does not mark complete, or
// that was last pulled before it had settled, is a hole. Fill finds holes and orders runs of those tasks for exactly
// these accounts and days.

const (
	// FillMaxDefault is the most subtasks of one platform that a pass orders.
	FillMaxDefault = 2000
	fillMax        = 100_000

	// settledHour is the hour of the next day, in the account's zone, at which platforms state that a day's figures are
	// complete.
	settledHour = 8
	// fillGrace is the time after settledHour during which the night's tasks may still pull the day.
	fillGrace = 3 * time.Hour

	// A hole is not ordered again before firstGap has passed. The gap doubles with each order.
	firstGap = time.Hour
	lastGap  = 24 * time.Hour
	// holesKept is how long ordered holes are remembered.
	holesKept = 8 * 24 * time.Hour

	// fillPage is how many accounts are checked together.
	fillPage = 2000
	// holesPage is how many accounts with missing days have these days read together. A pass holds no more than this and
	// its orders: 500 accounts × 30 days × 100 bytes, and as much for each open run of the tasks.
	holesPage = 500
	// orderAccounts is the most accounts that one order names: every read of its run's row returns them.
	orderAccounts = 500
	openRunsMax   = 200
)

// FillName is the handler that fills holes, and the name under which its runs are ordered.
const FillName = Name + ".fill"

// fill is the kind system.fill.
type fill struct{ Deps }

// fillParams are the params of system.fill.
type fillParams struct {
	// MaxSubtasks is the most subtasks of each platform that a pass orders, open ones of earlier passes included; 0 means
	// FillMaxDefault.
	MaxSubtasks int `json:"max_subtasks"`
	// Spare makes fills use only the part of the platforms' limits that no other work wants.
	Spare bool `json:"spare"`
}

func (fill) Name() string { return FillName }

func (fill) Check(params *fillParams) error {
	if params.MaxSubtasks < 0 || params.MaxSubtasks > fillMax {
		return fmt.Errorf("params.max_subtasks: %d is refused: want 0 to %d", params.MaxSubtasks, fillMax)
	}
	params.MaxSubtasks = cmp.Or(params.MaxSubtasks, FillMaxDefault)
	return nil
}

func (f fill) Parts(plan media.Plan, _ fillParams) ([]string, error) {
	return names(f.Platforms), refuseDays(plan)
}

func (f fill) Run(ctx context.Context, work media.Work, params fillParams) (media.Result, error) {
	platform, err := platformOf(f.Deps, work.Part)
	if err != nil {
		return media.Result{}, err
	}
	found, err := Fill(ctx, f.Store, platform, f.Clock.Now(),
		FillOptions{MaxSubtasks: params.MaxSubtasks, Spare: params.Spare, Order: true, By: FillName,
			Under: &task.Under{Key: work.Key}})
	if err != nil {
		return media.Result{}, err
	}
	result := media.Result{}
	for _, h := range found {
		result.Rows += h.OrderedHoles
		if h.Ordered > 0 {
			f.Logger.Info("ordered fills", "task", h.Task, "holes", h.OrderedHoles, "subtasks", h.Ordered,
				"runs", len(h.RunIDs), "holes_left", h.Holes-h.OrderedHoles)
		}
	}
	return result, nil
}

// FillOptions says what Fill does with the holes that it finds.
type FillOptions struct {
	// Order makes Fill order runs; without it, Fill writes nothing.
	Order bool
	// Ordering, if not nil, is called before each order. Its error ends the pass.
	Ordering func() error
	// MaxSubtasks is the most subtasks to order. For FillName, open subtasks of its earlier orders count.
	MaxSubtasks int
	Spare       bool        // as in the task's params
	By          string      // FillName or a person
	Under       *task.Under // the subtask that orders; nil for a person
}

// Filling is the holes of one report and level that one task can fill.
type Filling struct {
	TaskID        int64
	Task          string
	Report, Level string
	// The holes that can be ordered now.
	Holes, Subtasks, Accounts int
	From, To                  day.Day // the first and the last of the holes
	// Waiting counts further holes, which are left alone: their work is under way or was ordered recently.
	Waiting int
	// What was ordered.
	Ordered, OrderedHoles int
	RunIDs                []int64
}

// FillStore is what Fill needs of the store.
type FillStore interface {
	ReachStore
	WaitingOrders(ctx context.Context, taskIDs []int64) (map[int64]string, error)
	OpenRuns(ctx context.Context, taskIDs []int64, limit int) ([]ledger.Run, error)
	OpenSubtasksOfAccounts(ctx context.Context, runIDs, accountIDs []int64) (map[ledger.AccountPart][]ledger.OpenSubtask,
		error)
	FillAccounts(ctx context.Context, media string, after int64, limit int) ([]results.FillAccount, error)
	AccountsWithHoles(ctx context.Context, accountIDs []int64, c results.Calendar) ([]int64, error)
	Holes(ctx context.Context, accountIDs []int64, c results.Calendar) ([]results.Hole, error)
	OrderHoles(ctx context.Context, o results.HoleOrder) ([]int64, error)
}

// Fill finds the holes of a platform and, with Order, orders runs for them. Reports and levels whose tasks have the
// most important lane come first, then the oldest days, which leave the tasks' reach next. Fill holds at most two
// pages of accounts and its orders in memory. Two concurrent calls never order the same hole. The result is ordered
// by importance. With an error, it contains what was ordered before the error.
func Fill(ctx context.Context, s FillStore, platform media.Platform, now time.Time, o FillOptions) ([]Filling, error) {
	scopes, err := fillScopes(ctx, s, platform)
	if err != nil {
		return nil, err
	}
	f := &filler{store: s, media: platform.Name(), now: now, FillOptions: o, budget: o.MaxSubtasks}
	if err := f.readOpen(ctx, scopes); err != nil {
		return nil, err
	}
	var all []Filling
	for _, scope := range scopes {
		found, err := f.fill(ctx, scope)
		for i := range found {
			if found[i].Holes+found[i].Waiting > 0 {
				all = append(all, found[i])
			}
		}
		if err != nil {
			return all, err
		}
		if o.Order && f.budget <= 0 {
			break
		}
	}
	return all, nil
}

// filler is one pass of Fill.
type filler struct {
	FillOptions
	store   FillStore
	media   string
	now     time.Time
	budget  int
	waiting map[int64]bool // ordered runs that are not, or not completely, fanned out yet
	open    map[int64][]ledger.Run
}

// readOpen reads the open orders and runs. It must be called before coverage is read, so that work that ends in between
// is found in coverage.
func (f *filler) readOpen(ctx context.Context, scopes []fillScope) error {
	// Orders are read first: one that becomes a run in between is then among the runs.
	// Those of other platforms do not count: their passes run at the same moment.
	var tasks []int64
	for _, scope := range scopes {
		tasks = append(tasks, scope.taskIDs()...)
	}
	orders, err := f.store.WaitingOrders(ctx, tasks)
	if err != nil {
		return err
	}
	f.waiting, f.open = map[int64]bool{}, map[int64][]ledger.Run{}
	for id, by := range orders {
		f.waiting[id] = true
		if by == FillName && f.By == FillName {
			f.budget = 0 // Nobody makes runs at present: more orders would only pile up.
		}
	}
	for _, scope := range scopes {
		runs, err := f.store.OpenRuns(ctx, scope.taskIDs(), openRunsMax)
		if err != nil {
			return err
		}
		for _, run := range runs {
			f.open[run.TaskID] = append(f.open[run.TaskID], run)
			if run.State == task.RunFanningOut {
				f.waiting[run.ID] = true
			}
			if order := run.Settings.Order; order != nil && order.By == FillName && f.By == FillName {
				f.budget -= openSubtasks(run, len(order.Accounts))
			}
		}
	}
	return nil
}

// openSubtasks returns how many subtasks of a run have not ended, or accounts while their number is not known yet.
func openSubtasks(run ledger.Run, accounts int) int {
	if run.Total == nil {
		return accounts
	}
	return int(*run.Total - run.Ended())
}

// fill finds and orders the holes of a report and level.
func (f *filler) fill(ctx context.Context, scope fillScope) ([]Filling, error) {
	found := map[int64]*Filling{}
	for _, t := range scope.tasks {
		found[t.id] = &Filling{TaskID: t.id, Task: t.name, Report: scope.Name, Level: scope.Level}
	}
	var wants []want
	pages := make(chan []results.FillAccount)
	group, searching := errgroup.WithContext(ctx)
	group.Go(func() error { // It reads a page while the one before is checked.
		defer close(pages)
		for after, n := int64(0), fillPage; n == fillPage; {
			page, err := f.store.FillAccounts(searching, f.media, after, fillPage)
			if err != nil || len(page) == 0 {
				return err
			}
			select {
			case pages <- page:
			case <-searching.Done():
				return searching.Err()
			}
			after, n = page[len(page)-1].ID, len(page)
		}
		return nil
	})
	group.Go(func() error {
		for page := range pages {
			for _, g := range f.groups(scope, page) {
				more, waiting, err := f.wants(searching, scope, g)
				if err != nil {
					return err
				}
				found[g.task.id].Waiting += waiting
				for i := range more {
					found[g.task.id].add(&more[i], i == 0 || more[i-1].account != more[i].account)
				}
				if f.Order {
					wants = foremost(append(wants, more...), f.budget)
				}
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	err := f.order(ctx, scope, wants, found)
	all := make([]Filling, 0, len(found))
	for _, t := range scope.tasks {
		all = append(all, *found[t.id])
	}
	return all, err
}

func (t *Filling) add(w *want, isNew bool) {
	if t.From == "" || w.from < t.From {
		t.From = w.from
	}
	t.To = max(t.To, w.to)
	t.Holes += len(w.holes)
	t.Subtasks += w.subtasks
	if isNew {
		t.Accounts++
	}
}

// order writes the orders of a scope's sorted wants: one order for the same days of up to orderAccounts accounts.
func (f *filler) order(ctx context.Context, scope fillScope, wants []want, found map[int64]*Filling) error {
	for len(wants) > 0 {
		first, n := wants[0], 1
		for n < len(wants) && n < orderAccounts && wants[n].taskID == first.taskID && wants[n].from == first.from &&
			wants[n].to == first.to {
			n++
		}
		o := results.HoleOrder{
			RunOrder: ledger.RunOrder{
				RunID: task.NewRunID(f.now), TaskID: first.taskID, OrderedAt: f.now,
				Request: task.Order{From: first.from, To: first.to, Spare: f.Spare, By: f.By, Under: f.Under},
			},
			Report: scope.Name, Level: scope.Level,
		}
		for _, w := range wants[:n] {
			o.Holes = append(o.Holes, w.holes...)
		}
		if f.Ordering != nil {
			if err := f.Ordering(); err != nil {
				return err
			}
		}
		ordered, err := f.store.OrderHoles(ctx, o)
		if err != nil {
			return err
		}
		if len(ordered) > 0 {
			t := found[first.taskID]
			t.Ordered += len(ordered) * first.subtasks
			t.OrderedHoles += len(ordered) * len(first.holes)
			t.RunIDs = append(t.RunIDs, o.RunID)
			f.budget -= len(ordered) * first.subtasks
		}
		wants = wants[n:]
	}
	return nil
}
