package live

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

// job is a task that a live pull orders.
type job struct {
	taskID         int64
	report, hourly bool
	system         bool
}

// jobsOf returns the tasks that pull the platform's configuration and reports, one of each kind. Kinds without a
// task, for example because an operator removed it, are left out, except for the report that is compared.
func jobsOf(tasks []producer.Task, p media.Platform) ([]job, error) {
	find := func(handler string, fits func(mode, level string) bool) (id int64) {
		for _, t := range tasks {
			params, err := media.ReadPullParams(t.Params)
			if err != nil || !t.Usable || !t.Enabled || t.Handler != handler || !fits(params.Mode, params.Level) {
				continue
			}
			// A task that looks back pulls whole days. The others may pull only the present.
			if id == 0 || strings.HasSuffix(t.Name, ".look_back") {
				id = t.ID
			}
		}
		return id
	}
	var jobs []job
	for _, l := range p.Lists() {
		if id := find(p.Name()+"."+l.Name, func(mode, _ string) bool { return mode == "full" }); id != 0 {
			jobs = append(jobs, job{taskID: id})
		}
	}
	for _, rep := range p.Reports() {
		id := find(p.Name()+"."+rep.Name, func(_, level string) bool { return level == rep.Level })
		switch {
		case id != 0:
			jobs = append(jobs, job{taskID: id, report: true, hourly: rep.Hourly})
		case rep.Level == "account" && !rep.Hourly:
			return nil, fmt.Errorf("no row of cron_task pulls %s.%s of accounts: switch one on, or give this run another --data",
				p.Name(), rep.Name)
		}
	}
	return jobs, nil
}

// runJobs orders the jobs, those of reports for the given days, and waits for their end.
func (r *run) runJobs(ctx context.Context, jobs []job, from, to day.Day) error {
	now := r.clock.Now()
	var ids []int64
	for _, j := range jobs {
		request := task.Order{By: "standalone --live"}
		if j.system {
			request.Scope = task.ScopeAll
		} else {
			request.Accounts = []int64{r.account.ID}
		}
		if j.report {
			request.From, request.To = from, to
		}
		id, err := r.Runs.Order(ctx, j.taskID, request, now)
		if err != nil {
			return err
		}
		ids, r.ordered = append(ids, id), append(r.ordered, id)
	}
	watched, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	looked := clock.Mark()
	runs, err := r.Runs.Wait(watched, ids, func(runs []ledger.Run) {
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
	for _, one := range runs {
		if one.State != task.RunSucceeded {
			r.report.Failed = append(r.report.Failed, r.whyFailed(ctx, one))
		}
	}
	return nil
}

// lookInterval is how often the progress of a pull is read.
const lookInterval = time.Second

// look shows the progress of the runs; the last state is always shown. It returns an error, which ends the wait, if the
// platform refuses the token.
func (r *run) look(ctx context.Context, runs []ledger.Run, last bool) error {
	if err := r.refused(ctx); err != nil {
		return err
	}
	var total, ended, waiting int64
	for _, one := range runs {
		if one.Total != nil {
			total += *one.Total
		}
		ended += one.Ended()
		if one.State.Open() {
			retrying, deferred, err := r.store.SubtasksWaiting(ctx, one.ID)
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
	text := fmt.Sprintf("%d of %s, %d of %s, %s", r.daysDone(covered), plural.Count(r.Days, "day", "days"), ended,
		plural.Count(max(total, ended), "pull", "pulls"),
		plural.Count(r.calls.total(), "call", "calls"))
	if waiting > 0 {
		text += fmt.Sprintf("; %s to be tried again", plural.Count(waiting, "waits", "wait"))
	}
	r.progress.show(text, last)
	return nil
}

// daysDone counts the days whose reports are all complete.
func (r *run) daysDone(covered []results.Coverage) int {
	whole := map[day.Day]int{}
	for _, c := range covered {
		if c.State == results.Complete && slices.Contains(r.ordered, c.RunID) && c.Day >= r.report.From &&
			c.Day <= r.report.To {
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

// whyFailed returns why a run did not succeed.
func (r *run) whyFailed(ctx context.Context, of ledger.Run) string {
	reason := of.ErrorText
	if died, _, err := r.store.ListDead(ctx, task.DeadFilter{RunID: of.ID}, dead.DeadPlace{}, 1); err == nil &&
		len(died) > 0 {
		reason = died[0].Part + ": " + died[0].ErrorText
	}
	return fmt.Sprintf("%s %s: %s", of.TaskName, of.State, reason)
}

// summarise updates the summaries to the pulled figures.
func (r *run) summarise(ctx context.Context) error {
	for _, t := range r.Runs.Plan.Tasks() {
		if t.Usable && t.Enabled && t.Handler == upkeep.Name+".summary" {
			return r.runJobs(ctx, []job{{taskID: t.ID, system: true}}, r.report.From, r.report.To)
		}
	}
	return nil
}
