package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/config"
	"adsync/base/secret"
	storesettings "adsync/base/store/settings"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/standalone"
)

// liveFlags are the flags of a live account.
func liveFlags(flags *pflag.FlagSet, live *standalone.Live) {
	flags.StringVar(&live.Media, "live", "", "pull a real account of this platform, "+strings.Join(engine.PlatformNames(), " or ")+", and compare it with what the platform says")
	flags.StringVar(&live.Account, "account", "", "with --live: the account's id on the platform, such as 20000001 or {media}/20000001")
	flags.IntVar(&live.Days, "days", standalone.LiveDaysDefault, "with --live: how many days, today included")
	flags.StringVar(&live.BaseURL, "base-url", "", "with --live: another address of the platform, such as a proxy's (default: media.base_url, else the platform's own)")
}

// checkLive refuses flags that do not go together, and takes the platform off the account's name.
func checkLive(flags *pflag.FlagSet, live *standalone.Live) error {
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
	if err := usage.OneOf("live", live.Media, engine.PlatformNames()...); err != nil {
		return err
	}
	of, id := storesettings.SplitName(live.Account)
	if of != "" && of != live.Media {
		return usage.Errorf("--account is %q: want an account of %s, as --live says", live.Account, live.Media)
	}
	live.Account = id
	if live.Account == "" || strings.Trim(live.Account, "0123456789") != "" || len(live.Account) > 20 {
		return usage.Errorf("--account is %q: want the account's id on the platform, which is a number", live.Account)
	}
	if live.Days < 1 || live.Days > standalone.LiveDaysMax {
		return usage.Errorf("--days is %d: want 1 to %d", live.Days, standalone.LiveDaysMax)
	}
	return nil
}

// prepareLive fills in what the settings, the environment and the terminal say.
func prepareLive(a *settings.Source, cmd *cobra.Command, cfg *settings.Config, o *standalone.Options, live standalone.Live) error {
	flags := cmd.Flags()
	if live.BaseURL == "" {
		live.BaseURL = cfg.Media.BaseURL[live.Media]
	}
	if live.BaseURL != "" {
		if err := checkLiveAddress(live); err != nil {
			return err
		}
	}
	if !flags.Changed("listen") {
		// Nobody needs the API of a run that ends by itself, and another adsync may have the usual port.
		cfg.API.Listen = "127.0.0.1:0"
	}
	if !flags.Changed("data") {
		o.DataDir = filepath.Join("data", "live-"+live.Media+"-"+live.Account)
	}
	text := settings.Variable(a.Environ, settings.LiveTokenVariable)
	if text == "" {
		if _, ok := prompt.Terminal(cmd.InOrStdin()); !ok {
			return usage.Errorf("there is no access token: set %s, or start this on a terminal to be asked for it", settings.LiveTokenVariable)
		}
		given, err := prompt.Secret(cmd.Context(), cmd, fmt.Sprintf("Access token for %s account %s", live.Media, live.Account))
		if err != nil {
			return err
		}
		text = given.Reveal()
	}
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return usage.Errorf("what was given as the access token is none: want the text that the platform's console shows, in %s or when asked", settings.LiveTokenVariable)
	}
	live.Token = secret.NewText(text)
	o.Live = &live
	return nil
}

// checkLiveAddress refuses an address that is none, or over which a stranger could read the token.
func checkLiveAddress(live standalone.Live) error {
	reached := engine.DefaultMediaConfig()
	reached.BaseURL = map[string]string{live.Media: live.BaseURL}
	err := reached.Validate()
	if field, ok := errors.AsType[*config.FieldError](err); ok {
		return usage.Errorf("--base-url is %q: want %s", live.BaseURL, field.Want)
	}
	u, err := url.Parse(live.BaseURL)
	if err != nil {
		return usage.Errorf("--base-url is %q: want an address such as https://api.example.com/v3.0", live.BaseURL)
	}
	local := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	if u.Scheme != "https" && !local {
		return usage.Errorf("--base-url is %q: want https, since the token would travel in clear", live.BaseURL)
	}
	return nil
}
