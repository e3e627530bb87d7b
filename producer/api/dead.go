package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/openapi"
	"adsync/base/sqldb"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	storeoverview "adsync/base/store/overview"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer/overview"
)

func (a *deadRoutes) describeDead(ctx context.Context, rows []dead.DeadSubtask) ([]client.DeadSubtask, error) {
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
	all := make([]client.DeadSubtask, len(rows))
	for i, d := range rows {
		all[i] = client.DeadSubtask{
			RunID: formatID(d.RunID), AccountID: formatID(d.AccountID), Account: accounts[d.AccountID], Part: d.Part,
			TaskID: formatID(d.TaskID), Task: d.TaskName, Media: d.Media, Attempts: int64(d.Attempt),
			ErrorClass: d.ErrorClass, ErrorPrint: d.ErrorPrint, Error: d.ErrorText, DeadAt: d.DeadAt,
			RedriveRunID: idOrNone(d.RedriveRun), Healed: healed[d.Key],
		}
	}
	return all, nil
}

// deadPage is the token of a page: the end of the page before it.
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
	ListDead(ctx context.Context, f task.DeadFilter, after dead.DeadPlace, limit int) (all []dead.DeadSubtask,
		end dead.DeadPlace, err error)
	DeadGroups(ctx context.Context, f task.DeadFilter, limit int) (groups []dead.DeadGroup, total dead.DeadTotal,
		err error)
	DeadSubtask(ctx context.Context, k task.Key) (dead.DeadSubtask, error)
	DeadTaskName(ctx context.Context, taskID int64) (string, error)
	Healed(ctx context.Context, dead []dead.DeadSubtask) (map[task.Key]bool, error)
	Run(ctx context.Context, id int64) (ledger.Run, error)
	SubtaskLog(ctx context.Context, k task.Key) (ledger.SubtaskLog, error)
	Glance(ctx context.Context, look func(g *storeoverview.Glance) error) error
}

// deadRoutes serve the dead subtasks, their groups, and what is at stake.
type deadRoutes struct {
	store    deadStore
	filters  deadFilters
	accounts accountFinder
	tasks    taskList
	clock    clock.Clock
}

func (a *deadRoutes) listDead(c *gin.Context, params *client.ListDeadParams) (any, error) {
	ctx := c.Request.Context()
	filter, err := a.filters.resolve(ctx, deadFilter{
		Task: params.Task, Media: params.Media, Account: params.Account, Run: params.Run, Print: params.Print,
		Class: params.Class, Text: params.Text, Since: params.Since, Until: params.Until,
	})
	if err != nil {
		return nil, err
	}
	var place dead.DeadPlace
	switch p, err := httpapi.PageAfter(params.After, func(p deadPage) bool { return openapi.IsMoment(p.At) }); {
	case err != nil:
		return nil, err
	case p != nil:
		place = dead.DeadPlace{At: time.UnixMilli(p.At), Key: task.Key{RunID: p.Run, AccountID: p.Account, Part: p.Part}}
	}
	limit := int(params.Limit)
	rows, end, err := a.store.ListDead(ctx, filter, place, limit+1) // One more shows whether there is a next page.
	if err != nil {
		return nil, err
	}
	rows, next := httpapi.PageOf(rows, limit, func(last dead.DeadSubtask) deadPage {
		return deadPageAt(dead.DeadPlace{At: last.DeadAt, Key: last.Key})
	})
	if next == "" && !end.At.IsZero() {
		next = httpapi.PageToken(deadPageAt(end)) // The search stopped before the end.
	}
	shown, err := a.describeDead(ctx, rows)
	if err != nil {
		return nil, err
	}
	return client.DeadList{Dead: shown, Next: next}, nil
}

func (a *deadRoutes) groupDead(c *gin.Context, params *client.GroupDeadParams) (any, error) {
	ctx := c.Request.Context()
	filter, err := a.filters.resolve(ctx, deadFilter{
		Task: params.Task, Media: params.Media, Account: params.Account, Run: params.Run, Print: params.Print,
		Class: params.Class, Text: params.Text, Since: params.Since, Until: params.Until,
	})
	if err != nil {
		return nil, err
	}
	limit := int(params.Limit)
	groups, total, err := a.store.DeadGroups(ctx, filter, limit+1)
	if err != nil {
		return nil, err
	}
	stake, healed, err := overview.StakeOfDead(ctx, a.store, filter, a.clock.Now())
	if err != nil {
		return nil, err
	}
	answer := client.DeadGroups{Stake: stake, Total: total.All, Redriving: total.Redriving, Groups: []client.DeadGroup{}}
	names := map[int64]string{}
	if len(groups) > limit {
		groups, answer.More = groups[:limit], true
	}
	for _, g := range groups {
		j := client.DeadGroup{
			Print: g.Print, Count: g.Count, Redriving: g.Redriving, Healed: healed[g.Print], FirstDeadAt: g.First,
			LastDeadAt: g.Last, Example: g.Example, Classes: g.Classes,
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

// nameOfTask returns the name of a task of dead subtasks.
func (a *deadRoutes) nameOfTask(ctx context.Context, id int64) (string, error) {
	if t, known := a.tasks.byID(id); known {
		return t.Name, nil
	}
	ofRun, err := a.store.DeadTaskName(ctx, id)
	return a.tasks.nameOf(id, ofRun), err
}

func (a *deadRoutes) getDead(c *gin.Context, params *client.GetDeadParams) (any, error) {
	key, err := a.accounts.subtask(c.Request.Context(), params.Run, params.AccountID, params.Part, "a dead subtask")
	if err != nil {
		return nil, err
	}
	answer, err := a.detailDead(c.Request.Context(), key)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, httpapi.NewProblem(http.StatusNotFound,
			"There is no such dead subtask: want one in the list of dead subtasks. After a redrive a subtask is in its new run.")
	}
	return answer, err
}

func (a *deadRoutes) detailDead(ctx context.Context, key task.Key) (*client.DeadSubtask, error) {
	row, err := a.store.DeadSubtask(ctx, key)
	if err != nil {
		return nil, err
	}
	shown, err := a.describeDead(ctx, []dead.DeadSubtask{row})
	if err != nil {
		return nil, err
	}
	d := &shown[0]
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
		d.Log = &client.SubtaskLog{
			State: client.SubtaskState(log.State), Delivery: int64(log.Delivery), Node: log.Node, CreatedAt: log.CreatedAt,
			StartedAt: log.StartedAt,
			EndedAt:   log.EndedAt, Rows: log.Rows, Calls: log.Calls,
		}
	case !errors.Is(err, sqldb.ErrNotFound):
		return nil, err
	}
	return d, nil
}
