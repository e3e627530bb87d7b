// Package api holds the operators' routes under /api/v1: tasks, orders by hand, runs, and the coverage of an account.
//
// Every producer serves them, also one that does not lead: reads come from the tables, and an order is a row whose run
// the leader makes. Beside them is the callback of authorisations, /oauth/:media/callback. docs/api.md describes the routes for those who call them,
// docs/openapi.yaml for programs.
package api

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/store"
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
	CheckTask(ctx context.Context, id int64, rows []store.TaskRow, lanes []store.Lane) ([]*config.FieldError, error)
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
}

// subject is one subject of the API: its routes, and what they need.
type subject interface {
	routes() []httpapi.Route
}

// subjects lists all of them; each is in the file of its name.
func subjects(d Deps) []subject {
	platforms, tasks, runs, audit := platformList(d.Platforms), taskList{d.Producer}, runFinder{d.Store}, auditor{d.Store}
	accounts := accountFinder{d.Store, platforms}
	filters := deadFilters{d.Store, accounts, tasks}
	return []subject{
		&overviewRoutes{d.Overview},
		&openAPIRoutes{},
		&taskRoutes{d.Store, tasks, d.Producer, d.Clock},
		&orderRoutes{d.Store, tasks, d.Registry, d.Producer, audit, d.Clock},
		&runRoutes{d.Store, tasks, d.Registry, d.Clock},
		&subtaskRoutes{d.Store, accounts, runs, d.Clock},
		&waitRoutes{d.Store, accounts, d.Limits},
		&stopRoutes{d.Store, accounts, tasks, runs, d.Registry, audit, d.Clock, d.Now},
		&deadRoutes{d.Store, filters, accounts, tasks, d.Clock},
		&redriveRoutes{d.Store, filters, tasks, runs, d.Producer, audit, d.Clock, d.Now},
		&accountRoutes{d.Store, accounts, platforms, d.Clock},
		&coverageRoutes{d.Store, accounts, d.Clock},
		&holeRoutes{d.Store, platforms, tasks, d.Producer, audit, d.Clock},
		&changeRoutes{d.Store, accounts, d.Clock},
		&differenceRoutes{d.Store, platforms, d.Clock},
		&fieldRoutes{d.Store, platforms},
		&limitRoutes{d.Store, d.Limits, platforms, d.Producer, audit, d.Now},
		&consumerRoutes{d.Consumers},
		&logLevelRoutes{d.LogLevels, audit, d.Now},
		&auditRoutes{d.Store},
		&oauthRoutes{d.Flows},
	}
}

// Routes returns the routes, to be registered on a server.
func Routes(deps Deps) []httpapi.Route {
	var routes []httpapi.Route
	for _, s := range subjects(deps) {
		routes = append(routes, s.routes()...)
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
