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
)

// waitJSON explains what a subtask waits for.
type waitJSON struct {
	RunID      string `json:"run_id"`
	AccountID  int64  `json:"account_id"`
	Part       string `json:"part"`
	Task       string `json:"task"`
	Media      string `json:"media"`
	Lane       string `json:"lane"`
	Importance int    `json:"importance"`
	State      string `json:"state"`
	Attempt    int    `json:"attempt"`
	// Node is the consumer that works on it, or did last.
	Node string `json:"node,omitempty"`
	// Reason is why it waits, as far as a table says so; ExpectedAt is when it is sent to a consumer again.
	Reason     string    `json:"reason,omitempty"`
	ExpectedAt time.Time `json:"expected_at,omitzero"`
	// Limits are those of its media that calls of its importance want at the moment.
	Limits []limitJSON `json:"limits"`
	Pauses []pointJSON `json:"pauses"`
}

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

func (a *waitRoutes) waitOf(ctx context.Context, key task.Key) (*waitJSON, error) {
	run, err := a.store.Run(ctx, key.RunID)
	if err != nil {
		return nil, err
	}
	log, err := a.store.SubtaskLog(ctx, key)
	if err != nil {
		return nil, err
	}
	w := &waitJSON{
		RunID: strconv.FormatInt(key.RunID, 10), AccountID: key.AccountID, Part: key.Part, Task: run.TaskName, Media: run.Media, Lane: run.Settings.Lane,
		State: string(log.State), Attempt: log.Attempt, Node: log.Node, Limits: []limitJSON{}, Pauses: []pointJSON{},
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
	w.Importance = settings.LaneImportance(w.Lane, row)
	limits, pauses, err := a.limits.State(ctx, w.Media)
	if err != nil {
		w.Reason = cmp.Or(w.Reason, "Redis does not tell how the limits stand: "+err.Error())
	}
	for _, s := range limits {
		for _, lane := range s.Lanes {
			if lane.Importance == w.Importance {
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
