package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/openapi"
	"adsync/base/schedule"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
	"adsync/producer"
	"adsync/producer/api/outside"
)

// accountErrorsMax is how many refused accounts of one order the answer names.
const accountErrorsMax = 20

// aheadOfUTC is how far the earliest time zone is ahead of UTC.
const aheadOfUTC = 14 * time.Hour

// checkScope refuses an order that nothing narrows down, unless its scope is "all": an order that has lost its filter
// must not apply to everything.
func checkScope(errs *httpapi.Refusals, scope string, narrowed bool, by, whole string) {
	switch {
	case scope != "" && narrowed:
		errs.Refuse("scope", "does not go with %s: leave one of the two out", by)
	case scope == "" && !narrowed:
		errs.Refuse("scope", "is missing: want %s, or \"scope\": %q for %s", by, task.ScopeAll, whole)
	}
}

// checkOrderFields refuses fields of an order that do not go together.
func checkOrderFields(r *client.OrderRequest) error {
	var errs httpapi.Refusals
	checkScope(&errs, r.Scope, len(r.Accounts) > 0, "accounts", "the task's whole scope")
	if r.Confirm && len(r.Accounts) == 0 {
		errs.Refuse("confirm", "needs accounts: name the accounts whose answers are to be stored without question")
	}
	valid := true
	for _, d := range []struct{ field, value string }{{"from", r.From}, {"to", r.To}} {
		// The task limits how far ahead an order may go; checkOrder tests that.
		if _, err := day.GivenAhead(d.value, clock.System{}.Now()); d.value != "" && err != nil {
			errs.Refuse(d.field, "%q is refused: %s", d.value, err)
			valid = false
		}
	}
	switch {
	case r.From != "" && r.To == "":
		errs.Refuse("to", "is missing: from and to go together; for one day give it twice")
	case r.From == "" && r.To != "":
		errs.Refuse("from", "is missing: from and to go together; for one day give it twice")
	case valid && r.From > r.To:
		errs.Refuse("from", "%s is refused: want a day up to %s, the value of to", r.From, r.To)
	}
	return errs.Err()
}

// orderWork is the work that an order makes.
type orderWork struct {
	accounts []int64 // our ids of the accounts that it names
	subtasks int64
}

// orderStore is what these routes need of the store.
type orderStore interface {
	accountNames
	AddOrder(ctx context.Context, o ledger.RunOrder) error
	OrderUnder(ctx context.Context, o ledger.RunOrder) (runID int64, err error)
	TaskPace(ctx context.Context, taskID int64) (dead.Pace, error)
	CountUsableLogins(ctx context.Context, media string) (int64, error)
	ScopeZones(ctx context.Context, media string, tiers []string) (map[string]int64, error)
}

// orderRoutes serve the orders of runs by hand.
type orderRoutes struct {
	store    orderStore
	tasks    taskList
	registry *media.Registry
	producer waker
	audit    auditor
	clock    clock.Clock
}

func (a *orderRoutes) orderRun(op *openapi.Operation) httpapi.HandlerFunc {
	return func(c *gin.Context) error {
		t, err := a.tasks.inPath(c)
		if err != nil {
			return err
		}
		var request client.OrderRequest
		if err := httpapi.Bind(c, op.Body, &request); err != nil {
			return err
		}
		if err := checkOrderFields(&request); err != nil {
			return err
		}
		return a.placeOrder(c, t, &request)
	}
}

