// Package standalone runs all of adsync in one process, on embedded parts or a deployment's servers and with simulated
// platforms. It is for a first look, for development, and for comparing every row with the platforms' truth.
package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"time"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/plural"
	"adsync/base/ratelimit"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/service"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/store/ledger"
	"adsync/base/telemetry"
	"adsync/consumer"
	"adsync/engine"
	"adsync/jobs"
	"adsync/producer"
	"adsync/producer/overview"
	"adsync/producer/page"
	"adsync/simulator/platform"
	"adsync/standalone/live"
	"adsync/standalone/runs"
	"adsync/standalone/story"
	"adsync/standalone/verify"
	"adsync/upkeep"
)

// Options configures a standalone run.
type Options struct {
	Accounts int
	Seed     int64
	// one simulated account in USD accounts is in USD and America/Los_Angeles; 0 = none; a world in DataDir keeps its
	// share
	USD   int
	Speed float64 // 0: 1, or what the world in DataDir has
	// Platforms are the platforms to simulate; nil is all of the simulator's, or those of the world in DataDir.
	Platforms []platform.Platform
	DataDir   string // "" = a directory that is removed after the run
	// Simulator is the address of a simulator that runs elsewhere; "" runs one inside.
	Simulator string
	Once      bool
	// Story, with Once, plays a night of the world before the comparison, if the world is new and inside this process.
	Story bool
	// Servers are used instead of embedded parts. Not with Live.
	Servers Servers
	// Live pulls one real account, compares it with its platform's totals, and ends. No world is simulated.
	Live      *live.Pull
	JSON      bool // with Once or Live: print one JSON object and nothing else
	API       httpapi.Config
	RateLimit ratelimit.Config
	Debug     telemetry.DebugConfig
	Jobs      jobs.Config          // of the job queue, which is not served with Once and Live
	Sources   copies.SourcesConfig // next to that of the simulated world
	Logger    *slog.Logger
	Level     *slog.LevelVar // of Logger; nil if it does not change
	Out       io.Writer      // the screen, or the report of Once

	plan *story.Plan // another story than night, for tests
}

// ends reports whether the run ends without being stopped.
func (o Options) ends() bool { return o.Once || o.Live != nil }

// ErrDifferent means that a comparison found differences. The report shows them.
var ErrDifferent = errors.New("the tables differ from the platforms' truth")

// partitions is the number of partitions of an embedded topic: it shows how work spreads and is few for one process.
const partitions = 3

// Run runs until ctx ends or, with Once or Live, until the comparison is done.
func Run(ctx context.Context, o Options) error {
	if err := checkSources(o); err != nil {
		return err
	}
	dir, err := openDir(o.DataDir)
	if err != nil {
		return err
	}
	if err := dir.holds(o.Live); err != nil {
		return errors.Join(err, dir.close())
	}
	stack, err := newStack(ctx, o, dir)
	if ctx.Err() != nil && !o.ends() {
		err = nil // A stop during the start is not a failure.
	}
	if err != nil || stack == nil {
		return errors.Join(err, dir.close())
	}
	return errors.Join(stack.run(ctx), dir.close())
}

// stack holds everything that runs in the process.
type stack struct {
	Options
	dir     *dataDir
	world   *world
	story   *story.Story // nil when none is played
	waiting clock.Clock  // of retries
	store   *store.Store
	kafka   *broker.Client
	manager *service.Manager
	server  *httpapi.Server
	parts   *engine.Engine
	plan    *producer.Producer
	runs    *runs.Runs
	board   *overview.Cache
	truth   *truth
	jobs    *jobs.Server   // nil if none is served
	sources copies.Sources // the partner's database, and those of the settings
	closers []func() error // in the order in which they were opened
}

// opened registers a function to be called at the end, in reverse order.
func (s *stack) opened(close func() error) { s.closers = append(s.closers, close) }

func (s *stack) close() error {
	var errs []error
	for _, closeIt := range slices.Backward(s.closers) {
		errs = append(errs, closeIt())
	}
	s.closers = nil
	return errors.Join(errs...)
}

