// Package api holds the operators' routes under /api/v1: tasks, orders by hand, runs, and the coverage of an account.
//
// Every producer serves them, also one that does not lead: reads come from the tables, and an order is a row whose run
// the leader makes. Beside them is the callback of authorisations, /oauth/:media/callback. docs/api.md describes the routes for those who call them,
// docs/openapi.yaml for programs.
package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/store"
	"adsync/docs"
	"adsync/media"
	"adsync/media/oauth"
	"adsync/producer"
	"adsync/producer/overview"
)

// Producer is what the routes need of the process's producer.
type Producer interface {
	// Tasks returns the rows of cron_task as this process last loaded them.
	Tasks() []producer.Task
	// Reload reads the table again and has the changes take effect.
	Reload(ctx context.Context) error
	// CheckTask tells what would be wrong with the row of an id if cron_task and lane held these rows.
	CheckTask(ctx context.Context, id int64, rows []store.TaskRow, lanes []store.Lane) ([]*config.FieldError, error)
	// Wake has the leader, if it is this process, look for orders at once.
	Wake()
}

var _ Producer = (*producer.Producer)(nil)

// Deps are what the routes work with.
type Deps struct {
	Store    *store.Store
	Producer Producer
	Registry *media.Registry
	// Platforms tell which reports and lists an account has.
	Platforms []media.Platform
	// Flows authorise logins, by the names of their platforms.
	Flows map[string]*oauth.Flow
	// Limits are those of all processes.
	Limits Limits
	// LogLevels keeps what processes log.
	LogLevels LogLevels
	// Consumers are those of all processes.
	Consumers Consumers
	// Clock is that of ticks and business days.
	Clock clock.Clock
	// Overview tells how everything stands.
	Overview func(ctx context.Context) overview.Overview
}

