// Package api holds the operators' routes under /api/v1: tasks, orders by hand, runs, and the coverage of an account.
//
// Every producer serves them, also one that does not lead: reads come from the tables, and an order is a row whose run
// the leader makes. The package also serves the callback of authorisations, /oauth/:media/callback. docs/api.md
// describes the routes for people, docs/openapi.yaml for programs.
package api

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/media"
	"adsync/media/oauth"
	"adsync/producer"
	"adsync/producer/api/configure"
	"adsync/producer/api/outside"
	"adsync/producer/api/reports"
	"adsync/producer/binding"
	"adsync/producer/login"
	"adsync/producer/overview"
	"adsync/producer/usage"
)

// Producer is what the routes need of the process's producer.
type Producer interface {
	// Tasks returns the rows of cron_task as this process last loaded them.
	Tasks() []producer.Task
	// Reload reads the table again and applies the changes.
	Reload(ctx context.Context) error
	// CheckTask returns the faults that the row with this id would have if cron_task and lane held these rows.
	CheckTask(ctx context.Context, id int64, rows []settings.TaskRow, lanes []settings.Lane) ([]*config.FieldError, error)
	// Wake makes this process read the orders at once if it is the leader.
	Wake()
}

var _ Producer = (*producer.Producer)(nil)

// waker makes the leader read the orders at once.
type waker interface{ Wake() }

// databaseClock reads the time of the data database.
type databaseClock func(ctx context.Context) (time.Time, error)

// Store is what the routes need of the store, by subject.
type Store interface {
	accountNames
	accountStore
	auditLog
	auditStore
	binding.Store
	changeStore
	configure.CopyStore
	configure.GameStore
	reports.Store
	configure.LaneStore
	configure.LimitStore
	outside.PlatformStore
	coverageStore
	deadStore
	deadTasks
	differenceStore
	fieldStore
	floorStore
	holeStore
	limitStore
	login.Store
	orderStore
	outside.Store
	redriveStore
	runNames
	runStore
	stopStore
	subtaskStore
	taskStore
	untrustedStore
	usage.Store
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
	// Platforms define the reports and lists that an account has.
	Platforms []media.Platform
	// Flows authorise logins, by the names of their platforms.
	Flows map[string]*oauth.Flow
	// Limits are those of all processes.
	Limits Limits
	// LogLevels stores the temporary log level of processes.
	LogLevels configure.LogLevels
	// Consumers are those of all processes.
	Consumers Consumers
	// Sources are the databases whose tables are copied.
	Sources copies.Sources
	// Box seals the credentials of destinations.
	Box *secret.Box
	// Clock is the clock of ticks and business days.
	Clock clock.Clock
	// Logger takes what is noticed about the rows of outside workers; nil for nothing. Registerer takes their metrics; nil
	// for none.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Overview reads the state of the whole installation.
	Overview func(ctx context.Context) overview.Overview
	// Why returns whether an account is late, and why.
	Why func(ctx context.Context, account settings.Account) (overview.Why, error)
}