func newStack(ctx context.Context, o Options, dir *dataDir) (*stack, error) {
	s := &stack{Options: o, dir: dir, manager: service.NewManager(o.Logger)}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// open opens the embedded parts or servers, fills the tables, and adds the services in the order in which they start.
func (s *stack) open(ctx context.Context) error {
	home, err := s.dir.home(ctx, s.Servers, s.Logger)
	if err != nil {
		return err
	}
	s.Servers = s.Servers.apart(home.Name)
	s.story = newStory(s.Options, s.dir)
	if s.world, err = openWorld(ctx, s.Options, s.dir, s.story); err != nil {
		return err
	}
	s.opened(s.world.close)
	if s.Servers != (Servers{}) {
		if err := s.dir.keep(home); err != nil {
			return err
		}
	}
	box, err := s.box()
	if err != nil {
		return err
	}
	if err := s.openTables(ctx, box); err != nil {
		return err
	}
	registry := telemetry.NewRegistry()
	if s.server, err = httpapi.New(s.API, registry, s.Logger); err != nil {
		return err
	}
	kafkaConfig, err := s.kafkaServer()
	if err != nil {
		return err
	}
	if s.kafka, err = broker.New(kafkaConfig, s.Logger, registry); err != nil {
		return err
	}
	s.opened(s.kafka.Close)
	if _, err := engine.PrepareTopics(ctx, s.store, s.kafka); err != nil {
		return err
	}
	redisConfig, err := s.redisServer()
	if err != nil {
		return err
	}
	cache, err := redis.Open(redisConfig)
	if err != nil {
		return err
	}
	s.opened(cache.Close)
	// One process has every limit to itself, and its Redis shares the processor with everything else.
	s.RateLimit.Members, s.RateLimit.RedisTimeout = 1, 5*time.Second
	database := clock.NewDatabase(s.store.Data.Now, s.Logger)
	s.waiting = database
	media := engine.MediaConfig{BaseURL: s.world.baseURLs(), AuthoriseURL: s.world.creds.authoriseURLs(s.world.address)}
	if s.story != nil {
		s.waiting, media.PauseMax = s.story.Waiting(), story.PauseMax
	}
	deps := engine.Deps{
		Store: s.store, Broker: s.kafka, Redis: cache, Keys: redis.NewKeys(redisConfig.KeyPrefix), Box: box,
		Planning: s.world.clock, Waiting: s.waiting, Node: "standalone", Sources: s.sources,
		Retention: upkeep.DefaultRetention(), HTTP: s.world.http, Logger: s.Logger, Registerer: registry,
	}
	if err := s.openOutside(ctx, &deps); err != nil {
		return err
	}
	s.parts = engine.New(deps, s.RateLimit, media)
	if !s.ends() {
		s.serveJobs(deps.Jobs, registry)
	}
	return s.addServices(database, s.parts)
}

// openTables opens the databases, and writes the rows that a new one lacks.
func (s *stack) openTables(ctx context.Context, box *secret.Box) (err error) {
	if s.store, err = store.Open(ctx, s.databases(), s.Logger); err != nil {
		return err
	}
	s.opened(s.store.Close)
	if _, err := engine.PrepareTables(ctx, s.store); err != nil {
		return err
	}
	if err := s.world.bind(ctx, s.store, box); err != nil {
		return err
	}
	if s.Live != nil {
		return nil
	}
	if err := s.openSources(ctx); err != nil {
		return err
	}
	if s.Once {
		return nil // Its world is compared and thrown away: nobody would read the files.
	}
	return s.seedReports(ctx)
}

// openFiles opens what report files are made with.
func (s *stack) openFiles() (*engine.Files, error) {
	files, err := engine.OpenFiles(engine.FilesConfig{Dir: s.dir.file(spoolDir), MaxMiB: spoolMiB,
		LargeMiB: spoolMiB / 16, LocalWebhooks: true}, s.databases().Data)
	if err == nil {
		s.opened(files.Close)
	}
	return files, err
}

func (s *stack) addServices(database *clock.Database, parts *engine.Engine) error {
	producerConfig := producer.DefaultConfig()
	producerConfig.FiguresInterval = 10 * time.Second // the tables are small, and somebody may watch the boards
	// With Once every task runs once, by order; for a live account only ordered tasks run. In a story tasks follow their
	// crons.
	producerConfig.Schedule = !s.ends() || s.story != nil
	if s.story != nil {
		producerConfig.ReloadInterval = time.Second // so that operators' changes take effect within a minute of the world
	}
	plan, err := parts.NewProducer(producerConfig)
	if err != nil {
		return err
	}
	consumerConfig := consumer.DefaultConfig()
	if s.Once && s.story == nil {
		consumerConfig.BackoffCap = 2 * time.Second // There is no other work, and a user waits for the end.
	}
	work, err := parts.NewConsumer(consumerConfig)
	if err != nil {
		return err
	}
	s.plan = plan
	s.runs = &runs.Runs{Store: s.store, Plan: plan, Waiting: s.waiting}
	if s.world.sim != nil {
		s.runs.World = s.world.sim.Clock()
	}
	if err := s.addPage(parts, plan); err != nil {
		return err
	}
	s.server.Check("data database", s.store.Data.Ping)
	s.server.Check("producer", plan.Ready)
	s.server.Check("consumer", work.Ready)
	if s.world.sim != nil {
		s.server.Mount("/_sim", httpapi.Admin, s.world.sim.Handler())
	}
	s.manager.Add("profiles", telemetry.NewProfiles(s.Debug, s.Logger))
	s.manager.Add("http", s.server)
	s.manager.Add("clock", database)
	if s.Level != nil {
		s.manager.Add("log level", parts.LogLevel("all", s.Level))
	}
	s.manager.Add("limits", parts.Limits())
	s.manager.Add("accounts", parts.Accounts())
	s.manager.Add("tokens", parts.Tokens())
	s.manager.Add("consumer", work)
	s.manager.Add("token refreshes", parts.HoldTokens())
	s.manager.Add("producer", plan)
	if s.jobs != nil {
		s.manager.Add("jobs", s.jobs)
	}
	s.manager.Add("api", s.server.Gate())
	return nil
}

// addPage adds the API and the first page, which also shows the simulated platforms' own figures.
func (s *stack) addPage(parts *engine.Engine, plan *producer.Producer) error {
	s.truth = newTruth(http.DefaultClient, s.world.address, s.world.has)
	s.board = parts.Overview(plan, s.server.FailedChecks, func(o *overview.Options) {
		if s.Live == nil {
			o.Real, o.Theirs = s.world.real, s.truth.spend
		}
	})
	s.server.Register(parts.Routes(plan, s.board)...)
	first, err := page.New(s.board.Get)
	if err != nil {
		return err
	}
	return s.server.RegisterPages(nil, first)
}

// box returns the box that seals tokens: those of simulated logins for the life of the directory, that of a live
// account for the life of the process.
func (s *stack) box() (*secret.Box, error) {
	if s.Live != nil {
		// The key exists only in this process, so that the sealed token in the tables is useless afterwards.
		return secret.NewBox(secret.NewKey("live"))
	}
	return s.dir.box()
}

// run starts the services, does the work of the mode, and stops them.
func (s *stack) run(ctx context.Context) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	started := make(chan struct{})
	s.manager.Add("front", service.Func{StartFunc: func(context.Context) error { close(started); return nil }})
	front := make(chan error, 1)
	go func() {
		defer close(front)
		select {
		case <-started:
		case <-running.Done():
			return
		}
		front <- s.front(running)
		stop(nil)
	}()
	err := s.manager.Run(running)
	stop(nil)
	frontErr := <-front
	if errors.Is(frontErr, context.Canceled) && ctx.Err() != nil {
		frontErr = nil
		if s.ends() {
			frontErr = errors.New("interrupted before everything was compared")
		}
	}
	return errors.Join(err, frontErr, s.close())
}

