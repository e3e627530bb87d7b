package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/broker"
	"adsync/base/checkup"
	"adsync/base/redis"
	"adsync/base/service"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
)

// Servers are the servers of a deployment. Those that are nil are not used.
type Servers struct {
	Store   *store.Store
	Broker  *broker.Client
	Redis   goredis.UniversalClient
	Keys    redis.Keys
	Sources copies.Sources
}

// checkUpTime bounds the check of all servers: a hanging one must not delay the others' findings for longer.
const checkUpTime = 30 * time.Second

// CheckUp checks all servers concurrently: whether each is reached, what the user may do there, and settings that
// adsync depends on. It changes nothing on them.
func (s Servers) CheckUp(ctx context.Context) []checkup.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkUpTime)
	defer cancel()
	var checks []func() []checkup.Finding
	if s.Store != nil {
		checks = append(checks, func() []checkup.Finding { return s.Store.CheckUp(ctx) })
	}
	if s.Broker != nil {
		checks = append(checks, func() []checkup.Finding { return s.checkKafka(ctx) })
	}
	if s.Redis != nil {
		checks = append(checks, func() []checkup.Finding { return redis.CheckUp(ctx, s.Redis, s.Keys) })
	}
	checks = append(checks, func() []checkup.Finding { return s.Sources.CheckUp(ctx) })
	found := make([][]checkup.Finding, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() { found[i] = check() })
	}
	all.Wait()
	var findings []checkup.Finding
	for _, f := range found {
		findings = append(findings, f...)
	}
	return findings
}

// firstLanes are the lanes of a deployment whose tables do not exist yet.
var firstLanes = []settings.Lane{{Media: settings.AnyMedia, Name: "important"},
	{Media: settings.AnyMedia, Name: "normal"}}

// checkKafka checks the topics that the tables require. A group has the name of its topic.
func (s Servers) checkKafka(ctx context.Context) []checkup.Finding {
	topics, err := requiredTopics(ctx, s.Store, s.Broker.TopicName)
	if err != nil {
		topics = Topics(firstLanes, s.Broker.TopicName) // The database has its own finding.
	}
	groups := make([]string, 0, len(topics))
	for _, t := range topics {
		groups = append(groups, t.Name)
	}
	return s.Broker.CheckUp(ctx, topics, groups)
}

// LogFindings returns a part that checks the servers once, concurrently with the start, and logs what is wrong.
func (s Servers) LogFindings(logger *slog.Logger) service.Service {
	ctx, cancel := context.WithCancel(context.Background())
	var check sync.WaitGroup
	return service.Func{
		StartFunc: func(context.Context) error {
			check.Go(func() {
				for _, f := range s.CheckUp(ctx) {
					if ctx.Err() == nil && (f.State == checkup.Fault || f.State == checkup.Warning) {
						logger.Warn("a server does not meet adsync's needs",
							"server", f.Server, "check", f.Check, "state", f.State, "detail", f.Detail, "remedy", f.Remedy)
					}
				}
			})
			return nil
		},
		StopFunc: func() {
			cancel()
			check.Wait()
		},
	}
}