// Routes returns the routes, to be registered on a server. docs/openapi.yaml lists the operations, who may call them
// and their parameters; this function gives each operation its handler. Each subject has a file with its name.
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
	aboutFields := &fieldRoutes{d.Store, platforms}
	aboutLimits := &limitRoutes{d.Store, d.Limits, platforms, d.Producer, audit, d.Now}
	aboutLogLevel := &configure.LogLevel{Levels: d.LogLevels, Audit: audit.do, Now: d.Now}
	handlers := map[string]handler{
		"addTask":             withBody(aboutTasks.addTask),
		"cancelRun":           withBody(aboutStops.cancelRun),
		"deleteTask":          plain(aboutTasks.deleteTask),
		"disableTask":         plain(aboutTasks.switchTask("task.disable", false)),
		"dropDead":            withBody(aboutRedrives.dropDead),
		"editTask":            withBody(aboutTasks.editTask),
		"enableTask":          plain(aboutTasks.switchTask("task.enable", true)),
		"endLimitPauses":      withBody(aboutLimits.endLimitPauses),
		"endLogLevel":         plain(aboutLogLevel.End),
		"explainAccount":      ofAccount(accounts, (&whyRoutes{d.Why}).explainAccount),
		"explainAccountWaits": ofAccount(accounts, aboutWaits.explainAccountWaits),
		"explainWait":         withQuery(aboutWaits.explainWait),
		"fillHoles":           withBody(aboutHoles.fillHoles),
		"getAccount":          ofAccount(accounts, aboutAccounts.getAccount),
		"getCoverage":         ofAccount(accounts, (&coverageRoutes{d.Store, accounts, d.Clock}).getCoverage),
		"getDead":             withQuery(aboutDead.getDead),
		"getLimitUsage":       withQuery((&usageRoutes{d.Store, d.Limits, platforms, d.Clock}).getLimitUsage),
		"getLogLevel":         plain(aboutLogLevel.Get),
		"getOpenAPI":          raw(getOpenAPI),
		"getOverview":         plain((&overviewRoutes{d.Overview}).getOverview),
		"getRun":              plain(aboutRuns.getRun),
		"getSubtask":          withQuery(aboutSubtasks.getSubtask),
		"getTask":             plain(aboutTasks.getTask),
		"groupDead":           withQuery(aboutDead.groupDead),
		"liftPause":           withQuery(aboutStops.liftPause),
		"listAccounts":        withQuery(aboutAccounts.listAccounts),
		"listAccountSubtasks": ofAccount(accounts, aboutSubtasks.listAccountSubtasks),
		"listAudit":           withQuery((&auditRoutes{d.Store}).listAudit),
		"listCancels":         withQuery(aboutStops.listCancels),
		"listChanges":         ofAccount(accounts, (&changeRoutes{d.Store, accounts, d.Clock}).listChanges),
		"listConsumers":       plain((&consumerRoutes{d.Consumers}).listConsumers),
		"listDead":            withQuery(aboutDead.listDead),
		"listDifferences":     withQuery((&differenceRoutes{d.Store, platforms, d.Clock}).listDifferences),
		"listDue":             withQuery(aboutSubtasks.listDue),
		"listFields":          withQuery(aboutFields.listFields),
		"listFloors":          plain((&floorRoutes{d.Store}).listFloors),
		"listKinds":           withQuery((&kindRoutes{d.Registry, d.Producer, d.Consumers}).listKinds),
		"listHoles":           withQuery(aboutHoles.listHoles),
		"listLimits":          withQuery(aboutLimits.listLimits),
		"listPauses":          withQuery(aboutStops.listPauses),
		"listRuns":            withQuery(aboutRuns.listRuns),
		"listRunSubtasks":     withQuery(aboutSubtasks.listRunSubtasks),
		"listTasks":           plain(aboutTasks.listTasks),
		"listUntrusted":       withQuery((&untrustedRoutes{d.Store, platforms, d.Clock}).listUntrusted),
		"oauthCallback":       raw((&oauthRoutes{d.Flows}).oauthCallback),
		"orderCancel":         withBody(aboutStops.orderCancel),
		"orderPause":          withBody(aboutStops.orderPause),
		"orderRun":            aboutOrders.orderRun,
		"putField":            withBody(aboutFields.putField),
		"putLogLevel":         withBody(aboutLogLevel.Put),
		"redriveDead":         withBody(aboutRedrives.redriveDead),
		"reloadTasks":         plain(aboutTasks.reloadTasks),
		"rerunFailed":         withBody(aboutRedrives.rerunFailed),
	}
	maps.Copy(handlers, configured(d, accounts))
	maps.Copy(handlers, filed(d))
	maps.Copy(handlers, worked(d))
	return routesOf(handlers)
}

