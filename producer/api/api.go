// Package api holds the operators' routes under /api/v1: tasks, orders by hand, runs, and the coverage of an account.
//
// Every producer serves them, also one that does not lead: reads come from the tables, and an order is a row whose run
// the leader makes. Beside them is the callback of authorisations, /oauth/:media/callback. docs/api.md describes the routes for those who call them,
// docs/openapi.yaml for programs.
package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/task"
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
	// CheckTask returns what would be wrong with the row of an id if cron_task and lane held these rows.
	CheckTask(ctx context.Context, id int64, rows []settings.TaskRow, lanes []settings.Lane) ([]*config.FieldError, error)
	// Wake makes the leader, if it is this process, look for orders at once.
	Wake()
}

var _ Producer = (*producer.Producer)(nil)

// waker makes the leader look for orders at once.
type waker interface{ Wake() }

// databaseClock reads the time of the data database.
type databaseClock func(ctx context.Context) (time.Time, error)

// Store is what the routes need of the store, by subject.
type Store interface {
	accountNames
	accountStore
	auditLog
	auditStore
	changeStore
	coverageStore
	deadStore
	deadTasks
	differenceStore
	fieldStore
	holeStore
	limitStore
	orderStore
	redriveStore
	runNames
	runStore
	stopStore
	subtaskStore
	taskStore
	untrustedStore
	waitStore
}

var _ Store = (*store.Store)(nil)

// Deps are what the routes work with.
type Deps struct {
	Store Store
	// Now reads the time of the data database.
	Now      func(ctx context.Context) (time.Time, error)
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
	// Overview reads how everything stands.
	Overview func(ctx context.Context) overview.Overview
	// Why tells whether an account is late, and why.
	Why func(ctx context.Context, account settings.Account) (overview.Why, error)
}