// front runs what the user sees: the screen, or the comparison.
func (s *stack) front(ctx context.Context) error {
	if s.Live != nil {
		return s.pullLive(ctx)
	}
	if s.Once {
		return s.once(ctx)
	}
	if s.world.isNew {
		// A user should not have to wait for the first crons to see figures.
		go s.firstRound(ctx)
	}
	view := screen{out: s.Out, terminal: isTerminal(s.Out), shell: shell(s.databases().Data), addresses: s.addresses(),
		tips: s.tips()}
	view.run(ctx, s.watcher().read)
	return nil
}

// pullLive pulls the real account, compares it with its platform's totals, and prints both.
func (s *stack) pullLive(ctx context.Context) error {
	progress := s.Out
	if s.JSON {
		progress = io.Discard
	}
	report, err := s.world.live.Compare(ctx, live.Stack{
		Runs: s.runs, Engine: s.parts, Out: progress, Terminal: isTerminal(progress),
	})
	if err != nil {
		return err
	}
	if s.JSON {
		err = printJSON(s.Out, report)
	} else {
		report.Print(s.Out)
		if !s.dir.temp {
			fmt.Fprintf(s.Out, "The tables are in %s.\n", s.dir.file("data.db"))
		}
	}
	return errors.Join(err, report.Check())
}

