package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/openapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
)

// subtasksSince is how far back the subtasks of an account are listed by default.
const subtasksSince = 24 * time.Hour

// The tokens of pages: the end of the page before.
type (
	runSubtasksPage struct {
		Account int64  `json:"account"`
		Part    string `json:"part"`
	}
	accountSubtasksPage struct {
		Run  int64  `json:"run"`
		Part string `json:"part"`
	}
	waitingPage struct {
		At      int64  `json:"at"` // milliseconds
		Run     int64  `json:"run"`
		Account int64  `json:"account"`
		Part    string `json:"part"`
	}
)

// subtaskStore is what these routes need of the store.
type subtaskStore interface {
	RunSubtasks(ctx context.Context, runID int64, f ledger.SubtaskFilter, after ledger.AccountPart,
		limit int) (page []ledger.Subtask, next *ledger.AccountPart, err error)
	AccountSubtasks(ctx context.Context, a settings.Account, f ledger.SubtaskFilter, since, until time.Time,
		after task.Key, limit int) (
		page []ledger.AccountSubtask, next *task.Key, err error)
	WaitingSubtasks(ctx context.Context, f ledger.WaitingFilter, after ledger.WaitingPlace,
		limit int) (page []ledger.WaitingSubtask, next *ledger.WaitingPlace, err error)
	DueOf(ctx context.Context, keys []task.Key) (map[task.Key]ledger.Due, error)
	Runs(ctx context.Context, ids []int64) ([]ledger.Run, error)
	SubtaskLog(ctx context.Context, k task.Key) (ledger.SubtaskLog, error)
	Failures(ctx context.Context, k task.Key) ([]ledger.Failure, error)
}

// subtaskRoutes serve the subtasks of a run, of an account, and those that wait to be sent again.
type subtaskRoutes struct {
	store    subtaskStore
	accounts accountFinder
	runs     runFinder
	clock    clock.Clock
}

func (a *subtaskRoutes) listRunSubtasks(c *gin.Context, params *client.ListRunSubtasksParams) (any, error) {
	var place ledger.AccountPart
	switch p, err := httpapi.PageAfter(params.After, func(p runSubtasksPage) bool { return p.Account >= 0 }); {
	case err != nil:
		return nil, err
	case p != nil:
		place = ledger.AccountPart{AccountID: p.Account, Part: p.Part}
	}
	ctx := c.Request.Context()
	run, err := a.runs.named(ctx, c.Param("id"))
	if err != nil {
		return nil, err
	}
	filter := ledger.SubtaskFilter{State: task.State(params.State), Text: params.Text}
	rows, end, err := a.store.RunSubtasks(ctx, run.ID, filter, place, int(params.Limit))
	if err != nil {
		return nil, err
	}
	next := ""
	if end != nil {
		next = httpapi.PageToken(runSubtasksPage{Account: end.AccountID, Part: end.Part})
	}
	all := make([]ledger.AccountSubtask, len(rows))
	for i := range rows {
		all[i] = ledger.AccountSubtask{Subtask: rows[i], TaskName: run.TaskName, PlannedAt: run.PlannedAt}
	}
	shown, err := a.describeSubtasks(ctx, all)
	if err != nil {
		return nil, err
	}
	return client.SubtaskList{Subtasks: shown, Next: next}, nil
}

// getSubtask shows one subtask, with the error of each delivery that failed.
func (a *subtaskRoutes) getSubtask(c *gin.Context, params *client.GetSubtaskParams) (any, error) {
	ctx := c.Request.Context()
	key, err := a.accounts.subtask(ctx, c.Param("run"), c.Param("account_id"), params.Part, "a subtask")
	if err != nil {
		return nil, err
	}
	run, err := a.runs.named(ctx, c.Param("run"))
	if err != nil {
		return nil, err
	}
	log, err := a.store.SubtaskLog(ctx, key)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, noSubtask()
	}
	if err != nil {
		return nil, err
	}
	shown, err := a.describeSubtasks(ctx, []ledger.AccountSubtask{{
		Subtask: ledger.Subtask{Key: key, SubtaskLog: log}, TaskName: run.TaskName, PlannedAt: run.PlannedAt,
	}})
	if err != nil {
		return nil, err
	}
	failures, err := a.store.Failures(ctx, key)
	if err != nil {
		return nil, err
	}
	answer := client.SubtaskDetail{Subtask: shown[0], Failures: make([]client.SubtaskFailure, len(failures))}
	for i, f := range failures {
		answer.Failures[i] = client.SubtaskFailure{
			Delivery: int64(f.Delivery), Attempts: int64(f.Attempt), State: client.SubtaskState(f.State), Node: f.Node,
			StartedAt: f.StartedAt.Time, EndedAt: f.EndedAt.Time, ErrorClass: f.ErrorClass, Error: f.ErrorText,
			Calls: int64(f.Calls),
		}
	}
	return answer, nil
}

func noSubtask() error {
	return httpapi.NewProblem(http.StatusNotFound,
		"There is no such subtask, or its day's log was dropped: want a subtask of a run in the list of runs.")
}

