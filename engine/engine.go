// Package engine assembles the parts of a process: platforms, limits, tokens, handlers, producer and consumer. A
// deployment and standalone differ only in what they pass to it.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/loglevel"
	"adsync/base/lookup"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis"
	"adsync/base/roster"
	"adsync/base/secret"
	"adsync/base/service"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/base/timer"
	"adsync/base/trace"
	"adsync/consumer"
	"adsync/jobs"
	"adsync/jobs/external"
	"adsync/media"
	"adsync/media/account"
	"adsync/media/client"
	"adsync/media/field"
	"adsync/media/oauth"
	"adsync/media/pull"
	"adsync/media/token"
	"adsync/producer"
	"adsync/producer/api"
	"adsync/producer/overview"
	"adsync/producer/watch"
	"adsync/publish"
	"adsync/upkeep"
)

// Topics returns the topics that the rows of lane require, one per media and lane. more are the platforms without Go
// code.
func Topics(lanes []settings.Lane, name func(media, lane string) string, more ...media.Platform) []broker.Topic {
	known := append(append([]string{upkeep.Name}, PlatformNames()...), names(more)...)
	topics := map[string]broker.Topic{}
	// Rows for any media come first. A row that names one overrides them.
	for _, general := range []bool{true, false} {
		for _, l := range lanes {
			if (l.Media == settings.AnyMedia) != general {
				continue
			}
			for _, m := range known {
				if !general && l.Media != m {
					continue
				}
				topics[name(m, l.Name)] = broker.Topic{Name: name(m, l.Name), Partitions: max(l.Partitions, 0)}
			}
		}
	}
	list := make([]broker.Topic, 0, len(topics))
	for _, n := range slices.Sorted(maps.Keys(topics)) {
		list = append(list, topics[n])
	}
	return list
}

// MediaConfig changes where platforms are reached, by their name.
type MediaConfig struct {
	BaseURL map[string]string `koanf:"base_url" doc:"Addresses to use instead of the platforms' own, by media name, such as a proxy or the simulator: {NAME: http://127.0.0.1:8090/path}."`
	// AuthoriseURL changes where people authorise logins.
	AuthoriseURL map[string]string `koanf:"authorise_url" doc:"Addresses of the pages where logins are authorised to use instead of the platforms' own, by media name, such as the one on an app's console page."`
	PauseMax     time.Duration     `koanf:"pause_max" doc:"Longest pause that an answer of a platform may order (Retry-After and the platforms' own headers), for calls and for refreshes of tokens. Without a bound one broken answer could stop an app's endpoint for any time."`
}

// DefaultMediaConfig returns settings with the platforms' own addresses.
func DefaultMediaConfig() MediaConfig { return MediaConfig{PauseMax: media.PauseMaxDefault} }

// Validate returns an error for every address that cannot be used.
func (c MediaConfig) Validate() error {
	known := map[string]bool{}
	for _, p := range Platforms() {
		known[p.Name()] = true
	}
	var pause error
	if c.PauseMax < time.Second || c.PauseMax > grant.PauseMax {
		pause = &config.FieldError{Key: "pause_max", Value: c.PauseMax.String(),
			Want: fmt.Sprintf("1s to %s", grant.PauseMax)}
	}
	return errors.Join(pause, checkAddresses("base_url", c.BaseURL, known), checkNoQuery("base_url", c.BaseURL),
		checkAddresses("authorise_url", c.AuthoriseURL, known))
}

// checkNoQuery refuses anything after a path: endpoints are appended to it, and calls have their own queries. The
// address is not shown, because the rest may be a token.
func checkNoQuery(key string, addresses map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		if u, err := url.Parse(addresses[name]); err == nil && (u.RawQuery != "" || u.ForceQuery || u.Fragment != "") {
			return &config.FieldError{Key: key + "." + name,
				Want: "an address that ends with its path, such as https://api.example.com/v3.0"}
		}
	}
	return nil
}

func checkAddresses(key string, addresses map[string]string, known map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		u, err := url.Parse(addresses[name])
		if !known[name] {
			return &config.FieldError{Key: key + "." + name, Want: "one of the media names " +
				fmt.Sprint(slices.Sorted(maps.Keys(known)))}
		}
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return &config.FieldError{Key: key + "." + name, Value: addresses[name],
				Want: "an address such as https://api.example.com/v3.0"}
		}
		if u.User != nil { // The address is not shown, because it contains a password.
			return &config.FieldError{Key: key + "." + name,
				Want: "an address without user and password: it is printed, and calls carry only the login's token"}
		}
	}
	return nil
}

