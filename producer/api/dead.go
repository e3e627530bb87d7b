package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	storeoverview "adsync/base/store/overview"
	"adsync/base/task"
	"adsync/producer/overview"
)

const (
	deadPerPage    = 50
	deadPerPageMax = 500
)

// deadJSON is one dead subtask.
type deadJSON struct {
	RunID      string    `json:"run_id"`
	AccountID  string    `json:"account_id"` // ours; "0" for work that belongs to no account
	Account    string    `json:"account,omitempty"`
	Part       string    `json:"part"`
	TaskID     string    `json:"task_id"`
	Task       string    `json:"task,omitempty"` // as its run was called
	Media      string    `json:"media"`
	Attempts   int       `json:"attempts"`
	ErrorClass string    `json:"error_class"`
	ErrorPrint string    `json:"error_print"`
	Error      string    `json:"error"`
	DeadAt     time.Time `json:"dead_at"`
	// RedriveRun is the run that is taking it up.
	RedriveRun string `json:"redrive_run_id,omitempty"`
	// Healed says that what it was to pull has been pulled whole since.
	Healed bool `json:"healed,omitempty"`
}

func (a *deadRoutes) describeDead(ctx context.Context, rows []dead.DeadSubtask) ([]deadJSON, error) {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].AccountID
	}
	accounts, err := a.accounts.externalIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	healed, err := a.store.Healed(ctx, rows)
	if err != nil {
		return nil, err
	}
	all := make([]deadJSON, len(rows))
	for i, d := range rows {
		all[i] = deadJSON{
			RunID: formatID(d.RunID), AccountID: formatID(d.AccountID), Account: accounts[d.AccountID], Part: d.Part,
			TaskID: formatID(d.TaskID), Task: d.TaskName, Media: d.Media, Attempts: d.Attempt,
			ErrorClass: d.ErrorClass, ErrorPrint: d.ErrorPrint, Error: d.ErrorText, DeadAt: d.DeadAt, RedriveRun: idOrNone(d.RedriveRun), Healed: healed[d.Key],
		}
	}
	return all, nil
}

// deadPage is the token of a page: where the one before ended.
type deadPage struct {
	At      int64  `json:"at"` // milliseconds
	Run     int64  `json:"run"`
	Account int64  `json:"account"`
	Part    string `json:"part"`
}

func deadPageAt(p dead.DeadPlace) deadPage {
	return deadPage{At: p.At.UnixMilli(), Run: p.Key.RunID, Account: p.Key.AccountID, Part: p.Key.Part}
}

// deadStore is what these routes need of the store.
type deadStore interface {
	ListDead(ctx context.Context, f task.DeadFilter, after dead.DeadPlace, limit int) (all []dead.DeadSubtask, end dead.DeadPlace, err error)
	DeadGroups(ctx context.Context, f task.DeadFilter, limit int) (groups []dead.DeadGroup, total dead.DeadTotal, err error)
	DeadSubtask(ctx context.Context, k task.Key) (dead.DeadSubtask, error)
	DeadTaskName(ctx context.Context, taskID int64) (string, error)
	Healed(ctx context.Context, dead []dead.DeadSubtask) (map[task.Key]bool, error)
	Run(ctx context.Context, id int64) (ledger.Run, error)
	SubtaskLog(ctx context.Context, k task.Key) (ledger.SubtaskLog, error)
	Glance(ctx context.Context, look func(g *storeoverview.Glance) error) error
}

// deadRoutes are the dead subtasks: what they are, and what is at stake.
type deadRoutes struct {
	store    deadStore
	filters  deadFilters
	accounts accountFinder
	tasks    taskList
	clock    clock.Clock
}

func (a *deadRoutes) listDead(c *gin.Context, q *httpapi.Query) (any, error) {
	ctx := c.Request.Context()
	filter, err := a.filters.resolve(ctx, deadFilterOf(q), q.Refuse)
	if err != nil {
		return nil, err
	}
	var place dead.DeadPlace
	if p, ok := httpapi.PageAfter(q, func(p deadPage) bool { return httpapi.IsMoment(p.At) }); ok {
		place = dead.DeadPlace{At: time.UnixMilli(p.At), Key: task.Key{RunID: p.Run, AccountID: p.Account, Part: p.Part}}
	}
	limit := q.Limit(deadPerPage, deadPerPageMax)
	if err := q.Err(); err != nil {
		return nil, err
	}
	rows, end, err := a.store.ListDead(ctx, filter, place, limit+1) // One more tells whether there is a next page.
	if err != nil {
		return nil, err
	}
	rows, next := httpapi.PageOf(rows, limit, func(last dead.DeadSubtask) deadPage {
		return deadPageAt(dead.DeadPlace{At: last.DeadAt, Key: last.Key})
	})
	if next == "" && !end.At.IsZero() {
		next = httpapi.PageToken(deadPageAt(end)) // It has not looked at all of them.
	}
	shown, err := a.describeDead(ctx, rows)
	if err != nil {
		return nil, err
	}
	return gin.H{"dead": shown, "next": next}, nil
}

