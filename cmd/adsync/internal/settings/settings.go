// Package settings declares all settings of the program, and reads them for a command.
package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/broker"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/telemetry"
	"adsync/base/trace"
	"adsync/cmd/adsync/internal/usage"
	"adsync/consumer"
	"adsync/engine"
	"adsync/jobs"
	"adsync/producer"
	"adsync/upkeep"
)

// Config is every setting of the program, a section per package. The task system.tables prunes rows that are older
// than Retention once an hour, in small pieces.
type Config struct {
	Log       telemetry.Config   `koanf:"log" doc:"What the program logs, to standard error."`
	API       httpapi.Config     `koanf:"api" doc:"The operators' API, health, readiness and metrics."`
	Secret    secret.Config      `koanf:"secret" doc:"The encryption of platform tokens in the tables."`
	Store     sqldb.Config       `koanf:"store" doc:"The two databases."`
	Broker    broker.Config      `koanf:"broker" doc:"Kafka, which carries work from producers to consumers."`
	Redis     redis.Config       `koanf:"redis" doc:"A fast path for limits and marks, which the databases hold too."`
	RateLimit ratelimit.Config   `koanf:"ratelimit" doc:"How limits are kept. Their values are in the table rate_limit."`
	Producer  producer.Config    `koanf:"producer" doc:"The role that turns due tasks into work."`
	Consumer  consumer.Config    `koanf:"consumer" doc:"The role that does the work."`
	Media     engine.MediaConfig `koanf:"media" doc:"How the platforms are reached."`

	Jobs    jobs.Config          `koanf:"jobs" doc:"The job queue over HTTP."`
	Files   engine.FilesConfig   `koanf:"files" doc:"How report files are made."`
	Sources copies.SourcesConfig `koanf:"sources" doc:"Databases whose tables are copied, by name: {NAME: {driver: mysql, dsn: user:password@tcp(host:3306)/name}}. Give all producers and consumers the same."`

	Debug     telemetry.DebugConfig `koanf:"debug" doc:"Profiles and other ways to see what a process does."`
	Trace     trace.Config          `koanf:"trace" doc:"OpenTelemetry traces of subtasks: send, work, calls and writes."`
	Retention upkeep.Retention      `koanf:"retention" doc:"How long rows are kept. Give all processes the same values."`
}

// Default returns the settings of a deployment on one machine, without its secrets.
func Default() Config {
	c := Config{
		Log:       telemetry.DefaultConfig(),
		API:       httpapi.DefaultConfig(),
		Secret:    secret.DefaultConfig(),
		Store:     sqldb.DefaultConfig(),
		Broker:    broker.DefaultConfig(),
		Redis:     redis.DefaultConfig(),
		RateLimit: ratelimit.DefaultConfig(),
		Producer:  producer.DefaultConfig(),
		Consumer:  consumer.DefaultConfig(),
		Media:     engine.DefaultMediaConfig(),
		Jobs:      jobs.DefaultConfig(),
		Files:     engine.DefaultFilesConfig(),
		Trace:     trace.DefaultConfig(),
		Retention: upkeep.DefaultRetention(),
	}
	c.Broker.Brokers = []string{"127.0.0.1:9092"}
	return c
}

// Environment variables that are not settings.
const (
	ServerVariable    = "ADSYNC_SERVER"
	TokenVariable     = "ADSYNC_TOKEN"      //nolint:gosec // The name of the variable, not a token.
	LiveTokenVariable = "ADSYNC_LIVE_TOKEN" //nolint:gosec // The name of the variable, not a token.
	// Of adsync jobs. ADSYNC_JOBS_ADMIN_PASSWORD, which it uses too, is the setting jobs.admin_password.
	JobsServerVariable = "ADSYNC_JOBS_SERVER"
	JobsTokenVariable  = "ADSYNC_JOBS_TOKEN" //nolint:gosec // The name of the variable, not a token.
	JobsAdminVariable  = "ADSYNC_JOBS_ADMIN"
	AppSecretVariable  = "ADSYNC_APP_SECRET" //nolint:gosec // The name of the variable, not a secret.
)

// Source is where settings come from: the environment and the command line.
type Source struct {
	Environ []string
	File    string   // --config
	Sets    []string // --set
}