// Routes returns the routes, to be registered on a server. Each subject is in the file of its name.
func Routes(d Deps) []httpapi.Route {
	platforms, tasks, runs, audit := platformList(d.Platforms), taskList{d.Producer}, runFinder{d.Store}, auditor{d.Store}
	accounts := accountFinder{d.Store, platforms}
	filters := deadFilters{d.Store, accounts, tasks}
	aboutTasks := &taskRoutes{d.Store, tasks, d.Producer, d.Clock}
	aboutOrders := &orderRoutes{d.Store, tasks, d.Registry, d.Producer, audit, d.Clock}
	aboutRuns := &runRoutes{d.Store, tasks, d.Registry, d.Clock}
	aboutSubtasks := &subtaskRoutes{d.Store, accounts, runs, d.Clock}
	aboutStops := &stopRoutes{d.Store, accounts, tasks, runs, d.Registry, audit, d.Clock, d.Now}
	aboutDead := &deadRoutes{d.Store, filters, accounts, tasks, d.Clock}
	aboutRedrives := &redriveRoutes{d.Store, filters, tasks, runs, d.Producer, audit, d.Clock, d.Now}
	aboutWaits := &waitRoutes{d.Store, accounts, tasks, d.Limits}
	aboutAccounts := &accountRoutes{d.Store, accounts, platforms, d.Clock}
	aboutHoles := &holeRoutes{d.Store, platforms, tasks, d.Producer, audit, d.Clock}
	aboutDifferences := &differenceRoutes{d.Store, platforms, d.Clock}
	aboutFields := &fieldRoutes{d.Store, platforms}
	aboutLimits := &limitRoutes{d.Store, d.Limits, platforms, d.Producer, audit, d.Now}
	aboutLogLevel := &logLevelRoutes{d.LogLevels, audit, d.Now}
	routes := []httpapi.Route{
		read("/api/v1/overview", (&overviewRoutes{d.Overview}).getOverview),
		{Method: http.MethodGet, Path: "/api/v1/openapi.yaml", Role: httpapi.Viewer, Handler: getOpenAPI},
		read("/api/v1/tasks", aboutTasks.listTasks),
		read("/api/v1/tasks/:name", aboutTasks.getTask),
		sent(http.MethodPost, "/api/v1/tasks", httpapi.Admin, aboutTasks.addTask),
		sent(http.MethodPatch, "/api/v1/tasks/:name", httpapi.Admin, aboutTasks.editTask),
		asked(http.MethodPost, "/api/v1/tasks/:name/enable", httpapi.Operator, aboutTasks.switchTask("task.enable", true)),
		asked(http.MethodPost, "/api/v1/tasks/:name/disable", httpapi.Operator, aboutTasks.switchTask("task.disable", false)),
		asked(http.MethodPost, "/api/v1/tasks/reload", httpapi.Operator, aboutTasks.reloadTasks),
		{Method: http.MethodPost, Path: "/api/v1/tasks/:name/run", Role: httpapi.Operator, Handler: aboutOrders.orderRun},
		read("/api/v1/runs", aboutRuns.listRuns, "task", "media", "state", "since", "until", "after", "limit"),
		read("/api/v1/runs/:id", aboutRuns.getRun),
		read("/api/v1/runs/:id/subtasks", aboutSubtasks.listRunSubtasks, "state", "text", "after", "limit"),
		{Method: http.MethodPost, Path: "/api/v1/runs/:id/cancel", Role: httpapi.Operator, Handler: aboutStops.cancelRun},
		sent(http.MethodPost, "/api/v1/runs/:id/rerun", httpapi.Operator, aboutRedrives.rerunFailed),
		read("/api/v1/cancels", aboutStops.listStops(task.Cancel, "cancels"), "state", "after", "limit"),
		sent(http.MethodPost, "/api/v1/cancels", httpapi.Operator, aboutStops.orderCancel),
		read("/api/v1/pauses", aboutStops.listStops(task.Pause, "pauses"), "state", "after", "limit"),
		sent(http.MethodPost, "/api/v1/pauses", httpapi.Operator, aboutStops.orderPause),
		asked(http.MethodDelete, "/api/v1/pauses/:id", httpapi.Operator, aboutStops.liftPause, "by"),
		{Method: http.MethodGet, Path: "/oauth/:media/callback", Role: httpapi.Anyone, Handler: (&oauthRoutes{d.Flows}).oauthCallback},
		read("/api/v1/due", aboutSubtasks.listDue, "media", "lane", "state", "text", "after", "limit"),
		read("/api/v1/consumers", (&consumerRoutes{d.Consumers}).listConsumers),
		read("/api/v1/accounts", aboutAccounts.listAccounts, "media", "tier", "state", "login_state", "game", "after", "limit"),
		accounts.read("/subtasks", aboutSubtasks.listAccountSubtasks, "state", "text", "since", "until", "after", "limit"),
		accounts.read("", aboutAccounts.getAccount),
		accounts.read("/coverage", (&coverageRoutes{d.Store, accounts, d.Clock}).getCoverage, "from", "to"),
		read("/api/v1/coverage/untrusted", (&untrustedRoutes{d.Store, platforms, d.Clock}).listUntrusted,
			"media", "game", "from", "to", "after", "limit"),
		read("/api/v1/coverage/holes", aboutHoles.listHoles, "media"),
		sent(http.MethodPost, "/api/v1/coverage/fill", httpapi.Operator, aboutHoles.fillHoles),
		read("/api/v1/reconciliation", aboutDifferences.listDifferences, "media", "state", "day", "after", "limit"),
		read("/api/v1/subtasks/:run/:account_id", aboutSubtasks.getSubtask, "part"),
		read("/api/v1/subtasks/:run/:account_id/wait", aboutWaits.explainWait, "part"),
		accounts.read("/why", (&whyRoutes{d.Why}).explainAccount),
		accounts.read("/wait", aboutWaits.explainAccountWaits, "task"),
		read("/api/v1/limits", aboutLimits.listLimits, "media"),
		sent(http.MethodPost, "/api/v1/limits/end-pause", httpapi.Operator, aboutLimits.endLimitPauses),
		read("/api/v1/log-level", aboutLogLevel.getLogLevel),
		sent(http.MethodPut, "/api/v1/log-level", httpapi.Admin, aboutLogLevel.putLogLevel),
		asked(http.MethodDelete, "/api/v1/log-level", httpapi.Admin, aboutLogLevel.endLogLevel),
		read("/api/v1/fields", aboutFields.listFields, "media", "state"),
		sent(http.MethodPut, "/api/v1/fields", httpapi.Admin, aboutFields.putField),
		accounts.read("/changes", (&changeRoutes{d.Store, accounts, d.Clock}).listChanges, "from", "to", "level", "object", "field", "after", "limit"),
		read("/api/v1/dead", aboutDead.listDead, append([]string{"after", "limit"}, deadParameters...)...),
		read("/api/v1/dead/groups", aboutDead.groupDead, append([]string{"limit"}, deadParameters...)...),
		read("/api/v1/dead/subtask", aboutDead.getDead, "run", "account_id", "part"),
		sent(http.MethodPost, "/api/v1/dead/redrive", httpapi.Operator, aboutRedrives.redriveDead),
		sent(http.MethodPost, "/api/v1/dead/drop", httpapi.Operator, aboutRedrives.dropDead),
		read("/api/v1/audit", (&auditRoutes{d.Store}).listAudit, "actor", "object", "since", "until", "after", "limit"),
	}
	for i, r := range routes {
		routes[i].Handler = blaming(r.Handler)
	}
	return routes
}

// answerFunc returns the answer to a query.
type answerFunc func(c *gin.Context, q *httpapi.Query) (any, error)

// read is a route that shows something, with the parameters that it may have.
func read(path string, answer answerFunc, parameters ...string) httpapi.Route {
	return asked(http.MethodGet, path, httpapi.Viewer, answer, parameters...)
}

// asked is a route without a body.
func asked(method, path string, role httpapi.Role, answer answerFunc, parameters ...string) httpapi.Route {
	return httpapi.Route{Method: method, Path: path, Role: role, Handler: func(c *gin.Context) error {
		q, err := httpapi.QueryOf(c, parameters...)
		if err != nil {
			return err
		}
		return write(c)(answer(c, q))
	}}
}

// sent is a route with a body.
func sent[T any](method, path string, role httpapi.Role, answer func(c *gin.Context, request *T) (any, error)) httpapi.Route {
	return httpapi.Route{Method: method, Path: path, Role: role, Handler: func(c *gin.Context) error {
		request := new(T)
		if err := httpapi.Bind(c, request); err != nil {
			return err
		}
		return write(c)(answer(c, request))
	}}
}

// write writes an answer, with the status that the context has.
func write(c *gin.Context) func(answer any, err error) error {
	return func(answer any, err error) error {
		if err == nil {
			c.JSON(c.Writer.Status(), answer)
		}
		return err
	}
}

// blaming makes a handler's error of a database that cannot do its work now an *httpapi.UnavailableError.
func blaming(handler httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(c *gin.Context) error {
		err := handler(c)
		if reason, unavailable := sqldb.Unavailable(err); unavailable {
			return &httpapi.UnavailableError{Server: "database", Reason: reason, Err: err}
		}
		return err
	}
}