// deadGroupsJSON is the dead subtasks by error print.
type deadGroupsJSON struct {
	Total     int64              `json:"total"`     // dead subtasks that the filter chooses
	Redriving int64              `json:"redriving"` // of them, those that a run is taking up
	Stake     overview.DeadStake `json:"stake"`     // of those that died last
	Groups    []deadGroupJSON    `json:"groups"`
	More      bool               `json:"more"` // there are more groups, of fewer subtasks each
}

type deadGroupJSON struct {
	Print     string    `json:"print"`
	Count     int64     `json:"count"`
	Redriving int64     `json:"redriving"`
	Healed    int64     `json:"healed,omitempty"` // of those that the stake has looked at
	First     time.Time `json:"first_dead_at"`
	Last      time.Time `json:"last_dead_at"`
	Example   string    `json:"example"`
	Classes   []string  `json:"classes"`
	Tasks     []string  `json:"tasks"`
}

func (a *deadRoutes) groupDead(c *gin.Context, q *httpapi.Query) (any, error) {
	ctx := c.Request.Context()
	filter, err := a.filters.resolve(ctx, deadFilterOf(q), q.Refuse)
	if err != nil {
		return nil, err
	}
	limit := q.Limit(deadPerPage, deadPerPageMax)
	if err := q.Err(); err != nil {
		return nil, err
	}
	groups, total, err := a.store.DeadGroups(ctx, filter, limit+1)
	if err != nil {
		return nil, err
	}
	stake, healed, err := overview.StakeOfDead(ctx, a.store, filter, a.clock.Now())
	if err != nil {
		return nil, err
	}
	answer := deadGroupsJSON{Stake: stake, Total: total.All, Redriving: total.Redriving, Groups: []deadGroupJSON{}}
	names := map[int64]string{}
	if len(groups) > limit {
		groups, answer.More = groups[:limit], true
	}
	for _, g := range groups {
		j := deadGroupJSON{
			Print: g.Print, Count: g.Count, Redriving: g.Redriving, Healed: healed[g.Print], First: g.First, Last: g.Last, Example: g.Example, Classes: g.Classes,
		}
		for _, id := range g.TaskIDs {
			if names[id] == "" {
				if names[id], err = a.nameOfTask(ctx, id); err != nil {
					return nil, err
				}
			}
			j.Tasks = append(j.Tasks, names[id])
		}
		answer.Groups = append(answer.Groups, j)
	}
	return answer, nil
}

// nameOfTask is what a task of dead subtasks is called.
func (a *deadRoutes) nameOfTask(ctx context.Context, id int64) (string, error) {
	if t, known := a.tasks.byID(id); known {
		return t.Name, nil
	}
	ofRun, err := a.store.DeadTaskName(ctx, id)
	return a.tasks.nameOf(id, ofRun), err
}

// deadDetail is one dead subtask with all that is known of it.
type deadDetail struct {
	deadJSON
	Run    *runJSON        `json:"run,omitempty"`    // nothing when its row is gone
	Params json.RawMessage `json:"params,omitempty"` // that the run had
	Log    *subtaskLogJSON `json:"log,omitempty"`    // nothing when its day's log was dropped
}

type subtaskLogJSON struct {
	State     task.State `json:"state"`
	Delivery  int        `json:"delivery"` // how often it was sent
	Node      string     `json:"node"`     // who worked on it last
	CreatedAt time.Time  `json:"created_at"`
	StartedAt time.Time  `json:"started_at,omitzero"` // the last try
	EndedAt   time.Time  `json:"ended_at,omitzero"`
	Rows      int64      `json:"rows"`  // written by the last try
	Calls     int64      `json:"calls"` // of all tries
}

func (a *deadRoutes) getDead(c *gin.Context, q *httpapi.Query) (any, error) {
	key, err := a.accounts.subtask(c.Request.Context(), q, q.Get("run"), q.Get("account_id"), "a dead subtask")
	if err != nil {
		return nil, err
	}
	answer, err := a.detailDead(c.Request.Context(), key)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, httpapi.NewProblem(http.StatusNotFound,
			"There is no such dead subtask: the list of dead subtasks has those that there are. One that was taken up again is in its new run.")
	}
	return answer, err
}

func (a *deadRoutes) detailDead(ctx context.Context, key task.Key) (*deadDetail, error) {
	row, err := a.store.DeadSubtask(ctx, key)
	if err != nil {
		return nil, err
	}
	shown, err := a.describeDead(ctx, []dead.DeadSubtask{row})
	if err != nil {
		return nil, err
	}
	d := &deadDetail{deadJSON: shown[0]}
	run, err := a.store.Run(ctx, key.RunID)
	switch {
	case err == nil:
		j := describeRun(&run)
		d.Run, d.Params = &j, run.Settings.Params
	case !errors.Is(err, sqldb.ErrNotFound):
		return nil, err
	}
	log, err := a.store.SubtaskLog(ctx, key)
	switch {
	case err == nil:
		d.Log = &subtaskLogJSON{
			State: log.State, Delivery: log.Delivery, Node: log.Node, CreatedAt: log.CreatedAt, StartedAt: log.StartedAt,
			EndedAt: log.EndedAt, Rows: log.Rows, Calls: log.Calls,
		}
	case !errors.Is(err, sqldb.ErrNotFound):
		return nil, err
	}
	return d, nil
}
