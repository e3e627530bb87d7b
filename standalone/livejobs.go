package standalone

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/media"
	"adsync/producer"
	"adsync/upkeep"
)

// liveJob is a task that a live pull orders.
type liveJob struct {
	taskID         int64
	report, hourly bool
	system         bool
}

// liveJobs finds the tasks that pull the platform's configuration and reports, one of each kind. What no task pulls, such
// as what an operator has taken away, is left out, but for the report that is compared.
func liveJobs(tasks []producer.Task, p media.Platform) ([]liveJob, error) {
	find := func(handler string, fits func(mode, level string) bool) (id int64) {
		for _, t := range tasks {
			params, err := media.ReadPullParams(t.Params)
			if err != nil || !t.Usable || !t.Enabled || t.Handler != handler || !fits(params.Mode, params.Level) {
				continue
			}
			// A task that looks back is made for whole days, the others may be for the present alone.
			if id == 0 || strings.HasSuffix(t.Name, ".look_back") {
				id = t.ID
			}
		}
		return id
	}
	var jobs []liveJob
	for _, l := range p.Lists() {
		if id := find(p.Name()+"."+l.Name, func(mode, _ string) bool { return mode == "full" }); id != 0 {
			jobs = append(jobs, liveJob{taskID: id})
		}
	}
	for _, rep := range p.Reports() {
		id := find(p.Name()+"."+rep.Name, func(_, level string) bool { return level == rep.Level })
		switch {
		case id != 0:
			jobs = append(jobs, liveJob{taskID: id, report: true, hourly: rep.Hourly})
		case rep.Level == "account" && !rep.Hourly:
			return nil, fmt.Errorf("no row of cron_task pulls %s.%s of accounts: switch one on, or give this run another --data", p.Name(), rep.Name)
		}
	}
	return jobs, nil
}

// run orders jobs, those of reports for the days, and waits for their end.
func (r *liveRun) run(ctx context.Context, jobs []liveJob, from, to day.Day) error {
	now := r.world.clock.Now()
	var ids []int64
	for _, job := range jobs {
		request := task.Order{By: "standalone --live"}
		if job.system {
			request.Scope = task.ScopeAll
		} else {
			request.Accounts = []int64{r.account.ID}
		}
		if job.report {
			request.From, request.To = from, to
		}
		id := task.NewRunID(now)
		if err := r.store.AddOrder(ctx, ledger.RunOrder{RunID: id, TaskID: job.taskID, Request: request, OrderedAt: now}); err != nil {
			return err
		}
		ids, r.ordered = append(ids, id), append(r.ordered, id)
	}
	watched, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	looked := clock.Mark()
	runs, err := waitForRuns(watched, r.store, ids, func(runs []ledger.Run) {
		if clock.Since(looked) < lookInterval {
			return
		}
		looked = clock.Mark()
		if err := r.look(watched, runs, false); err != nil {
			stop(err)
		}
	})
	if err != nil {
		if ctx.Err() == nil && watched.Err() != nil {
			return context.Cause(watched)
		}
		return err
	}
	if err := r.look(ctx, runs, true); err != nil {
		return err
	}
	for _, run := range runs {
		if run.State != task.RunSucceeded {
			r.report.Failed = append(r.report.Failed, r.whyFailed(ctx, run))
		}
	}
	return nil
}

// lookInterval is how often a pull under way is looked at.
const lookInterval = time.Second

// look shows how far the runs are; the last look is shown in any case. Its error ends the waiting: the token is refused.
func (r *liveRun) look(ctx context.Context, runs []ledger.Run, last bool) error {
	if err := r.refused(ctx); err != nil {
		return err
	}
	var total, ended, waiting int64
	for _, run := range runs {
		if run.Total != nil {
			total += *run.Total
		}
		ended += run.Ended()
		if run.State.Open() {
			retrying, deferred, err := r.store.SubtasksWaiting(ctx, run.ID)
			if err != nil {
				return err
			}
			waiting += retrying + deferred
		}
	}
	covered, err := r.store.ReadCoverage(ctx, r.account.ID, r.report.From, r.report.To)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d of %s, %d of %s, %s", r.daysDone(covered), plural.Count(r.Days, "day", "days"), ended, plural.Count(max(total, ended), "pull", "pulls"),
		plural.Count(r.calls.total(), "call", "calls"))
	if waiting > 0 {
		text += fmt.Sprintf("; %s to be tried again", plural.Count(waiting, "waits", "wait"))
	}
	r.progress.show(text, last)
	return nil
}

// daysDone counts the days of which every report is whole.
func (r *liveRun) daysDone(covered []results.Coverage) int {
	whole := map[day.Day]int{}
	for _, c := range covered {
		if c.State == results.Complete && slices.Contains(r.ordered, c.RunID) && c.Day >= r.report.From && c.Day <= r.report.To {
			whole[c.Day]++
		}
	}
	done := 0
	for _, n := range whole {
		if n >= r.reports {
			done++
		}
	}
	return done
}

// whyFailed tells what became of a run that did not succeed.
func (r *liveRun) whyFailed(ctx context.Context, run ledger.Run) string {
	reason := run.ErrorText
	if died, _, err := r.store.ListDead(ctx, task.DeadFilter{RunID: run.ID}, dead.DeadPlace{}, 1); err == nil && len(died) > 0 {
		reason = died[0].Part + ": " + died[0].ErrorText
	}
	return fmt.Sprintf("%s %s: %s", run.TaskName, run.State, reason)
}

// summarise brings the summaries up to date with what was pulled.
func (r *liveRun) summarise(ctx context.Context) error {
	for _, t := range r.plan.Tasks() {
		if t.Usable && t.Enabled && t.Handler == upkeep.Name+".summary" {
			return r.run(ctx, []liveJob{{taskID: t.ID, system: true}}, r.report.From, r.report.To)
		}
	}
	return nil
}