// placeOrder writes an order of a task. For a dry run it only answers with the work that the order would make.
func (a *orderRoutes) placeOrder(c *gin.Context, t producer.Task, request *client.OrderRequest) error {
	// The accounts are a set: an account that is named twice counts once.
	slices.Sort(request.Accounts)
	request.Accounts = slices.Compact(request.Accounts)

	now := a.clock.Now()
	order := task.Order{Scope: request.Scope, From: day.Day(request.From), To: day.Day(request.To),
		Confirm: request.Confirm, Compare: true, Spare: request.Spare, Params: request.Params,
		By: httpapi.CallerOf(c).Name}
	if u := request.Under; u != nil {
		var err error
		if order.Under, err = outside.ReadUnder(u); err != nil {
			return err
		}
	}
	work, err := a.checkOrder(c.Request.Context(), t, request, order, now)
	if err != nil {
		return err
	}
	if request.DryRun {
		return a.answerDryRun(c, t, request, work)
	}
	order.Accounts = work.accounts
	runID := task.NewRunID(now)
	answer := client.Order{
		RunID: formatID(runID), Task: t.Name, State: statePending, Accounts: append([]string{}, request.Accounts...),
		From: string(order.From), To: string(order.To), Confirm: order.Confirm, Spare: order.Spare, Params: order.Params,
		Under: request.Under, OrderedBy: order.By, OrderedAt: now,
	}
	written := ledger.RunOrder{RunID: runID, TaskID: t.ID, Request: order, OrderedAt: now}
	apply := func(ctx context.Context) (any, error) {
		if order.Under == nil {
			return nil, a.store.AddOrder(ctx, written)
		}
		id, err := a.store.OrderUnder(ctx, written)
		answer.RunID = formatID(id)
		return nil, outside.RefusedUnder(err, request.Under)
	}
	if err := a.audit.do(c, "task.run", settings.AuditTasks+"/"+t.Name, nil, answer, apply); err != nil {
		return err
	}
	a.producer.Wake()
	c.Header("Location", "/api/v1/runs/"+answer.RunID)
	c.JSON(http.StatusAccepted, answer)
	return nil
}

func (a *orderRoutes) answerDryRun(c *gin.Context, t producer.Task, request *client.OrderRequest,
	work orderWork) error {
	pace, err := a.store.TaskPace(c.Request.Context(), t.ID)
	if err != nil {
		return err
	}
	answer := client.OrderPlan{
		DryRun: true, Task: t.Name, Accounts: append([]string{}, request.Accounts...), From: string(day.Day(request.From)),
		To: string(day.Day(request.To)), Subtasks: work.subtasks,
	}
	answer.EstimatedCalls, answer.EstimatedSeconds = estimate(work.subtasks, t.FanOutRate, pace)
	c.JSON(http.StatusOK, answer)
	return nil
}

// checkOrder plans the order as the leader will, so that an order that cannot work is refused before it is written.
func (a *orderRoutes) checkOrder(ctx context.Context, t producer.Task, request *client.OrderRequest, order task.Order,
	now time.Time) (work orderWork, err error) {
	if !t.Usable {
		p := httpapi.NewProblem(http.StatusConflict,
			"The row of task %s is not usable, and this process knows no earlier good version of it: correct the fields that "+
				"errors names, then reload the tasks.", t.Name)
		for _, e := range t.Errors {
			p.Errors = append(p.Errors, httpapi.FieldError{Field: e.Key, Detail: strings.TrimPrefix(e.Error(), e.Key+": ")})
		}
		return work, p
	}
	handler, known := a.registry.Get(t.Handler)
	if !known {
		return work, fmt.Errorf("order task %s: there is no handler %s", t.Name, t.Handler)
	}
	if handler.Target != media.Accounts && len(request.Accounts) > 0 {
		return work, httpapi.Refused("accounts", `this task does not work on accounts: order it with "scope": "all"`)
	}
	if latest := day.Of(now.Add(aheadOfUTC), time.UTC); order.To > latest {
		return work, httpapi.Refused("to", "%s is refused: want a day up to %s, the latest that has begun for any account",
			order.To, latest)
	}
	params, err := producer.ChangedParams(a.registry, &t.Task, &order)
	if err != nil {
		return work, refusedParams(err)
	}
	plan := media.Plan{PlannedAt: now, Params: params, From: order.From, To: order.To}
	switch handler.Target {
	case media.Logins:
		if order.From != "" {
			return work, httpapi.Refused("from", "this task has no days: remove from and to")
		}
		work.subtasks, err = a.store.CountUsableLogins(ctx, t.Media)
		return work, err
	case media.Once:
		if handler.List != nil {
			if plan.Parts, err = handler.List(ctx); err != nil {
				return work, err
			}
		}
		work.subtasks, err = countParts(handler, plan, map[string]int64{t.Timezone: 1})
		return work, err
	}
	if len(request.Accounts) > 0 {
		return a.checkAccounts(ctx, t, handler, plan, request.Accounts)
	}
	zones, err := a.store.ScopeZones(ctx, t.Media, t.Tiers())
	if err != nil {
		return work, err
	}
	if len(zones) == 0 {
		return work,
			httpapi.Refused("accounts", "the task's scope (%s) has no account of %s that is bound and not parked: name accounts",
				t.Scope, t.Media)
	}
	work.subtasks, err = countParts(handler, plan, zones)
	return work, err
}

