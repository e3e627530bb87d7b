package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/config"
	"adsync/base/secret"
	"adsync/base/service"
	storesettings "adsync/base/store/settings"
	"adsync/base/telemetry"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/jobs"
	"adsync/media"
	"adsync/simulator"
	"adsync/standalone"
	"adsync/standalone/live"
)

func newStandalone(a *settings.Source) *cobra.Command {
	var o standalone.Options
	var pull live.Pull
	var world simulator.Config
	var names []string
	var output string
	cmd := &cobra.Command{
		Use:   "standalone",
		Short: "Runs everything in one process, with simulated platforms and nothing to install",
		Long: `Starts producer, consumer, an embedded database, Kafka and Redis, and simulated media platforms with accounts
whose figures grow through the day, and shows on the terminal how the tables follow them. The database can be
read meanwhile, and the API is on 127.0.0.1:8080. State survives a restart with the same --data.

The settings that name a deployment's servers replace the embedded parts: store.config.writer with
store.data.writer, broker.brokers, redis.addrs. A new world needs databases without tables, and uses its own topics
and keys. It does not delete what it wrote to your servers.

With --once a night of the simulated world is played first, from before midnight to the morning and faster than real
time: the tasks run on their crons while the platforms misbehave, and each row is compared with what the platform had
published when it was fetched. Then the world's clock stops while every task runs once over all accounts, and every
row of the tables is compared with the platforms' truth. It exits with 0 only if nothing differs. Only a new world
inside this program has a night: a kept world in --data, --simulator and --story=false have only the comparison.

With --live no platform is simulated: one real account is pulled for some days, with a token from the environment
(ADSYNC_LIVE_TOKEN) or the terminal. The program only reads it: it sends nothing but GETs, and POSTs that the platform
documents as reads. Then it shows our totals of each day next to those that the platform returns when they are read
again, with the calls used and the quota left.
It exits with 0 if they are equal, 1 if they differ or something failed, 2 if the command line is wrong.`,
		Example: `  adsync standalone
  adsync standalone --accounts 2000 --speed 60
  adsync standalone --once --accounts 200
  adsync standalone --once --config servers.yaml     # on your own MySQL, Kafka and Redis
  adsync standalone --once --output json | jq .truth
  ADSYNC_LIVE_TOKEN=… adsync standalone --live {media} --account 20000058 --days 7
  adsync standalone --data /tmp/second --listen 127.0.0.1:8081`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usage.OneOf("output", output, "text", "json"); err != nil {
				return err
			}
			o.JSON = output == "json"
			if o.JSON && !o.Once && pull.Media == "" {
				return usage.Errorf("--output json goes with --once or --live")
			}
			if err := checkLive(cmd.Flags(), &pull); err != nil {
				return err
			}
			if err := chooseWorld(cmd.Flags(), &o, world, names); err != nil {
				return err
			}
			cfg, sources, err := a.Load(cmd, "standalone")
			if err != nil {
				return err
			}
			if !o.Once && !cmd.Flags().Changed("data") {
				o.DataDir = "data"
			}
			if pull.Media != "" {
				err = prepareLive(a, cmd, &cfg, &o, pull)
			} else {
				o.Servers, err = namedServers(cfg, sources)
			}
			if err != nil {
				return err
			}
			if o.Once && sources.Of("api.listen") == "default" {
				cfg.API.Listen = "127.0.0.1:0" // Another adsync may have the usual address, and nobody calls this one.
			}
			chooseJobs(&cfg, sources)
			o.Out = cmd.OutOrStdout()
			return runStandalone(cmd.Context(), cfg, o, cmd.ErrOrStderr())
		},
	}
	worldFlags(cmd.Flags(), &world, &names)
	standaloneFlags(cmd.Flags(), &o, &pull, &output)
	return cmd
}

