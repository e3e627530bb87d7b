package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/plural"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer/overview"
)

// dropMax is how many dead subtasks one request drops, so that it is answered in time.
const dropMax = 20_000

// redriveStore is what these routes need of the store.
type redriveStore interface {
	CountDead(ctx context.Context, f task.DeadFilter) ([]dead.DeadCount, error)
	ListDead(ctx context.Context, f task.DeadFilter, after dead.DeadPlace, limit int) (all []dead.DeadSubtask,
		end dead.DeadPlace, err error)
	Healed(ctx context.Context, dead []dead.DeadSubtask) (map[task.Key]bool, error)
	DropDead(ctx context.Context, f task.DeadFilter, limit int) (int64, error)
	AddOrder(ctx context.Context, o ledger.RunOrder) error
	CountDeadParams(ctx context.Context, f task.DeadFilter) ([]dead.DeadParams, error)
	TaskPace(ctx context.Context, taskID int64) (dead.Pace, error)
}

// redriveRoutes redrive and drop dead subtasks.
type redriveRoutes struct {
	store    redriveStore
	filters  deadFilters
	tasks    taskList
	runs     runFinder
	producer waker
	audit    auditor
	clock    clock.Clock
	now      databaseClock
}

// rerunFailed redrives the dead subtasks of one run.
func (a *redriveRoutes) rerunFailed(c *gin.Context, request *client.RerunRequest) (any, error) {
	ctx := c.Request.Context()
	id, err := httpapi.ParseID(c.Param("id"))
	if err != nil {
		return nil, noRun(c.Param("id"))
	}
	filter := task.DeadFilter{RunID: id}
	counts, err := a.store.CountDead(ctx, filter)
	if err != nil {
		return nil, err
	}
	free, redriving := int64(0), int64(0)
	for _, n := range counts {
		free, redriving = free+n.Free, redriving+n.Redriving
	}
	if free == 0 {
		return nil, a.nothingFailed(ctx, id, redriving)
	}
	return a.redriveDead(c, &client.RedriveRequest{Run: formatID(id), Rate: request.Rate, DryRun: request.DryRun})
}

// nothingFailed returns the problem that explains why a run has nothing to redrive.
func (a *redriveRoutes) nothingFailed(ctx context.Context, id, redriving int64) error {
	if redriving > 0 {
		return httpapi.NewProblem(http.StatusConflict,
			"A redrive of the %s under way: the list of the dead subtasks of run %d names its run.",
			plural.Count(redriving, "failed subtask of this run is", "failed subtasks of this run is"), id)
	}
	run, err := a.runs.named(ctx, formatID(id))
	if err != nil {
		return err
	}
	if run.State == "" {
		return httpapi.NewProblem(http.StatusConflict,
			"The run %d was ordered and is not made yet: none of its subtasks have failed.", id)
	}
	if run.Failed > 0 {
		return httpapi.NewProblem(http.StatusConflict,
			"The %s redriven or dropped already. To pull the days of run %d again, run its task for them.",
			plural.Count(run.Failed, "failed subtask of this run was", "failed subtasks of this run were"), id)
	}
	return httpapi.NewProblem(http.StatusConflict, "No subtask of run %d has failed: its state is %s.", id, run.State)
}

