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
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
)

// Servers are what a deployment stands on; what is nil is not used.
type Servers struct {
	Store   *store.Store
	Broker  *broker.Client
	Redis   goredis.UniversalClient
	Keys    redis.Keys
	Partner *summaries.PartnerSource
}

// checkUpTime bounds a look at all servers: one that hangs must not hold up the others' findings for longer.
const checkUpTime = 30 * time.Second

// CheckUp looks at the servers, all at once: whether each is reached, what the user may do there, and settings that adsync
// depends on. It changes nothing on them.
func (s Servers) CheckUp(ctx context.Context) []checkup.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkUpTime)
	defer cancel()
	var looks []func() []checkup.Finding
	if s.Store != nil {
		looks = append(looks, func() []checkup.Finding { return s.Store.CheckUp(ctx) })
	}
	if s.Broker != nil {
		looks = append(looks, func() []checkup.Finding { return s.checkKafka(ctx) })
	}
	if s.Redis != nil {
		looks = append(looks, func() []checkup.Finding { return redis.CheckUp(ctx, s.Redis, s.Keys) })
	}
	if s.Partner != nil {
		looks = append(looks, func() []checkup.Finding { return s.Partner.CheckUp(ctx) })
	}
	found := make([][]checkup.Finding, len(looks))
	var all sync.WaitGroup
	for i, look := range looks {
		all.Go(func() { found[i] = look() })
	}
	all.Wait()
	var findings []checkup.Finding
	for _, f := range found {
		findings = append(findings, f...)
	}
	return findings
}

// firstLanes are the lanes of a deployment whose tables are not there yet.
var firstLanes = []settings.Lane{{Media: settings.AnyMedia, Name: "important"}, {Media: settings.AnyMedia, Name: "normal"}}

// checkKafka looks at the topics that the rows of lane call for; a group has the name of its topic.
func (s Servers) checkKafka(ctx context.Context) []checkup.Finding {
	lanes, err := s.Store.Lanes(ctx)
	if err != nil {
		lanes = firstLanes // The database has a finding of its own.
	}
	topics := Topics(lanes, s.Broker.TopicName)
	groups := make([]string, 0, len(topics))
	for _, t := range topics {
		groups = append(groups, t.Name)
	}
	return s.Broker.CheckUp(ctx, topics, groups)
}

// LogFindings makes a part that looks at the servers once, beside the start, and logs what is not as it should be.
func (s Servers) LogFindings(logger *slog.Logger) service.Service {
	ctx, cancel := context.WithCancel(context.Background())
	var look sync.WaitGroup
	return service.Func{
		StartFunc: func(context.Context) error {
			look.Go(func() {
				for _, f := range s.CheckUp(ctx) {
					if ctx.Err() == nil && (f.State == checkup.Fault || f.State == checkup.Warning) {
						logger.Warn("a server is not as adsync needs it",
							"server", f.Server, "check", f.Check, "state", f.State, "detail", f.Detail, "remedy", f.Remedy)
					}
				}
			})
			return nil
		},
		StopFunc: func() {
			cancel()
			look.Wait()
		},
	}
}