// NeededBy lists the sections that a command uses. Other sections need not be valid.
var NeededBy = map[string][]string{
	"serve": {"log", "api", "secret", "store", "broker", "redis", "ratelimit", "producer", "consumer", "media",
		"jobs", "files", "sources", "debug", "trace"},
	"jobs":       {"log", "api", "store", "redis", "jobs", "debug"}, // the role of serve
	"migrate":    {"log", "store", "broker", "jobs"},
	"standalone": {"log", "api", "ratelimit", "store", "broker", "redis", "jobs", "sources", "debug"},
	"simulate":   {"log"},
	"bind":       {"log", "secret", "store", "redis", "ratelimit", "media"},
	"unbind":     {"log", "store"}, // and bind account
	"restore":    {"log", "store"},
	"dead":       {"api"},
	"print":      {},
}

// settingOf is the annotation of a flag that sets a setting.
const settingOf = "adsync_setting"

// Flag adds a flag that is short for --set key=value.
func Flag(flags *pflag.FlagSet, name, key, usage string) {
	flags.String(name, "", usage+": short for --set "+key+"=…")
	flags.Lookup(name).Annotations = map[string][]string{settingOf: {key}}
}

// Load reads the settings for a command, a key of NeededBy.
func (a *Source) Load(cmd *cobra.Command, command string) (Config, *config.Sources, error) {
	overrides, err := a.overrides(cmd.Flags())
	if err != nil {
		return Config{}, nil, err
	}
	c := Default()
	for _, o := range overrides {
		if variable, holds := config.SecretVariable(&c, o.Key); holds {
			fmt.Fprintf(cmd.ErrOrStderr(),
				"Warning: %s %s puts a secret on the command line, which everyone on this machine can read: use the variable %s, "+
					"or a file.\n",
				o.Flag, o.Key, variable)
		}
	}
	sources, err := config.Load(&c, config.Options{
		File:    a.File,
		Environ: a.Environ,
		// Variables with the prefix that are not settings: some stand for flags, the others are for tests.
		IgnoreEnv: []string{"ADSYNC_CONFIG", "ADSYNC_ROLE", ServerVariable, TokenVariable, LiveTokenVariable,
			JobsServerVariable, JobsTokenVariable, JobsAdminVariable, AppSecretVariable, "ADSYNC_TEST_*",
			"ADSYNC_FAILPOINTS", "ADSYNC_CLOCK_SKEW"},
		Overrides: overrides,
		Sections:  NeededBy[command],
		Removed: map[string]string{"partner": "the business's own figures are a copy of a table of one of the sources " +
			"(docs/partner.md): name their database there, and run adsync copies put partner --source NAME --table TABLE " +
			"--target partner_daily"},
	})
	return c, sources, err
}

func (a *Source) overrides(flags *pflag.FlagSet) ([]config.Override, error) {
	var all []config.Override
	for _, set := range a.Sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok || key == "" {
			return nil, usage.Errorf("--set is %q: want key=value, such as log.level=debug", set)
		}
		all = append(all, config.Override{Flag: "--set", Key: key, Value: value})
	}
	flags.Visit(func(f *pflag.Flag) {
		for _, key := range f.Annotations[settingOf] {
			all = append(all, config.Override{Flag: "--" + f.Name, Key: key, Value: f.Value.String()})
		}
	})
	return all, nil
}

// Variable returns an environment variable, or "".
func Variable(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v // The last one wins, as in a shell.
		}
	}
	return value
}

// WithStore opens the databases for the work of a command, a key of NeededBy, and closes them after it.
func (a *Source) WithStore(cmd *cobra.Command, command string,
	work func(context.Context, *store.Store, Config, *slog.Logger) error) error {
	cfg, _, err := a.Load(cmd, command)
	if err != nil {
		return err
	}
	logger, _, err := telemetry.NewLogger(cfg.Log, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	// A change of a large table may take hours.
	for _, d := range []*sqldb.Database{&cfg.Store.Config, &cfg.Store.Data, &cfg.Jobs.Store} {
		d.Patience = 24 * time.Hour
	}
	s, err := store.Open(cmd.Context(), cfg.Store, logger)
	if err != nil {
		return err
	}
	return errors.Join(work(cmd.Context(), s, cfg, logger), s.Close())
}