// checkAccounts returns the work of an order of the named accounts, or refuses the accounts that cannot be pulled.
func (a *orderRoutes) checkAccounts(ctx context.Context, t producer.Task, handler media.Handler, plan media.Plan,
	externalIDs []string) (work orderWork, err error) {
	accounts, err := a.store.NamedAccounts(ctx, t.Media, externalIDs)
	if err != nil {
		return work, err
	}
	var errs httpapi.Refusals
	refuse := func(format string, args ...any) { errs.Refuse("accounts", format, args...) }
	zones := map[string]int64{}
	for _, externalID := range externalIDs {
		account, known := accounts[externalID]
		_, zoneErr := schedule.Zone(account.Timezone)
		switch {
		case !known:
			refuse("%q is not a known account of %s", externalID, t.Media)
		case !account.Bound:
			refuse("%q is not bound: it is not pulled until adsync bind account binds it", externalID)
		case account.Parked != "":
			refuse("%q is parked (%s): it is not pulled until the reason is fixed", externalID, account.Parked)
		case zoneErr != nil:
			refuse("%q has an unusable time zone in media_account: %s", externalID, zoneErr.Error())
		default:
			if !slices.Contains(work.accounts, account.ID) {
				zones[account.Timezone]++
			}
			work.accounts = append(work.accounts, account.ID)
		}
	}
	if n := len(errs); n > accountErrorsMax {
		errs = errs[:accountErrorsMax]
		refuse("and %d more", n-accountErrorsMax)
	}
	if len(errs) > 0 {
		return work, httpapi.Invalid(errs...)
	}
	slices.Sort(work.accounts)
	work.accounts = slices.Compact(work.accounts) // Two names may be of the same account.
	work.subtasks, err = countParts(handler, plan, zones)
	return work, err
}

// countParts returns how many subtasks the handler plans for an order. The keys of zones are time zones, the values
// their numbers of accounts. The handler plans the order in each zone, and the first refusal refuses the order.
// Unusable zones are skipped, unless all are unusable: the run names their accounts.
func countParts(handler media.Handler, plan media.Plan, zones map[string]int64) (subtasks int64, err error) {
	var unusable error
	planned := false
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		var err error
		if plan.Zone, err = schedule.Zone(zone); err != nil {
			unusable = cmp.Or(unusable, err)
			continue
		}
		planned = true
		parts, err := handler.Parts(plan)
		if err != nil {
			return 0, refusedParts(err, zone, len(zones) > 1)
		}
		subtasks += int64(len(parts)) * zones[zone]
	}
	if !planned {
		return 0, httpapi.NewProblem(http.StatusConflict, "The order cannot be planned: %s.", unusable.Error())
	}
	return subtasks, nil
}

// refusedParts turns a handler's refusal into a problem. The handler's text begins with the name of the wrong field.
func refusedParts(err error, zone string, withZone bool) error {
	field, detail, ok := strings.Cut(err.Error(), ": ")
	if !ok || !slices.Contains([]string{"from", "to"}, field) {
		field, detail = "", err.Error()
	}
	if withZone {
		detail += " (accounts in " + zone + ")"
	}
	if field == "" {
		return httpapi.NewProblem(http.StatusUnprocessableEntity, "The order cannot be planned: %s.", detail)
	}
	return httpapi.Refused(field, "%s", detail)
}

// refusedParams turns a handler's refusal of an order's params into a problem.
func refusedParams(err error) error {
	field, detail, ok := strings.Cut(err.Error(), ": ")
	if !ok || !strings.HasPrefix(field, "params") {
		field, detail = "params", err.Error()
	}
	return httpapi.Refused(field, "%s", detail)
}
