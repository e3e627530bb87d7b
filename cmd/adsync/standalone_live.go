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
	"adsync/standalone/live"
)

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
