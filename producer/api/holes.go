package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/errgroup"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/store/dead"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
	"adsync/upkeep"
)

// holeStore is what these routes need of the store.
type holeStore interface {
	upkeep.FillStore
	TaskPace(ctx context.Context, taskID int64) (dead.Pace, error)
}

// holeRoutes serve the holes: the days that coverage lacks.
type holeRoutes struct {
	store     holeStore
	platforms platformList
	tasks     taskList
	producer  waker
	audit     auditor
	clock     clock.Clock
}

// listHoles returns what coverage lacks. It is the dry run of fillHoles.
func (a *holeRoutes) listHoles(c *gin.Context, params *client.ListHolesParams) (any, error) {
	platforms, err := a.platforms.named(params.Media)
	if err != nil {
		return nil, err
	}
	answer, err := a.fill(c.Request.Context(), platforms, upkeep.FillOptions{By: httpapi.CallerOf(c).Name})
	return answer, err
}

// fillHoles orders runs for what coverage lacks.
func (a *holeRoutes) fillHoles(c *gin.Context, request *client.FillRequest) (any, error) {
	var errs httpapi.Refusals
	checkScope(&errs, request.Scope, request.Media != "", "media", "all platforms")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	request.MaxSubtasks = cmp.Or(request.MaxSubtasks, upkeep.FillMaxDefault)
	platforms, err := a.platforms.named(request.Media)
	if err != nil {
		return nil, err
	}
	var answer *client.Holes
	apply := func(ctx context.Context, begin func() error) (any, error) {
		// If the search fails for one platform, the runs for the others are still ordered.
		answer, err = a.fill(ctx, platforms, upkeep.FillOptions{MaxSubtasks: int(request.MaxSubtasks),
			By: httpapi.CallerOf(c).Name, Order: true, Ordering: begin})
		if answer.Ordered > 0 {
			a.producer.Wake()
		}
		var runs []string
		for _, t := range answer.Tasks {
			runs = append(runs, t.RunIDs...)
		}
		return gin.H{"request": request, "ordered": answer.Ordered, "run_ids": runs}, err
	}
	if err := a.audit.doOnce(c, "coverage.fill", settings.AuditCoverage, nil, gin.H{"request": request},
		apply); err != nil {
		return nil, err
	}
	if answer.Ordered > 0 {
		c.Status(http.StatusAccepted)
		return answer, nil
	}
	return answer, nil
}

// fill finds the holes of platforms and orders runs for them if the options say so. The answer is never nil: with an
// error it has what was found and ordered despite the error.
func (a *holeRoutes) fill(ctx context.Context, platforms []media.Platform, o upkeep.FillOptions) (*client.Holes,
	error) {
	answer := &client.Holes{EstimatedCalls: new(int64), EstimatedSeconds: new(int64), Tasks: []client.HolesTask{}}
	found := make([][]upkeep.Filling, len(platforms))
	var group errgroup.Group // It has no context: a platform's error does not stop the others.
	for i, p := range platforms {
		group.Go(func() (err error) {
			found[i], err = upkeep.Fill(ctx, a.store, p, a.clock.Now(), o)
			return err
		})
	}
	err := group.Wait()
	for i, p := range platforms {
		for _, f := range found[i] {
			j, failed := a.describeFilling(ctx, p.Name(), f)
			err = errors.Join(err, failed)
			addFilling(answer, j)
		}
	}
	return answer, err
}

func (a *holeRoutes) describeFilling(ctx context.Context, platform string, f upkeep.Filling) (client.HolesTask, error) {
	j := client.HolesTask{
		TaskID: formatID(f.TaskID), Task: f.Task, Media: platform, Report: f.Report, Level: f.Level, Holes: int64(f.Holes),
		Subtasks: int64(f.Subtasks),
		Accounts: int64(f.Accounts), From: string(f.From), To: string(f.To), Waiting: int64(f.Waiting),
		Ordered: int64(f.Ordered),
	}
	for _, id := range f.RunIDs {
		j.RunIDs = append(j.RunIDs, formatID(id))
	}
	pace, err := a.store.TaskPace(ctx, f.TaskID)
	if err != nil {
		return j, err
	}
	t, _ := a.tasks.runnable(f.TaskID) // An unusable task has no rate.
	j.EstimatedCalls, j.EstimatedSeconds = estimate(int64(f.Subtasks), t.FanOutRate, pace)
	return j, nil
}

func addFilling(h *client.Holes, j client.HolesTask) {
	h.Tasks = append(h.Tasks, j)
	h.Holes += j.Holes
	h.Subtasks += j.Subtasks
	h.Waiting += j.Waiting
	h.Ordered += j.Ordered
	if j.Subtasks == 0 {
		return
	}
	// The runs work at the same time.
	h.EstimatedCalls, h.EstimatedSeconds = sum(h.EstimatedCalls, j.EstimatedCalls),
		longer(h.EstimatedSeconds, j.EstimatedSeconds)
}
