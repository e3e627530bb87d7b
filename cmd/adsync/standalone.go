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
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/config"
	"adsync/base/secret"
	storesettings "adsync/base/store/settings"
	"adsync/base/telemetry"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/standalone"
	"adsync/standalone/live"
)

func newStandalone(a *settings.Source) *cobra.Command {
	var o standalone.Options
	var pull live.Pull
	var output string
	cmd := &cobra.Command{
		Use:   "standalone",
		Short: "Runs everything in one process, with simulated platforms and nothing to install",
		Long: `Starts producer, consumer, an embedded database, Kafka and Redis, and simulated media platforms with accounts
whose figures grow through the day, and shows on the terminal how the tables follow them. The database can be
read meanwhile, and the API answers on 127.0.0.1:8080. State survives a restart with the same --data.

The settings that name a deployment's servers put those in the place of the embedded parts: store.config.writer with
store.data.writer, broker.brokers, redis.addrs. A new world begins in databases without tables and is refused in others;
its topics and keys have names of its own. What it leaves on the servers is yours to take away.

With --once a night of the simulated world is played first, from before midnight to the morning and faster than real
time: the tasks run on their crons while the platforms misbehave, and each row is compared with what had been published
when it was fetched. Then the world stands still while every task runs one time over all accounts, and every row of the
tables is compared with the platforms' truth. It exits 0 only if nothing differs. Only a new world inside this program
has a night: with --data that has one already, with --simulator and with --story=false there is the comparison alone.

With --live no platform is simulated: one real account is pulled for some days, with a token from the environment
(ADSYNC_LIVE_TOKEN) or asked for on the terminal. It is only read: nothing but GETs leaves the program. Then our totals
of each day are shown beside those that the platform tells of the account when it is asked anew, with the calls that
were spent and the quota that is left. It exits 0 if they are equal, 1 if they differ or something failed, 2 if the
command line is wrong.`,
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
			if err := checkWorld(cmd.Flags(), o.Accounts, o.Speed, o.USD); err != nil {
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
				cfg.API.Listen = "127.0.0.1:0" // Another adsync may have the usual one, and nobody asks this one.
			}
			o.Out = cmd.OutOrStdout()
			return runStandalone(cmd.Context(), cfg, o, cmd.ErrOrStderr())
		},
	}
	standaloneFlags(cmd.Flags(), &o, &pull, &output)
	return cmd
}

func standaloneFlags(flags *pflag.FlagSet, o *standalone.Options, pull *live.Pull, output *string) {
	worldFlags(flags, &o.Accounts, &o.Seed, &o.Speed, &o.USD)
	flags.StringVar(&o.DataDir, "data", "", "directory for everything that survives a restart (default: data; with --once one that goes away, with --live one for the account below data)")
	flags.StringVar(&o.Simulator, "simulator", "", "address of a simulator (adsync simulate) to use instead of one inside, as http://host:port")
	flags.BoolVar(&o.Once, "once", false, "run every task once, compare all tables with the truth, and exit")
	flags.BoolVar(&o.Story, "story", true, "with --once, in a new world: play a night of it before, faster than real time")
	flags.StringVar(output, "output", "text", "text, or with --once and --live json")
	liveFlags(flags, pull)
	settings.Flag(flags, "listen", "api.listen", "address of the API, health and metrics")
}

// namedServers are those that the settings name; a default names none.
func namedServers(cfg settings.Config, sources *config.Sources) (standalone.Servers, error) {
	var s standalone.Servers
	named := func(key string) bool { return sources.Of(key) != "default" }
	switch conf, data := named("store.config.writer"), named("store.data.writer"); {
	case conf && data:
		s.Store = &cfg.Store
	case conf || data:
		return s, usage.Errorf("of store.config.writer and store.data.writer one alone is set: set both, or none for SQLite in the data directory")
	}
	if named("broker.brokers") {
		s.Broker = &cfg.Broker
	}
	if named("redis.addrs") {
		s.Redis = &cfg.Redis
	}
	return s, nil
}