// redriveDead orders runs that repeat dead subtasks.
func (a *redriveRoutes) redriveDead(c *gin.Context, request *client.RedriveRequest) (any, error) {
	ctx := c.Request.Context()
	if request.All && request.Scope == "" {
		request.Scope = task.ScopeAll
	}
	filter, counts, err := a.chooseDead(ctx, request.Scope, deadFilter{
		Task: request.Task, Media: request.Media, Account: request.Account, Run: request.Run, Print: request.Print,
		Class: request.Class, Text: request.Text, Since: request.Since, Until: request.Until,
	})
	if err != nil {
		return nil, err
	}
	plan, orders, err := a.planRedrive(ctx, request, filter, counts)
	if err != nil {
		return nil, err
	}
	if len(orders) == 0 && len(plan.Tasks) > 0 {
		p := httpapi.NewProblem(http.StatusConflict,
			"None of these subtasks can be redriven: see errors. They can still be dropped.")
		for _, t := range plan.Tasks {
			p.Errors = append(p.Errors, httpapi.FieldError{Field: "task", Detail: t.Task + ": " + t.Refused})
		}
		return nil, p
	}
	if request.DryRun || len(orders) == 0 {
		return plan, nil
	}
	by := httpapi.CallerOf(c).Name
	apply := func(ctx context.Context) (any, error) {
		// Each task gets an order. If only some are written, a second redrive orders the rest: it skips subtasks that a
		// run is redriving.
		for _, o := range orders {
			o.Request.By = by
			if err := a.store.AddOrder(ctx, o); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	if err := a.audit.do(c, "dead.redrive", dead.AuditDead, nil, gin.H{"filter": request, "plan": plan},
		apply); err != nil {
		return nil, err
	}
	a.producer.Wake()
	c.Status(http.StatusAccepted)
	return plan, nil
}

// chooseDead resolves a request's scope and filter, and counts the dead subtasks that they choose. The filter that it
// returns always has an end in time, so that the action applies to the same subtasks as the count.
func (a *redriveRoutes) chooseDead(ctx context.Context, scope string, of deadFilter) (
	task.DeadFilter, []dead.DeadCount, error,
) {
	var errs httpapi.Refusals
	checkScope(&errs, scope, of.chooses(), "a filter", "every dead subtask")
	if err := errs.Err(); err != nil {
		return task.DeadFilter{}, nil, err
	}
	filter, err := a.filters.resolve(ctx, of)
	if err != nil {
		return filter, nil, err
	}
	if filter.Until.IsZero() {
		if filter.Until, err = a.now(ctx); err != nil {
			return filter, nil, err
		}
	}
	counts, err := a.store.CountDead(ctx, filter)
	return filter, counts, err
}

// planRedrive plans the runs of a redrive, and returns the orders for them.
func (a *redriveRoutes) planRedrive(ctx context.Context, request *client.RedriveRequest, filter task.DeadFilter,
	counts []dead.DeadCount) (*client.Redrive, []ledger.RunOrder, error) {
	plan := &client.Redrive{DryRun: request.DryRun, Until: filter.Until, EstimatedCalls: new(int64),
		EstimatedSeconds: new(int64), Tasks: []client.RedriveTask{}}
	now := a.clock.Now()
	var orders []ledger.RunOrder
	for _, n := range counts {
		plan.Redriving += n.Redriving
		if n.Free == 0 {
			continue
		}
		j := client.RedriveTask{TaskID: formatID(n.TaskID), Task: a.tasks.nameOf(n.TaskID, n.TaskName), Count: n.Free}
		t, why := a.tasks.runnable(n.TaskID)
		if why != "" {
			j.Refused = why
			plan.Tasks = append(plan.Tasks, j)
			continue
		}
		pace, err := a.store.TaskPace(ctx, n.TaskID)
		if err != nil {
			return nil, nil, err
		}
		rate := int(request.Rate)
		groups, err := a.byParams(ctx, filter, n)
		if err != nil {
			return nil, nil, err
		}
		for _, g := range groups {
			j := j
			j.Count, j.Params = g.Free, g.Params
			j.EstimatedCalls, j.EstimatedSeconds = estimate(g.Free, cmp.Or(rate, t.FanOutRate), pace)
			order := &task.Redrive{Filter: filter, Rate: rate}
			order.Filter.TaskID = n.TaskID
			if g.OldestRun == g.NewestRun {
				order.Origin = g.OldestRun
			}
			runID := task.NewRunID(now)
			if !request.DryRun {
				j.RunID = formatID(runID)
			}
			orders = append(orders, ledger.RunOrder{RunID: runID, TaskID: n.TaskID, OrderedAt: now,
				Request: task.Order{Redrive: order, Params: g.Params}})
			addRedrive(plan, j)
		}
	}
	healed, more, err := a.countHealed(ctx, filter, orders)
	plan.Healed, plan.HealedAtLeast = healed, more
	return plan, orders, err
}

// byParams splits the free dead subtasks of a task by the changes of its params with which their runs were ordered.
// Each run that redrives them has the changes of one group.
func (a *redriveRoutes) byParams(ctx context.Context, f task.DeadFilter, n dead.DeadCount) ([]dead.DeadParams, error) {
	f.TaskID = n.TaskID
	groups, err := a.store.CountDeadParams(ctx, f)
	if err != nil || len(groups) == 0 {
		return []dead.DeadParams{{Free: n.Free, OldestRun: n.OldestRun, NewestRun: n.NewestRun}}, err
	}
	rest := n.Free
	for _, g := range groups {
		rest -= g.Free
	}
	if rest > 0 {
		groups = append(groups, dead.DeadParams{Free: rest}) // Whether they are of one run is not counted.
	}
	return groups, nil
}

// countHealed counts the healed subtasks among those that the orders redrive. It reads only the overview.DeadLooked
// that died last, and reports whether there are more.
func (a *redriveRoutes) countHealed(ctx context.Context, filter task.DeadFilter, orders []ledger.RunOrder) (n int64,
	more bool, err error) {
	rows, end, err := a.store.ListDead(ctx, filter, dead.DeadPlace{}, overview.DeadRowsMax+1)
	if err != nil {
		return 0, false, err
	}
	more = len(rows) > overview.DeadRowsMax || !end.At.IsZero()
	rows = rows[:min(len(rows), overview.DeadRowsMax)]
	rows = slices.DeleteFunc(rows, func(d dead.DeadSubtask) bool {
		return d.RedriveRun != 0 || !slices.ContainsFunc(orders, func(o ledger.RunOrder) bool { return o.TaskID == d.TaskID })
	})
	healed, err := a.store.Healed(ctx, rows)
	for i := range rows {
		if healed[rows[i].Key] {
			n++
		}
	}
	return n, more, err
}

func addRedrive(p *client.Redrive, j client.RedriveTask) {
	p.Tasks = append(p.Tasks, j)
	p.Count += j.Count
	// The runs work at the same time.
	p.EstimatedCalls, p.EstimatedSeconds = sum(p.EstimatedCalls, j.EstimatedCalls),
		longer(p.EstimatedSeconds, j.EstimatedSeconds)
}

func (a *redriveRoutes) dropDead(c *gin.Context, request *client.DeadRequest) (any, error) {
	ctx := c.Request.Context()
	if request.All && request.Scope == "" {
		request.Scope = task.ScopeAll
	}
	filter, counts, err := a.chooseDead(ctx, request.Scope, deadFilter{
		Task: request.Task, Media: request.Media, Account: request.Account, Run: request.Run, Print: request.Print,
		Class: request.Class, Text: request.Text, Since: request.Since, Until: request.Until,
	})
	if err != nil {
		return nil, err
	}
	answer := client.Drop{DryRun: request.DryRun, Until: filter.Until, Tasks: []client.DropTask{}}
	for _, n := range counts {
		answer.Redriving += n.Redriving
		if n.Free > 0 {
			answer.Count += n.Free
			answer.Tasks = append(answer.Tasks, client.DropTask{TaskID: formatID(n.TaskID),
				Task: a.tasks.nameOf(n.TaskID, n.TaskName), Count: n.Free})
		}
	}
	if !request.DryRun && answer.Count > 0 {
		apply := func(ctx context.Context) (any, error) {
			answer.Dropped, err = a.store.DropDead(ctx, filter, dropMax)
			return gin.H{"dropped": answer.Dropped}, err
		}
		if err := a.audit.do(c, "dead.drop", dead.AuditDead, gin.H{"filter": request, "plan": answer}, nil,
			apply); err != nil {
			return nil, err
		}
	}
	return answer, nil
}
