package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
)

// waitStore is what these routes need of the store.
type waitStore interface {
	Run(ctx context.Context, id int64) (ledger.Run, error)
	SubtaskLog(ctx context.Context, k task.Key) (ledger.SubtaskLog, error)
	WaitOf(ctx context.Context, k task.Key) (reason string, due time.Time, err error)
	Lanes(ctx context.Context) ([]settings.Lane, error)
}

// waitRoutes explain what a subtask waits for.
type waitRoutes struct {
	store    waitStore
	accounts accountFinder
	limits   Limits
}

func (a *waitRoutes) explainWait(c *gin.Context, q *httpapi.Query) (any, error) {
	key, err := a.accounts.subtask(c.Request.Context(), q, c.Param("run"), c.Param("account_id"), "a subtask")
	if err != nil {
		return nil, err
	}
	answer, err := a.waitOf(c.Request.Context(), key)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, httpapi.NewProblem(http.StatusNotFound, "There is no such subtask, or its day's log was dropped: the list of runs has those that are known.")
	}
	return answer, err
}

func (a *waitRoutes) waitOf(ctx context.Context, key task.Key) (*client.Wait, error) {
	run, err := a.store.Run(ctx, key.RunID)
	if err != nil {
		return nil, err
	}
	log, err := a.store.SubtaskLog(ctx, key)
	if err != nil {
		return nil, err
	}
	w := &client.Wait{
		RunID: strconv.FormatInt(key.RunID, 10), AccountID: key.AccountID, Part: key.Part, Task: run.TaskName, Media: run.Media, Lane: run.Settings.Lane,
		State: client.SubtaskState(log.State), Attempt: int64(log.Attempt), Node: log.Node, Limits: []client.Limit{}, Pauses: []client.PausedPoint{},
	}
	if !log.State.Open() {
		return w, nil
	}
	if w.Reason, w.ExpectedAt, err = a.store.WaitOf(ctx, key); err != nil {
		return nil, err
	}
	lanes, err := a.store.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	row := 0
	for _, l := range lanes {
		if l.Name == w.Lane && (l.Media == w.Media || l.Media == settings.AnyMedia && row == 0) {
			row = l.Importance
		}
	}
	w.Importance = int64(settings.LaneImportance(w.Lane, row))
	limits, pauses, err := a.limits.State(ctx, w.Media)
	if err != nil {
		w.Reason = cmp.Or(w.Reason, "Redis does not tell how the limits stand: "+err.Error())
	}
	for _, s := range limits {
		for _, lane := range s.Lanes {
			if int64(lane.Importance) == w.Importance {
				w.Limits = append(w.Limits, limitOf(s))
			}
		}
	}
	for _, p := range pauses {
		if !p.Until.IsZero() {
			w.Pauses = append(w.Pauses, pauseOf(p))
		}
	}
	return w, nil
}
