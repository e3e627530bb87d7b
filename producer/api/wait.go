package api

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/ratelimit/grant"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
)

const (
	// openRunsSearched is how many open runs are searched for subtasks of an account.
	openRunsSearched = 1000
	// waitsShown is how many open subtasks of an account are explained.
	waitsShown = 50
)

// waitStore is what these routes need of the store.
type waitStore interface {
	Run(ctx context.Context, id int64) (ledger.Run, error)
	SearchRuns(ctx context.Context, f ledger.RunSearch) ([]ledger.Run, error)
	OpenSubtasksOfAccount(ctx context.Context, runIDs []int64, accountID int64) ([]ledger.OpenSubtask, error)
	SubtaskLog(ctx context.Context, k task.Key) (ledger.SubtaskLog, error)
	WaitOf(ctx context.Context, k task.Key) (reason string, due time.Time, err error)
	Lanes(ctx context.Context) ([]settings.Lane, error)
}

// waitRoutes explain why subtasks wait.
type waitRoutes struct {
	store    waitStore
	accounts accountFinder
	tasks    taskList
	limits   Limits
}

func (a *waitRoutes) explainWait(c *gin.Context, params *client.ExplainWaitParams) (any, error) {
	ctx := c.Request.Context()
	key, err := a.accounts.subtask(ctx, c.Param("run"), c.Param("account_id"), params.Part, "a subtask")
	if err != nil {
		return nil, err
	}
	run, err := a.store.Run(ctx, key.RunID)
	var w *client.Wait
	if err == nil {
		w, err = a.waitOf(ctx, &run, key)
	}
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, noSubtask()
	}
	if err != nil || !task.State(w.State).Open() {
		return w, err
	}
	s, err := a.readLimits(ctx, w.Media)
	if err == nil {
		s.explain(w)
	}
	return w, err
}

// explainAccountWaits explains why the open subtasks of an account wait, those of the newest run first.
func (a *waitRoutes) explainAccountWaits(
	c *gin.Context, params *client.ExplainAccountWaitsParams, _ media.Platform, account settings.Account,
) (any, error) {
	ctx := c.Request.Context()
	name := params.Task
	if _, known := a.tasks.named(name); name != "" && !known {
		return nil, httpapi.Refused("task", "%q is refused: want the name of a task in the list of tasks", name)
	}
	runs, err := a.store.SearchRuns(ctx, ledger.RunSearch{
		TaskName: name, Media: account.Media, States: []task.RunState{task.RunFanningOut, task.RunRunning},
		Limit: openRunsSearched,
	})
	if err != nil {
		return nil, err
	}
	s, err := a.readLimits(ctx, account.Media)
	if err != nil {
		return nil, err
	}
	answer := client.AccountWaits{Account: describeAccount(account), Subtasks: []client.Wait{}}
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && task.LogDay(runs[n].ID) == task.LogDay(runs[0].ID) {
			n++
		}
		waits, err := a.openIn(ctx, runs[:n], account.ID)
		if err != nil {
			return nil, err
		}
		answer.Subtasks, runs = append(answer.Subtasks, waits...), runs[n:]
	}
	if len(answer.Subtasks) > waitsShown {
		answer.Subtasks, answer.More = answer.Subtasks[:waitsShown], true
	}
	for i := range answer.Subtasks {
		s.explain(&answer.Subtasks[i])
	}
	return answer, nil
}

// openIn returns the open subtasks of an account in the given runs, which are of one day of the log, the newest first.
// It reads at most waitsShown + 1 of them.
func (a *waitRoutes) openIn(ctx context.Context, runs []ledger.Run, accountID int64) (waits []client.Wait, err error) {
	ids, byID := make([]int64, len(runs)), make(map[int64]*ledger.Run, len(runs))
	for i := range runs {
		ids[i], byID[runs[i].ID] = runs[i].ID, &runs[i]
	}
	open, err := a.store.OpenSubtasksOfAccount(ctx, ids, accountID)
	if err != nil {
		return nil, err
	}
	for i := len(open) - 1; i >= 0 && len(waits) <= waitsShown; i-- {
		w, err := a.waitOf(ctx, byID[open[i].RunID], open[i].Key)
		switch {
		case errors.Is(err, sqldb.ErrNotFound):
		case err != nil:
			return nil, err
		case task.State(w.State).Open(): // It may have ended since.
			waits = append(waits, *w)
		}
	}
	return waits, nil
}

// waitOf reads a subtask of a run, and the reason why it waits.
func (a *waitRoutes) waitOf(ctx context.Context, run *ledger.Run, key task.Key) (*client.Wait, error) {
	log, err := a.store.SubtaskLog(ctx, key)
	if err != nil {
		return nil, err
	}
	w := &client.Wait{
		RunID: strconv.FormatInt(key.RunID, 10), AccountID: key.AccountID, Part: key.Part, Task: run.TaskName,
		Media: run.Media, Lane: run.Settings.Lane,
		State: client.SubtaskState(log.State), Attempt: int64(log.Attempt), Node: log.Node, Limits: []client.Limit{},
		Pauses: []client.PausedPoint{},
	}
	if log.State.Open() {
		w.Reason, w.ExpectedAt, err = a.store.WaitOf(ctx, key)
	}
	return w, err
}

// platformLimits is the state of the lanes, and of the limits and pauses of a platform.
type platformLimits struct {
	lanes   []settings.Lane
	limits  []grant.LimitState
	pauses  []grant.PauseState
	trouble string // why the limits are unknown; "" = they are known
}

func (a *waitRoutes) readLimits(ctx context.Context, media string) (s platformLimits, err error) {
	if s.lanes, err = a.store.Lanes(ctx); err != nil {
		return s, err
	}
	limits, pauses, err := a.limits.State(ctx, media)
	if err != nil {
		s.trouble = limitsUnknown + err.Error()
	}
	s.limits, s.pauses = limits, pauses
	return s, nil
}

// explain adds to an open subtask its importance, and the limits and pauses that may delay it.
func (s *platformLimits) explain(w *client.Wait) {
	row := 0
	for _, l := range s.lanes {
		if l.Name == w.Lane && (l.Media == w.Media || l.Media == settings.AnyMedia && row == 0) {
			row = l.Importance
		}
	}
	w.Importance = int64(settings.LaneImportance(w.Lane, row))
	w.Reason = cmp.Or(w.Reason, s.trouble)
	for _, limit := range s.limits {
		for _, lane := range limit.Lanes {
			if int64(lane.Importance) == w.Importance {
				w.Limits = append(w.Limits, limitOf(limit))
			}
		}
	}
	for _, p := range s.pauses {
		if !p.Until.IsZero() {
			w.Pauses = append(w.Pauses, pauseOf(p))
		}
	}
}