func standaloneFlags(flags *pflag.FlagSet, o *standalone.Options, pull *live.Pull, output *string) {
	flags.StringVar(&o.DataDir, "data", "",
		"directory for the state that survives a restart (default: data; with --once a temporary one, with --live one for "+
			"the account below data)")
	flags.StringVar(&o.Simulator, "simulator", "",
		"address of a simulator (adsync simulate) to use instead of the embedded one, as http://host:port")
	flags.BoolVar(&o.Once, "once", false, "run every task once, compare all tables with the truth, and exit")
	flags.BoolVar(&o.Story, "story", true, "with --once, in a new world: play a night first, faster than real time")
	flags.StringVar(output, "output", "text", "text, or with --once and --live json")
	liveFlags(flags, pull)
	settings.Flag(flags, "listen", "api.listen", "address of the API, health and metrics")
}

// chooseJobs completes the settings of the job queue. Callers on this machine need no token. Next to another standalone
// the queue has any free port.
func chooseJobs(cfg *settings.Config, sources *config.Sources) {
	if sources.Of("jobs.tokens") == "default" {
		cfg.Jobs.Tokens = jobs.TokensNone
	}
	if sources.Of("api.listen") == "default" {
		return
	}
	for key, address := range map[string]*string{"jobs.listen": &cfg.Jobs.Listen,
		"jobs.admin_listen": &cfg.Jobs.AdminListen} {
		if sources.Of(key) == "default" {
			*address = "127.0.0.1:0"
		}
	}
}

// chooseWorld puts the simulated world of the flags into the options.
func chooseWorld(flags *pflag.FlagSet, o *standalone.Options, world simulator.Config, names []string) error {
	if o.Simulator != "" {
		for _, name := range worldFlagNames {
			if flags.Changed(name) {
				return usage.Errorf("--%s is for the embedded simulator: give it to adsync simulate", name)
			}
		}
	}
	if err := checkWorld(flags, &world, names); err != nil {
		return err
	}
	o.Accounts, o.Seed, o.Speed, o.USD, o.Platforms = world.Accounts, world.Seed, world.Speed, world.USD, world.Platforms
	return nil
}

// namedServers returns the servers that the settings name. Defaults name none.
func namedServers(cfg settings.Config, sources *config.Sources) (standalone.Servers, error) {
	var s standalone.Servers
	named := func(key string) bool { return sources.Of(key) != "default" }
	switch conf, data := named("store.config.writer"), named("store.data.writer"); {
	case conf && data:
		s.Store = &cfg.Store
	case conf || data:
		return s,
			usage.Errorf(
				"only one of store.config.writer and store.data.writer is set: set both, or none for SQLite in the data directory")
	}
	if named("broker.brokers") {
		s.Broker = &cfg.Broker
	}
	if named("redis.addrs") {
		s.Redis = &cfg.Redis
	}
	return s, nil
}

// runStandalone runs the whole program until ctx ends or, with --once, until everything was compared.
func runStandalone(ctx context.Context, cfg settings.Config, o standalone.Options, stderr io.Writer) error {
	service.GrowHeap()
	// People read the screen and the outcome. The log is for problems.
	level := slog.LevelWarn
	if cfg.Log.Level != telemetry.DefaultConfig().Level {
		if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
			return err
		}
	}
	cfg.Log.Level = strings.ToLower(level.String())
	logger, current, err := telemetry.NewLogger(cfg.Log, stderr)
	if err != nil {
		return err
	}
	o.API, o.RateLimit, o.Debug, o.Logger = cfg.API, cfg.RateLimit, cfg.Debug, logger
	o.Level = current
	o.Jobs, o.Sources = cfg.Jobs, cfg.Sources
	return standalone.Run(ctx, o)
}

// liveFlags adds the flags of a live account.
func liveFlags(flags *pflag.FlagSet, pull *live.Pull) {
	flags.StringVar(&pull.Media, "live", "", "pull a real account of one of "+
		strings.Join(engine.PlatformNames(), ", ")+", and compare it with the platform's totals")
	flags.StringVar(&pull.Account, "account", "",
		"with --live: the account's id on the platform, such as 20000001 or {media}/20000001")
	flags.StringVar(&pull.User, "user", "",
		"with --live: the name of the token's user on the platform, for platforms whose calls need it")
	flags.IntVar(&pull.Days, "days", live.DaysDefault, "with --live: how many days, today included")
	flags.StringVar(&pull.BaseURL, "base-url", "",
		"with --live: another address of the platform, such as a proxy's (default: media.base_url, otherwise the "+
			"platform's own)")
}