// standalone runs the whole program until ctx ends or, with once, until everything was compared.
func runStandalone(ctx context.Context, cfg settings.Config, o standalone.Options, stderr io.Writer) error {
	// The screen and the outcome are what is read; the log is for when something is wrong.
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
	return standalone.Run(ctx, o)
}

// liveFlags are the flags of a live account.
func liveFlags(flags *pflag.FlagSet, pull *live.Pull) {
	flags.StringVar(&pull.Media, "live", "", "pull a real account of this platform, "+strings.Join(engine.PlatformNames(), " or ")+", and compare it with what the platform says")
	flags.StringVar(&pull.Account, "account", "", "with --live: the account's id on the platform, such as 20000001 or {media}/20000001")
	flags.IntVar(&pull.Days, "days", live.DaysDefault, "with --live: how many days, today included")
	flags.StringVar(&pull.BaseURL, "base-url", "", "with --live: another address of the platform, such as a proxy's (default: media.base_url, else the platform's own)")
}

// checkLive refuses flags that do not go together, and takes the platform off the account's name.
func checkLive(flags *pflag.FlagSet, pull *live.Pull) error {
	if !flags.Changed("live") {
		for _, name := range []string{"account", "days", "base-url"} {
			if flags.Changed(name) {
				return usage.Errorf("--%s goes with --live", name)
			}
		}
		return nil
	}
	for _, name := range []string{"once", "simulator", "accounts", "seed", "speed", "usd"} {
		if flags.Changed(name) {
			return usage.Errorf("--%s is for simulated platforms and does not go with --live", name)
		}
	}
	if err := usage.OneOf("live", pull.Media, engine.PlatformNames()...); err != nil {
		return err
	}
	of, id := storesettings.SplitName(pull.Account)
	if of != "" && of != pull.Media {
		return usage.Errorf("--account is %q: want an account of %s, as --live says", pull.Account, pull.Media)
	}
	pull.Account = id
	if pull.Account == "" || strings.Trim(pull.Account, "0123456789") != "" || len(pull.Account) > 20 {
		return usage.Errorf("--account is %q: want the account's id on the platform, which is a number", pull.Account)
	}
	if pull.Days < 1 || pull.Days > live.DaysMax {
		return usage.Errorf("--days is %d: want 1 to %d", pull.Days, live.DaysMax)
	}
	return nil
}

// prepareLive fills in what the settings, the environment and the terminal say.
func prepareLive(a *settings.Source, cmd *cobra.Command, cfg *settings.Config, o *standalone.Options, pull live.Pull) error {
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
		// Nobody needs the API of a run that ends by itself, and another adsync may have the usual port.
		cfg.API.Listen = "127.0.0.1:0"
	}
	if !flags.Changed("data") {
		o.DataDir = filepath.Join("data", "live-"+pull.Media+"-"+pull.Account)
	}
	text := settings.Variable(a.Environ, settings.LiveTokenVariable)
	if text == "" {
		if _, ok := prompt.Terminal(cmd.InOrStdin()); !ok {
			return usage.Errorf("there is no access token: set %s, or start this on a terminal to be asked for it", settings.LiveTokenVariable)
		}
		given, err := prompt.Secret(cmd.Context(), cmd, fmt.Sprintf("Access token for %s account %s", pull.Media, pull.Account))
		if err != nil {
			return err
		}
		text = given.Reveal()
	}
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return usage.Errorf("what was given as the access token is none: want the text that the platform's console shows, in %s or when asked", settings.LiveTokenVariable)
	}
	pull.Token = secret.NewText(text)
	o.Live = &pull
	return nil
}

// checkLiveAddress refuses an address that is none, or over which a stranger could read the token.
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
		return usage.Errorf("--base-url is %q: want https, since the token would travel in clear", pull.BaseURL)
	}
	return nil
}