// configured returns the handlers of package configure.
func configured(d Deps, accounts accountFinder) map[string]handler {
	lanes := &configure.Lanes{Store: d.Store, Producer: d.Producer,
		Platforms: func() []string { return platformsOf(d.Registry) }}
	rules := &configure.LimitRules{Store: d.Store, Platforms: d.Platforms}
	games := &configure.Games{Store: d.Store, Clock: d.Clock}
	bindings := &configure.Bindings{Store: d.Store, Now: d.Now, Account: func(c *gin.Context) (settings.Account, error) {
		_, account, err := accounts.inPath(c)
		return account, err
	}}
	copied := &configure.Copies{Store: d.Store, Sources: d.Sources}
	logins := configure.Logins{Actions: login.Actions{Store: d.Store, Flows: d.Flows, Clock: d.Clock}}
	return map[string]handler{
		"beginAuthorisation":    withBody(logins.Begin),
		"bindAccount":           withBody(bindings.Bind),
		"bindLogin":             withBody(logins.Bind),
		"checkTableCopy":        plain(copied.Check),
		"completeAuthorisation": withBody(logins.Complete),
		"deleteLane":            plain(lanes.Delete),
		"deleteLimitRule":       plain(rules.Delete),
		"deleteTableCopy":       plain(copied.Delete),
		"getAuthorisation":      plain(logins.Get),
		"getGame":               withQuery(games.Get),
		"getLane":               plain(lanes.Get),
		"getLimitRule":          plain(rules.Get),
		"getTableCopy":          plain(copied.Get),
		"listBindings":          plain(bindings.List),
		"listGames":             plain(games.List),
		"listLanes":             plain(lanes.List),
		"listLimitRules":        withQuery(rules.List),
		"listLogins":            withQuery(logins.List),
		"listTableCopies":       plain(copied.List),
		"putLane":               withBody(lanes.Put),
		"putLimitRule":          withBody(rules.Put),
		"putTableCopy":          withBody(copied.Put),
		"unbindAccount":         withQuery(bindings.Unbind),
	}
}

// filed returns the handlers of package reports.
func filed(d Deps) map[string]handler {
	files := &reports.Routes{Store: d.Store, Box: d.Box, Clock: d.Clock}
	return map[string]handler{
		"cancelPublication":    plain(files.CancelPublication),
		"deleteDestination":    plain(files.DeleteDestination),
		"deleteSubscription":   plain(files.DeleteSubscription),
		"getDestination":       plain(files.GetDestination),
		"getPublication":       plain(files.GetPublication),
		"getSubscription":      plain(files.GetSubscription),
		"listDestinations":     plain(files.ListDestinations),
		"listPublications":     withQuery(files.ListPublications),
		"listSubscriptions":    plain(files.ListSubscriptions),
		"orderPublications":    withBody(files.OrderPublications),
		"putDestination":       withBody(files.PutDestination),
		"putSubscription":      withBody(files.PutSubscription),
		"redeliverPublication": plain(files.RedeliverPublication),
		"testDestination":      plain(files.TestDestination),
	}
}

// worked returns the handlers of package outside.
func worked(d Deps) map[string]handler {
	grants := outside.NewGrants(d.Store, d.Limits, d.Platforms, d.Clock, d.Registerer)
	pulls := outside.NewPulls(d.Store, d.Platforms, d.Clock, d.Logger, d.Registerer)
	platforms := &outside.Platforms{Store: d.Store, InForce: d.Platforms}
	return map[string]handler{
		"beginPull":             withBody(pulls.Begin),
		"completePull":          withBody(pulls.Complete),
		"getExternalPlatform":   plain(platforms.Get),
		"listExternalPlatforms": plain(platforms.List),
		"putExternalAccounts":   withBody(platforms.PutAccounts),
		"putExternalPlatform":   withBody(platforms.Put),
		"putPullPart":           withBody(pulls.PutPart),
		"reportRefusal":         withBody(grants.Refuse),
		"requestGrants":         withBody(grants.Grant),
	}
}

// unavailability returns a handler whose error is an *httpapi.UnavailableError if a database is unavailable.
func unavailability(handler httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(c *gin.Context) error {
		err := handler(c)
		if reason, unavailable := sqldb.Unavailable(err); unavailable {
			return &httpapi.UnavailableError{Server: "database", Reason: reason, Err: err}
		}
		return err
	}
}