func (s *stack) watcher() *watcher {
	return &watcher{store: s.store, overview: s.board.Get, truth: s.truth, simulator: s.world.control()}
}

// verify compares every row with the truth of the platforms and the partner. It leaves out days that were not pulled
// since a moment of the database's clock.
func (s *stack) verify(ctx context.Context, now, since time.Time) (verify.Report, error) {
	partner, err := openPartnerFile(s.dir.file(partnerFile))
	if err != nil {
		return verify.Report{}, err
	}
	report, err := verify.Run(ctx, verify.Options{Store: s.store, Simulator: s.world.address, Client: http.DefaultClient,
		Platforms: slices.Collect(maps.Keys(s.world.creds)), Now: now, Since: since, Partner: partner})
	return report, errors.Join(err, partner.Close())
}

// progress returns a function that prints the progress of the runs at intervals; with JSON it prints nothing.
func (s *stack) progress() func([]ledger.Run) {
	last := clock.Mark()
	return func(runs []ledger.Run) {
		if s.JSON || clock.Since(last) < 5*time.Second {
			return
		}
		last = clock.Mark()
		var total, ended int64
		open := 0
		for _, r := range runs {
			if r.State.Open() {
				open++
			}
			if r.Total != nil {
				total += *r.Total
			}
			ended += r.Ended()
		}
		fmt.Fprintf(s.Out, "%d of %s open, %d of %s done\n", open, plural.Count(len(runs), "run", "runs"), ended,
			plural.Count(total, "subtask", "subtasks"))
	}
}

// shell returns the command line that runs a statement in a database.
func shell(d sqldb.Database) string {
	if d.Driver == sqldb.SQLite {
		return "sqlite3 " + d.Name()
	}
	return "mysql " + path.Base(d.Name()) + " -e"
}

// address returns the address of the API and the page.
func (s *stack) address() string {
	scheme := "http://"
	if s.API.TLS.CertFile != "" {
		scheme = "https://"
	}
	return scheme + s.server.Addr()
}

// addresses returns the addresses that a user needs, as lines of a shell.
func (s *stack) addresses() []string {
	return []string{
		s.address() + "/        # the first page, in a browser",
		"export SIMULATOR=" + s.world.address + "        # the simulated platforms",
		"export ADSYNC_SERVER=" + s.address() + "        # for adsync's commands in another shell",
		"export JOBS=http://" + s.jobs.Addr() + "        # the job queue",
	}
}

// tips returns what to try in addition to the query.
func (s *stack) tips() []string {
	api, media := s.address(), engine.PlatformNames()[0]
	return []string{
		shell(s.databases().Config) + " \"UPDATE cron_task SET cron = '* * * * *' WHERE name = '" + media +
			".report_hourly.account'\"   # holds within a minute",
		"curl -s " + api + "/api/v1/tasks        # the tasks, their last and next ticks",
		"curl -s -X POST $SIMULATOR/_sim/faults -d '{\"kind\":\"status\",\"media\":\"" + media +
			"\",\"status\":503,\"for_seconds\":60}'   # break something",
	}
}