// checkLive returns an error for flags that exclude each other, and removes the platform from the account's name.
func checkLive(flags *pflag.FlagSet, pull *live.Pull) error {
	if !flags.Changed("live") {
		for _, name := range []string{"account", "user", "days", "base-url"} {
			if flags.Changed(name) {
				return usage.Errorf("--%s goes with --live", name)
			}
		}
		return nil
	}
	for _, name := range slices.Concat([]string{"once", "simulator"}, worldFlagNames) {
		if flags.Changed(name) {
			return usage.Errorf("--%s is for simulated platforms and does not go with --live", name)
		}
	}
	if err := usage.OneOf("live", pull.Media, engine.PlatformNames()...); err != nil {
		return err
	}
	of, id := storesettings.SplitName(pull.Account)
	if of != "" && of != pull.Media {
		return usage.Errorf("--account is %q: want an account of %s, the platform of --live", pull.Account, pull.Media)
	}
	pull.Account = id
	if pull.Account == "" || strings.Trim(pull.Account, "0123456789") != "" || len(pull.Account) > 20 {
		return usage.Errorf("--account is %q: want the account's id on the platform, which is a number", pull.Account)
	}
	if named, ok := engine.Platform(pull.Media).(media.UserNamer); ok && pull.User == "" {
		return usage.Errorf("--user is missing: %s's calls carry the name of the token's user (%s)", pull.Media,
			named.UserName())
	}
	if pull.Days < 1 || pull.Days > live.DaysMax {
		return usage.Errorf("--days is %d: want 1 to %d", pull.Days, live.DaysMax)
	}
	return nil
}

// prepareLive completes the options from the settings, the environment and the terminal.
func prepareLive(a *settings.Source, cmd *cobra.Command, cfg *settings.Config, o *standalone.Options,
	pull live.Pull) error {
	flags := cmd.Flags()
	if pull.BaseURL == "" {
		pull.BaseURL = cfg.Media.BaseURL[pull.Media]
	}
	if pull.BaseURL != "" {
		if err := checkLiveAddress(pull); err != nil {
			return err
		}
	}
	if !flags.Changed("listen") {
		// Nobody needs the API of a run that ends, and another adsync may have the usual port.
		cfg.API.Listen = "127.0.0.1:0"
	}
	if !flags.Changed("data") {
		o.DataDir = filepath.Join("data", "live-"+pull.Media+"-"+pull.Account)
	}
	text := settings.Variable(a.Environ, settings.LiveTokenVariable)
	if text == "" {
		if _, ok := prompt.Terminal(cmd.InOrStdin()); !ok {
			return usage.Errorf("there is no access token: set %s, or start this on a terminal and enter it there",
				settings.LiveTokenVariable)
		}
		given, err := prompt.Secret(cmd.Context(), cmd,
			fmt.Sprintf("Access token for %s account %s", pull.Media, pull.Account))
		if err != nil {
			return err
		}
		text = given.Reveal()
	}
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return usage.Errorf(
			"this is not an access token: want the text that the platform's console shows, in %s or on the terminal",
			settings.LiveTokenVariable)
	}
	pull.Token = secret.NewText(text)
	o.Live = &pull
	return nil
}

// checkLiveAddress returns an error for a wrong address, and for one over which others could read the token.
func checkLiveAddress(pull live.Pull) error {
	reached := engine.DefaultMediaConfig()
	reached.BaseURL = map[string]string{pull.Media: pull.BaseURL}
	err := reached.Validate()
	if field, ok := errors.AsType[*config.FieldError](err); ok {
		return usage.Errorf("--base-url is %q: want %s", pull.BaseURL, field.Want)
	}
	u, err := url.Parse(pull.BaseURL)
	if err != nil {
		return usage.Errorf("--base-url is %q: want an address such as https://api.example.com/v3.0", pull.BaseURL)
	}
	local := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	if u.Scheme != "https" && !local {
		return usage.Errorf("--base-url is %q: want https, since http would send the token unencrypted", pull.BaseURL)
	}
	return nil
}
