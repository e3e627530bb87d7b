package story

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/producer"
	"adsync/simulator/night"
)

// olderLast is an answer that arrives after that of a newer pull of the same day, for an account of each platform and
// a day that no other task pulls before the comparison.
func olderLast(platforms []night.Platform) Event {
	return Event{Name: "older pull ends last", what: "superseded: the newer figures stay",
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			// Other work under way would meet the fault that is meant for one call.
			if _, err := p.stack.Runs.Rest(ctx, restMax); err != nil {
				return nil, err
			}
			// The platforms' calls are held up at the same time. Only one of them at a time may set the clock or compare.
			var superseded atomic.Int64
			var turn sync.Mutex
			all, pulling := errgroup.WithContext(ctx)
			for _, platform := range platforms {
				all.Go(func() error {
					older, err := p.pullOutOfOrder(pulling, platform, &turn)
					superseded.Add(older.Superseded)
					return err
				})
			}
			if err := all.Wait(); err != nil {
				return nil, err
			}
			return func(context.Context) (int64, error) { return superseded.Load(), nil }, nil
		}}
}

// heldUp is the longest delay of an answer, which is less than the timeout of a call.
const heldUp = 25 * time.Second

// comesMax is how long a call may take to come: its login may just have been authorised again. On a busy machine the
// work that waited for that comes first, and the fan-out rests meanwhile.
const comesMax = 5 * time.Minute

// pullOutOfOrder orders a day of a platform's first account twice. The first pull's answer is delayed until the day has
// been corrected and the second pull has ended. It returns the first run, which has ended too.
func (p *Story) pullOutOfOrder(ctx context.Context, platform night.Platform, turn *sync.Mutex) (older ledger.Run,
	err error) {
	media := platform.Media
	account, id, err := p.first(ctx, media)
	if err != nil {
		return older, err
	}
	fault, err := p.addFault(ctx, map[string]any{
		"kind": "latency", "ms": heldUp.Milliseconds(), "media": media,
		"endpoint": cmp.Or(platform.OldReports, platform.DailyReports),
		"account":  account, "count": 1,
	})
	if err != nil {
		return older, err
	}
	past := p.yesterday().Add(-12)
	name, order := media+".report_daily.account", task.Order{Accounts: []int64{id}, From: past, To: past,
		By: "standalone --once"}
	first, err := p.order(ctx, name, order)
	if err != nil {
		return older, err
	}
	err = await(ctx, comesMax, "the call of "+name+" that is to be held up has not come", func() (bool, error) {
		p.stack.Runs.Plan.Wake()
		met, err := p.faultMet(ctx, fault)
		return met > 0, err
	})
	if err != nil {
		return older, fmt.Errorf("%w: %s", err, p.whereIs(ctx, first))
	}
	turn.Lock()
	now := p.clock.Now()
	err = p.sim.Post(ctx, "truth/correct", map[string]any{
		"media": media, "account": account, "from": past, "to": past, "percent": 7, "at": now.Unix() + 1,
	})
	if err == nil {
		err = p.pace.change(0, func() error { return p.clock.Set(now.Add(2 * time.Second)) })
	}
	turn.Unlock()
	if err != nil {
		return older, err
	}
	second, err := p.order(ctx, name, order)
	if err != nil {
		return older, err
	}
	if _, err := p.awaitRun(ctx, second); err != nil {
		return older, err
	}
	// From here on, no older figures than those of the second pull may appear.
	turn.Lock()
	err = p.checked.Compare(ctx)
	turn.Unlock()
	if err != nil {
		return older, err
	}
	if err := p.sim.Send(ctx, http.MethodDelete, "faults/"+fault, nil, nil); err != nil {
		return older, err
	}
	return p.awaitRun(ctx, first)
}

// order orders a task by hand, and returns the id of its run.
func (p *Story) order(ctx context.Context, name string, request task.Order) (int64, error) {
	tasks := p.stack.Runs.Plan.Tasks()
	at := slices.IndexFunc(tasks, func(t producer.Task) bool { return t.Name == name })
	if at < 0 {
		return 0, fmt.Errorf("there is no task %s", name)
	}
	return p.stack.Runs.Order(ctx, tasks[at].ID, request, p.clock.Now())
}

// whereIs describes the state of a run of one subtask, for an error.
func (p *Story) whereIs(ctx context.Context, run int64) string {
	list, _, err := p.store.RunSubtasks(ctx, run, ledger.SubtaskFilter{}, ledger.AccountPart{}, 1)
	if err != nil {
		return err.Error()
	}
	if len(list) == 0 {
		r, err := p.store.Run(ctx, run)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("run %d has no subtask yet and is %s %s", run, r.State, r.ErrorText)
	}
	reason, due, err := p.store.WaitOf(ctx, list[0].Key)
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("subtask %v is %s, delivery %d, started at %s", list[0].Key, list[0].State, list[0].Delivery,
		list[0].StartedAt.Format(time.RFC3339))
	if !due.IsZero() {
		text += fmt.Sprintf(", and waits until %s: %s", due.Format(time.RFC3339), reason)
	}
	return text
}

// awaitRun waits for a run's end.
func (p *Story) awaitRun(ctx context.Context, id int64) (ledger.Run, error) {
	ended, err := p.stack.Runs.Wait(ctx, []int64{id}, func([]ledger.Run) { p.stack.Runs.Plan.Wake() })
	if err != nil {
		return ledger.Run{}, err
	}
	return ended[0], nil
}
