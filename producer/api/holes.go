package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/errgroup"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/dead"
	"adsync/base/store/settings"
	"adsync/media"
	"adsync/upkeep"
)

const fillSubtasksMax = 100_000

// holesJSON is what coverage lacks, and what filling it costs.
type holesJSON struct {
	Holes    int `json:"holes"`    // days of an account's report and level
	Subtasks int `json:"subtasks"` // that it takes to pull them
	Waiting  int `json:"waiting"`  // holes beside these whose work is under way, or was ordered a moment ago
	Ordered  int `json:"ordered"`  // subtasks; 0 unless runs were ordered
	estimateJSON
	// Tasks are by importance, as holes are filled.
	Tasks []holesTaskJSON `json:"tasks"`
}

// holesTaskJSON is the part of one task.
type holesTaskJSON struct {
	TaskID   string   `json:"task_id"`
	Task     string   `json:"task"`
	Media    string   `json:"media"`
	Report   string   `json:"report"`
	Level    string   `json:"level"`
	Holes    int      `json:"holes"`
	Subtasks int      `json:"subtasks"`
	Accounts int      `json:"accounts"`
	From     day.Day  `json:"from,omitempty"`
	To       day.Day  `json:"to,omitempty"`
	Waiting  int      `json:"waiting"`
	Ordered  int      `json:"ordered"`
	RunIDs   []string `json:"run_ids,omitempty"`
	estimateJSON
}

// fillRequest is the body of an order to fill holes.
type fillRequest struct {
	Media       string `json:"media,omitempty"`
	Scope       string `json:"scope,omitempty"` // "all" = all platforms, in the place of media
	MaxSubtasks int    `json:"max_subtasks,omitempty"`
}

// Validate implements httpapi.Validator.
func (r *fillRequest) Validate() []httpapi.FieldError {
	errs := checkScope(r.Scope, r.Media != "", "media", "all platforms")
	if errs != nil {
		return errs
	}
	if r.MaxSubtasks < 0 || r.MaxSubtasks > fillSubtasksMax {
		errs.Refuse("max_subtasks", "%d is refused: want 1 to %d, or none for %d", r.MaxSubtasks, fillSubtasksMax, upkeep.FillMaxDefault)
	}
	if r.MaxSubtasks == 0 {
		r.MaxSubtasks = upkeep.FillMaxDefault
	}
	return errs
}

// holeStore is what these routes need of the store.
type holeStore interface {
	upkeep.FillStore
	TaskPace(ctx context.Context, taskID int64) (dead.Pace, error)
}

// holeRoutes are what coverage lacks.
type holeRoutes struct {
	store     holeStore
	platforms platformList
	tasks     taskList
	producer  waker
	audit     auditor
	clock     clock.Clock
}

// listHoles tells what coverage lacks: the dry run of fillHoles.
func (a *holeRoutes) listHoles(c *gin.Context, q *httpapi.Query) (any, error) {
	platforms, err := a.platforms.named(q.Get("media"))
	if err != nil {
		return nil, err
	}
	answer, err := a.fill(c.Request.Context(), platforms, upkeep.FillOptions{By: httpapi.CallerOf(c).Name})
	return answer, err
}

// fillHoles orders runs for what coverage lacks.
func (a *holeRoutes) fillHoles(c *gin.Context, request *fillRequest) (any, error) {
	platforms, err := a.platforms.named(request.Media)
	if err != nil {
		return nil, err
	}
	var answer *holesJSON
	deed := func(ctx context.Context, changes func() error) (any, error) {
		// Also when one platform's holes cannot be told: the others' are ordered.
		answer, err = a.fill(ctx, platforms, upkeep.FillOptions{MaxSubtasks: request.MaxSubtasks, By: httpapi.CallerOf(c).Name, Order: true, Ordering: changes})
		if answer.Ordered > 0 {
			a.producer.Wake()
		}
		var runs []string
		for _, t := range answer.Tasks {
			runs = append(runs, t.RunIDs...)
		}
		return gin.H{"request": request, "ordered": answer.Ordered, "run_ids": runs}, err
	}
	if err := a.audit.doOnce(c, "coverage.fill", settings.AuditCoverage, nil, gin.H{"request": request}, deed); err != nil {
		return nil, err
	}
	if answer.Ordered > 0 {
		c.Status(http.StatusAccepted)
		return answer, nil
	}
	return answer, nil
}

// fill finds the holes of platforms and, if told to, orders runs for them. The answer is never nil: with an error it has what was found and
// ordered all the same.
func (a *holeRoutes) fill(ctx context.Context, platforms []media.Platform, o upkeep.FillOptions) (*holesJSON, error) {
	answer := &holesJSON{estimateJSON: noWork(), Tasks: []holesTaskJSON{}}
	found := make([][]upkeep.Filling, len(platforms))
	var group errgroup.Group // Without a common context: an order of one platform does not end with another's.
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
			answer.add(j)
		}
	}
	return answer, err
}

func (a *holeRoutes) describeFilling(ctx context.Context, platform string, f upkeep.Filling) (holesTaskJSON, error) {
	j := holesTaskJSON{
		TaskID: formatID(f.TaskID), Task: f.Task, Media: platform, Report: f.Report, Level: f.Level, Holes: f.Holes, Subtasks: f.Subtasks,
		Accounts: f.Accounts, From: f.From, To: f.To, Waiting: f.Waiting, Ordered: f.Ordered,
	}
	for _, id := range f.RunIDs {
		j.RunIDs = append(j.RunIDs, formatID(id))
	}
	pace, err := a.store.TaskPace(ctx, f.TaskID)
	if err != nil {
		return j, err
	}
	t, _ := a.tasks.runnable(f.TaskID) // Without a rate if nobody knows it.
	j.estimateJSON = estimate(int64(f.Subtasks), t.FanOutRate, pace)
	return j, nil
}

func (h *holesJSON) add(j holesTaskJSON) {
	h.Tasks = append(h.Tasks, j)
	h.Holes += j.Holes
	h.Subtasks += j.Subtasks
	h.Waiting += j.Waiting
	h.Ordered += j.Ordered
	if j.Subtasks == 0 {
		return
	}
	// The runs go side by side.
	h.estimateJSON = h.and(j.estimateJSON)
}