// Deps are the dependencies of an engine.
type Deps struct {
	Store  *store.Store
	Broker *broker.Client
	Redis  goredis.UniversalClient
	Keys   redis.Keys
	Box    *secret.Box
	// Planning is the clock of ticks, business days and tokens: the database's in a deployment, the world's in
	// standalone.
	Planning clock.Clock
	// Waiting is the clock of retries: the database's.
	Waiting clock.Clock
	Node    string
	// Sources are the databases whose tables are copied.
	Sources copies.Sources
	// Files makes report files; nil for a process that makes none.
	Files *Files
	// Jobs are the databases of the job queue, by which other programs work subtasks; nil without any.
	Jobs jobs.Stores
	// Retention defines which rows of the tables are pruned.
	Retention upkeep.Retention
	// External are the platforms without Go code, as ExternalPlatforms reads them.
	External []media.Platform
	// Tracer traces subtasks; nil if nothing is traced.
	Tracer *trace.Tracer
	// HTTP reaches the platforms; nil means a separate client for each platform.
	HTTP       *http.Client
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Engine holds the parts of a process.
type Engine struct {
	deps      Deps
	platforms []media.Platform
	limits    *limits
	accounts  *lookup.Accounts
	keepers   map[string]*token.Keeper
	callers   map[string]*client.Client
	fields    map[string]*field.Keeper
	flows     map[string]*oauth.Flow
	registry  *media.Registry
	timer     *timer.Timer
	logLevels *loglevel.Orders
	roster    *roster.Roster
	overview  atomic.Pointer[overview.Cache]
	board     *overview.Reader // set by Overview
}

// New builds the handlers of all platforms and of the system. It contacts no server.
func New(deps Deps, rates ratelimit.Config, media MediaConfig) *Engine {
	e := &Engine{
		deps: deps, platforms: append(Platforms(), deps.External...), keepers: map[string]*token.Keeper{},
		callers: map[string]*client.Client{}, fields: map[string]*field.Keeper{}, flows: map[string]*oauth.Flow{},
	}
	e.accounts = lookup.NewAccounts(deps.Store, deps.Redis, deps.Keys, deps.Logger, deps.Registerer)
	e.logLevels = loglevel.NewOrders(deps.Redis, deps.Keys)
	e.roster = roster.New(deps.Redis, deps.Keys)
	e.timer = timer.New(deps.Redis, deps.Keys, deps.Logger, deps.Registerer)
	e.limits = newLimits(deps.Store, e.platforms, deps.Logger, deps.Registerer)
	waiter := ratelimit.New(rates, deps.Redis, deps.Keys, deps.Store, e.limits.rules, deps.Registerer, deps.Logger)
	e.limits.waiter = waiter
	e.registry = e.handlers(waiter, media)
	watchPools(deps.Store, deps.Redis, deps.Registerer)
	return e
}

func (e *Engine) handlers(waiter client.Waiter, cfg MediaConfig) *media.Registry {
	var all []media.Handler
	found := accounts{e.accounts}
	door := external.New(external.Deps{Stores: e.deps.Jobs, Accounts: found, Clock: e.deps.Waiting, Logger: e.deps.Logger})
	all = append(all, door.Handler(upkeep.Name, media.Once))
	for _, p := range e.deps.External {
		all = append(all, door.Handler(p.Name(), media.Accounts))
	}
	for _, p := range Platforms() {
		transport := client.NewTransport(p, cfg.BaseURL[p.Name()], e.deps.HTTP)
		keeper := token.New(token.Options{
			Platform: p, Transport: transport, Store: e.deps.Store, Box: e.deps.Box, Clock: e.deps.Planning,
			Redis: e.deps.Redis, Keys: e.deps.Keys, PauseMax: cfg.PauseMax, Logger: e.deps.Logger, Registerer: e.deps.Registerer,
		})
		e.keepers[p.Name()] = keeper
		caller := client.New(client.Options{
			Platform: p, Transport: transport, Waiter: waiter, Tokens: keeper, PauseMax: cfg.PauseMax, Logger: e.deps.Logger,
			Registerer: e.deps.Registerer,
		})
		e.callers[p.Name()] = caller
		fields := field.New(field.Options{Platform: p, Store: e.deps.Store, Clock: e.deps.Planning, Logger: e.deps.Logger})
		e.fields[p.Name()] = fields
		if authoriser, ok := p.(media.Authoriser); ok {
			e.flows[p.Name()] = oauth.New(oauth.Options{
				Platform: authoriser, Page: cfg.AuthoriseURL[p.Name()], Transport: transport, Caller: caller, Keeper: keeper,
				Store: e.deps.Store, Box: e.deps.Box, Clock: e.deps.Planning, Logger: e.deps.Logger,
			})
		}
		all = append(all, door.Handler(p.Name(), media.Accounts))
		all = append(all, keeper.Handler(), account.Handler(account.Options{Platform: p, Caller: caller, Store: e.deps.Store,
			Logger: e.deps.Logger, Registerer: e.deps.Registerer}))
		all = append(all, account.ActivityHandler(account.ActivityOptions{Platform: p, Store: e.deps.Store,
			Clock: e.deps.Planning, Logger: e.deps.Logger}))
		life := account.LifeOptions{Platform: p, Store: e.deps.Store, Calls: caller, Clock: e.deps.Planning,
			Logger: e.deps.Logger, Registerer: e.deps.Registerer}
		all = append(all, life.ProbeHandler(), account.InitialiseHandler(account.InitialiseOptions{
			Platform: p, Store: e.deps.Store, Clock: e.deps.Planning, Logger: e.deps.Logger,
		}))
		for _, h := range pull.Handlers(p, pull.Deps{
			Store: e.deps.Store, Accounts: found, Caller: caller, Fields: fields, Clock: e.deps.Planning, Logger: e.deps.Logger,
			Registerer: e.deps.Registerer,
		}) {
			all = append(all, life.Parks(h))
		}
	}
	all = append(all, upkeep.Handlers(upkeep.Deps{
		Store: e.deps.Store, Marks: e.deps.Store.Data, Clock: e.deps.Planning, Logger: e.deps.Logger,
		Sources: e.deps.Sources, Platforms: e.platforms, Retention: e.deps.Retention, Registerer: e.deps.Registerer,
	})...)
	files := publish.Deps{Store: e.deps.Store, Box: e.deps.Box, Clock: e.deps.Planning, Node: e.deps.Node,
		Platforms: e.platforms, Logger: e.deps.Logger, Registerer: e.deps.Registerer}
	if f := e.deps.Files; f != nil {
		files.Spool, files.Database, files.LargeBytes = f.Spool, f.Database, f.large
		files.LocalWebhooks = f.localWebhooks
	}
	return media.NewRegistry(append(all, publish.Handler(files), publish.BackupHandler(files))...)
}

// Registry finds the handlers.
func (e *Engine) Registry() *media.Registry { return e.registry }

// Caller returns the client that calls a platform as its handlers do: within its limits, with the tokens of its
// logins. It is nil for a media that is no platform. The services that Limits and Tokens return must run.
func (e *Engine) Caller(media string) *client.Client { return e.callers[media] }

// Fields returns the keeper of the fields that a platform's reports request. It is nil for a media that is no
// platform.
func (e *Engine) Fields(media string) *field.Keeper { return e.fields[media] }

// Limits returns the service that keeps the rules of call limits up to date. A process that calls platforms starts it
// before its consumer.
func (e *Engine) Limits() service.Service { return e.limits }

// CheckRedis returns what is wrong with Redis; nil if nothing is. It names the platforms whose limits this process
// does not share with the others, or otherwise the rights that the user lacks.
func (e *Engine) CheckRedis(ctx context.Context) error {
	if err := e.limits.waiter.Trouble(); err != nil {
		return err
	}
	return redis.CheckRights(ctx, e.deps.Redis, e.deps.Keys)
}

// LogLevel returns the service that applies the log level that operators order.
func (e *Engine) LogLevel(role string, level *slog.LevelVar) service.Service {
	return loglevel.NewFollower(e.logLevels, role, e.deps.Node, level, e.deps.Logger)
}

// Accounts returns the service that keeps the copy of the accounts in Redis up to date. A process that pulls starts
// it before its consumer.
func (e *Engine) Accounts() service.Service { return e.accounts }

// Tokens returns a service whose Stop waits for refreshes and authorisations under way: a lost answer may be the only
// copy of a pair. Add it before the consumer and the producer.
func (e *Engine) Tokens() service.Service {
	return service.Func{StopFunc: func() {
		var flows sync.WaitGroup
		for _, f := range e.flows {
			flows.Go(f.Close)
		}
		flows.Wait()
		for _, k := range e.keepers {
			k.Close()
		}
	}}
}

// HoldTokens returns a service whose Stop prevents further refreshes. Add it after the consumer: refreshes under way
// then end while the consumer drains.
func (e *Engine) HoldTokens() service.Service {
	return service.Func{StopFunc: func() {
		for _, k := range e.keepers {
			k.Hold()
		}
	}}
}

// Flows returns the flows that authorise logins, by the names of their platforms.
func (e *Engine) Flows() map[string]*oauth.Flow { return e.flows }

// NewProducer returns the producer's role.
func (e *Engine) NewProducer(cfg producer.Config) (*producer.Producer, error) {
	figures, err := watch.New(watch.Options{Store: e.deps.Store, Platforms: e.platforms, Clock: e.deps.Planning,
		Overview: e.shown, Consumers: e.roster, Registerer: e.deps.Registerer})
	if err != nil {
		return nil, err
	}
	return producer.New(cfg, producer.Deps{
		Store: e.deps.Store, Registry: e.registry, Broker: e.deps.Broker, Clock: e.deps.Planning, Waiting: e.deps.Waiting,
		Timer: e.timer, Watcher: figures, Jobs: external.NewFollower(e.deps.Jobs, e.deps.Store, e.deps.Logger),
		Tracer: e.deps.Tracer, Logger: e.deps.Logger, Registerer: e.deps.Registerer,
	})
}

// NewConsumer returns the consumer's role.
func (e *Engine) NewConsumer(cfg consumer.Config) (*consumer.Consumer, error) {
	return consumer.New(cfg, consumer.Deps{
		Store: e.deps.Store, Registry: e.registry, Broker: e.deps.Broker, Clock: e.deps.Waiting,
		Logger: e.deps.Logger, Registerer: e.deps.Registerer, Node: e.deps.Node,
		Redis: e.deps.Redis, Keys: e.deps.Keys, Timer: e.timer, Roster: e.roster, Slow: e.slow, Tracer: e.deps.Tracer,
	})
}

// slow returns the endpoints that answer this process slowly.
func (e *Engine) slow() []roster.Slow {
	var all []roster.Slow
	for _, c := range e.callers {
		all = append(all, c.Slow()...)
	}
	slices.SortFunc(all, func(a, b roster.Slow) int {
		return cmp.Or(cmp.Compare(a.Media, b.Media), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return all
}

// Overview returns the state of the deployment, for Routes and the first page. checks returns the servers that do not
// answer. adjust, unless it is nil, changes the options for what standalone knows and a deployment does not.
func (e *Engine) Overview(p *producer.Producer, checks func(context.Context) []httpapi.FailedCheck,
	adjust func(*overview.Options)) *overview.Cache {
	o := overview.Options{Store: e.deps.Store, Platforms: names(e.platforms), Tasks: p.Tasks, Limits: e.limits.waiter,
		Consumers: e.roster, Clock: e.deps.Planning, Checks: checks}
	if adjust != nil {
		adjust(&o)
	}
	e.board = overview.NewReader(o)
	cache := overview.NewCache(e.board.Read)
	e.overview.Store(cache)
	return cache
}

// shown returns what the first page of this process shows; nothing without a first page.
func (e *Engine) shown(ctx context.Context) overview.Overview {
	if cache := e.overview.Load(); cache != nil {
		return cache.Await(ctx)
	}
	return overview.Overview{}
}

// Routes returns the operators' API of a producer. o must come from Overview.
func (e *Engine) Routes(p *producer.Producer, o *overview.Cache) []httpapi.Route {
	return api.Routes(api.Deps{Box: e.deps.Box,
		Store: e.deps.Store, Now: e.deps.Store.Data.Now, Producer: p, Registry: e.registry, Platforms: e.platforms,
		Sources: e.deps.Sources, Flows: e.flows, Limits: e.limits.waiter, LogLevels: e.logLevels,
		Consumers: e.roster, Clock: e.deps.Planning, Overview: o.Get, Why: e.board.Why,
		Logger: e.deps.Logger, Registerer: e.deps.Registerer,
	})
}