func (a *subtaskRoutes) listAccountSubtasks(
	c *gin.Context, params *client.ListAccountSubtasksParams, _ media.Platform, account settings.Account,
) (any, error) {
	until := params.Until // Without it the store applies no end: another process's clock may be ahead of this one's.
	if until.IsZero() {
		until = a.clock.Now()
	}
	since := params.Since
	if since.IsZero() {
		since = until.Add(-subtasksSince)
	}
	if since.After(until) {
		return nil, httpapi.Refused("since", "%s is refused: want a time up to that of until, %s",
			since.Format(time.RFC3339), until.Format(time.RFC3339))
	}
	after := task.Key{AccountID: account.ID}
	switch p, err := httpapi.PageAfter(params.After, func(p accountSubtasksPage) bool { return p.Run > 0 }); {
	case err != nil:
		return nil, err
	case p != nil:
		after.RunID, after.Part = p.Run, p.Part
	}
	ctx := c.Request.Context()
	filter := ledger.SubtaskFilter{State: task.State(params.State), Text: params.Text}
	rows, last, err := a.store.AccountSubtasks(ctx, account, filter, since, params.Until, after, int(params.Limit))
	if err != nil {
		return nil, err
	}
	next := ""
	if last != nil {
		next = httpapi.PageToken(accountSubtasksPage{Run: last.RunID, Part: last.Part})
	}
	shown, err := a.describeSubtasks(ctx, rows)
	if err != nil {
		return nil, err
	}
	return client.AccountSubtasks{Account: describeAccount(account), Since: since, Until: until, Subtasks: shown,
		Next: next}, nil
}

func (a *subtaskRoutes) describeSubtasks(ctx context.Context, rows []ledger.AccountSubtask) ([]client.Subtask, error) {
	ids := make([]int64, len(rows))
	var waiting []task.Key
	for i := range rows {
		ids[i] = rows[i].AccountID
		if rows[i].State == task.Retrying || rows[i].State == task.Deferred {
			waiting = append(waiting, rows[i].Key)
		}
	}
	accounts, err := a.accounts.externalIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	due, err := a.store.DueOf(ctx, waiting)
	if err != nil {
		return nil, err
	}
	all := make([]client.Subtask, len(rows))
	for i := range rows {
		r := &rows[i]
		all[i] = client.Subtask{
			RunID: formatID(r.RunID), Task: r.TaskName, PlannedAt: r.PlannedAt, AccountID: formatID(r.AccountID),
			Account: accounts[r.AccountID], Part: r.Part,
			State: client.SubtaskState(r.State), Delivery: int64(r.Delivery), Attempts: int64(r.Attempt), Node: r.Node,
			ErrorClass: r.ErrorClass, Error: r.ErrorText,
			CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Rows: r.Rows, Calls: r.Calls,
		}
		if d, ok := due[r.Key]; ok && d.State == r.State {
			all[i].DueAt = d.DueAt
		}
	}
	return all, nil
}

func (a *subtaskRoutes) listDue(c *gin.Context, params *client.ListDueParams) (any, error) {
	filter := ledger.WaitingFilter{
		Media: params.Media, Lane: params.Lane, State: task.State(params.State), Text: params.Text,
	}
	var place ledger.WaitingPlace
	switch p, err := httpapi.PageAfter(params.After, func(p waitingPage) bool { return openapi.IsMoment(p.At) }); {
	case err != nil:
		return nil, err
	case p != nil:
		key := task.Key{RunID: p.Run, AccountID: p.Account, Part: p.Part}
		place = ledger.WaitingPlace{DueAt: time.UnixMilli(p.At), Key: key}
	}
	ctx := c.Request.Context()
	rows, end, err := a.store.WaitingSubtasks(ctx, filter, place, int(params.Limit))
	if err != nil {
		return nil, err
	}
	next := ""
	if end != nil {
		next = httpapi.PageToken(waitingPage{At: end.DueAt.UnixMilli(), Run: end.RunID, Account: end.AccountID,
			Part: end.Part})
	}
	shown, err := a.describeWaiting(ctx, rows)
	if err != nil {
		return nil, err
	}
	return client.WaitingSubtaskList{Due: shown, Next: next}, nil
}

func (a *subtaskRoutes) describeWaiting(ctx context.Context, rows []ledger.WaitingSubtask) ([]client.WaitingSubtask,
	error) {
	accountIDs, runIDs := make([]int64, len(rows)), make([]int64, len(rows))
	for i := range rows {
		accountIDs[i], runIDs[i] = rows[i].AccountID, rows[i].RunID
	}
	accounts, err := a.accounts.externalIDs(ctx, accountIDs)
	if err != nil {
		return nil, err
	}
	slices.Sort(runIDs)
	runs, err := a.store.Runs(ctx, slices.Compact(runIDs))
	if err != nil {
		return nil, err
	}
	all := make([]client.WaitingSubtask, len(rows))
	for i := range rows {
		r := &rows[i]
		all[i] = client.WaitingSubtask{
			RunID: formatID(r.RunID), AccountID: formatID(r.AccountID), Account: accounts[r.AccountID], Part: r.Part,
			Media: r.Media, Lane: r.Lane,
			State: client.WaitingState(r.State), Delivery: int64(r.Delivery), Attempts: int64(r.Attempt), DueAt: r.DueAt,
			Reason: r.Reason,
		}
		if of, ok := slices.BinarySearchFunc(runs, r.RunID,
			func(run ledger.Run, id int64) int { return cmp.Compare(run.ID, id) }); ok {
			all[i].Task = runs[of].TaskName
		}
		switch kind, id, _ := strings.Cut(r.WaitsFor, ":"); kind {
		case "run":
			all[i].WaitsForRun = id
		case "pause":
			all[i].WaitsForPause = id
		case "account":
			all[i].WaitsForAccount = id
		}
	}
	return all, nil
}