// Routes returns the routes, to be registered on a server.
func Routes(deps Deps) []httpapi.Route {
	a := &api{deps}
	routes := []httpapi.Route{
		{Method: http.MethodGet, Path: "/api/v1/overview", Role: httpapi.Viewer, Handler: a.getOverview},
		{Method: http.MethodGet, Path: "/api/v1/openapi.yaml", Role: httpapi.Viewer, Handler: getOpenAPI},
		{Method: http.MethodGet, Path: "/api/v1/tasks", Role: httpapi.Viewer, Handler: a.listTasks},
		{Method: http.MethodGet, Path: "/api/v1/tasks/:name", Role: httpapi.Viewer, Handler: a.getTask},
		{Method: http.MethodPost, Path: "/api/v1/tasks", Role: httpapi.Admin, Handler: a.addTask},
		{Method: http.MethodPatch, Path: "/api/v1/tasks/:name", Role: httpapi.Admin, Handler: a.editTask},
		{Method: http.MethodPost, Path: "/api/v1/tasks/:name/enable", Role: httpapi.Operator, Handler: a.enableTask},
		{Method: http.MethodPost, Path: "/api/v1/tasks/:name/disable", Role: httpapi.Operator, Handler: a.disableTask},
		{Method: http.MethodPost, Path: "/api/v1/tasks/reload", Role: httpapi.Operator, Handler: a.reloadTasks},
		{Method: http.MethodPost, Path: "/api/v1/tasks/:name/run", Role: httpapi.Operator, Handler: a.orderRun},
		{Method: http.MethodGet, Path: "/api/v1/runs", Role: httpapi.Viewer, Handler: a.listRuns},
		{Method: http.MethodGet, Path: "/api/v1/runs/:id", Role: httpapi.Viewer, Handler: a.getRun},
		{Method: http.MethodGet, Path: "/api/v1/runs/:id/subtasks", Role: httpapi.Viewer, Handler: a.listRunSubtasks},
		{Method: http.MethodPost, Path: "/api/v1/runs/:id/cancel", Role: httpapi.Operator, Handler: a.cancelRun},
		{Method: http.MethodPost, Path: "/api/v1/runs/:id/rerun", Role: httpapi.Operator, Handler: a.rerunFailed},
		{Method: http.MethodGet, Path: "/api/v1/cancels", Role: httpapi.Viewer, Handler: a.listCancels},
		{Method: http.MethodPost, Path: "/api/v1/cancels", Role: httpapi.Operator, Handler: a.orderCancel},
		{Method: http.MethodGet, Path: "/api/v1/pauses", Role: httpapi.Viewer, Handler: a.listPauses},
		{Method: http.MethodPost, Path: "/api/v1/pauses", Role: httpapi.Operator, Handler: a.orderPause},
		{Method: http.MethodDelete, Path: "/api/v1/pauses/:id", Role: httpapi.Operator, Handler: a.liftPause},
		{Method: http.MethodGet, Path: "/oauth/:media/callback", Role: httpapi.Anyone, Handler: a.oauthCallback},
		{Method: http.MethodGet, Path: "/api/v1/due", Role: httpapi.Viewer, Handler: a.listDue},
		{Method: http.MethodGet, Path: "/api/v1/consumers", Role: httpapi.Viewer, Handler: a.listConsumers},
		{Method: http.MethodGet, Path: "/api/v1/accounts", Role: httpapi.Viewer, Handler: a.listAccounts},
		{Method: http.MethodGet, Path: "/api/v1/accounts/:media/:external_id/subtasks", Role: httpapi.Viewer, Handler: a.listAccountSubtasks},
		{Method: http.MethodGet, Path: "/api/v1/accounts/:media/:external_id", Role: httpapi.Viewer, Handler: a.getAccount},
		{Method: http.MethodGet, Path: "/api/v1/accounts/:media/:external_id/coverage", Role: httpapi.Viewer, Handler: a.getCoverage},
		{Method: http.MethodGet, Path: "/api/v1/coverage/holes", Role: httpapi.Viewer, Handler: a.listHoles},
		{Method: http.MethodPost, Path: "/api/v1/coverage/fill", Role: httpapi.Operator, Handler: a.fillHoles},
		{Method: http.MethodGet, Path: "/api/v1/reconciliation", Role: httpapi.Viewer, Handler: a.listDifferences},
		{Method: http.MethodGet, Path: "/api/v1/subtasks/:run/:account_id/wait", Role: httpapi.Viewer, Handler: a.explainWait},
		{Method: http.MethodGet, Path: "/api/v1/limits", Role: httpapi.Viewer, Handler: a.listLimits},
		{Method: http.MethodPost, Path: "/api/v1/limits/end-pause", Role: httpapi.Operator, Handler: a.endLimitPauses},
		{Method: http.MethodGet, Path: "/api/v1/log-level", Role: httpapi.Viewer, Handler: a.getLogLevel},
		{Method: http.MethodPut, Path: "/api/v1/log-level", Role: httpapi.Admin, Handler: a.putLogLevel},
		{Method: http.MethodDelete, Path: "/api/v1/log-level", Role: httpapi.Admin, Handler: a.endLogLevel},
		{Method: http.MethodGet, Path: "/api/v1/fields", Role: httpapi.Viewer, Handler: a.listFields},
		{Method: http.MethodPut, Path: "/api/v1/fields", Role: httpapi.Admin, Handler: a.putField},
		{Method: http.MethodGet, Path: "/api/v1/accounts/:media/:external_id/changes", Role: httpapi.Viewer, Handler: a.listChanges},
		{Method: http.MethodGet, Path: "/api/v1/dead", Role: httpapi.Viewer, Handler: a.listDead},
		{Method: http.MethodGet, Path: "/api/v1/dead/groups", Role: httpapi.Viewer, Handler: a.groupDead},
		{Method: http.MethodGet, Path: "/api/v1/dead/subtask", Role: httpapi.Viewer, Handler: a.getDead},
		{Method: http.MethodPost, Path: "/api/v1/dead/redrive", Role: httpapi.Operator, Handler: a.redriveDead},
		{Method: http.MethodPost, Path: "/api/v1/dead/drop", Role: httpapi.Operator, Handler: a.dropDead},
		{Method: http.MethodGet, Path: "/api/v1/audit", Role: httpapi.Viewer, Handler: a.listAudit},
	}
	for i, r := range routes {
		routes[i].Handler = blaming(r.Handler)
	}
	return routes
}

// blaming makes a handler's error of a database that cannot do its work now an *httpapi.UnavailableError.
func blaming(handler httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(c *gin.Context) error {
		err := handler(c)
		if reason, unavailable := store.Unavailable(err); unavailable {
			return &httpapi.UnavailableError{Server: "database", Reason: reason, Err: err}
		}
		return err
	}
}

type api struct{ Deps }

// getOpenAPI describes the routes for programs.
func getOpenAPI(c *gin.Context) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	c.Data(http.StatusOK, "application/yaml", docs.OpenAPI)
	return nil
}
