package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"adsync/base/broker"
	"adsync/base/checkup"
	"adsync/base/redis"
	"adsync/base/store"
	"adsync/base/store/summaries"
	"adsync/base/telemetry"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
)

// connectedBy lists the servers that a command connects to, as sections of the settings. Other commands start their own.
var connectedBy = map[string][]string{
	"serve":   {"store", "broker", "redis", "partner"},
	"migrate": {"store", "broker"},
	"bind":    {"store", "redis"},
	"unbind":  {"store"},
}

// errUnfit is the error of servers with a fault: the findings say which.
var errUnfit = errors.New("something is wrong with the servers: see the rows of state fault")

// checkServers looks at the servers that a command needs, and prints what it found.
func checkServers(cmd *cobra.Command, cfg settings.Config, command, output string) error {
	if connectedBy[command] == nil {
		return usage.Errorf("--connect goes with --for bind, migrate, serve or unbind: adsync %s starts what it needs itself", command)
	}
	servers, closeAll, err := openServers(cmd, cfg, connectedBy[command])
	if err != nil {
		return errors.Join(err, closeAll())
	}
	findings := servers.CheckUp(cmd.Context())
	if err := errors.Join(printFindings(cmd.OutOrStdout(), output, findings), closeAll()); err != nil {
		return err
	}
	if !checkup.Healthy(findings) {
		return errUnfit
	}
	return nil
}

// openServers makes clients of some servers, without contacting them.
func openServers(cmd *cobra.Command, cfg settings.Config, sections []string) (servers engine.Servers, closeAll func() error, err error) {
	var closers []func() error
	closeAll = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	logger, _, err := telemetry.NewLogger(cfg.Log, cmd.ErrOrStderr())
	if err != nil {
		return servers, closeAll, err
	}
	for _, section := range sections {
		switch section {
		case "store":
			if servers.Store, err = store.New(cmd.Context(), cfg.Store, logger); err == nil {
				closers = append(closers, servers.Store.Close)
			}
		case "broker":
			if servers.Broker, err = broker.New(cfg.Broker, logger, prometheus.NewRegistry()); err == nil {
				closers = append(closers, servers.Broker.Close)
			}
		case "redis":
			servers.Keys = redis.NewKeys(cfg.Redis.KeyPrefix)
			if servers.Redis, err = redis.Open(cfg.Redis); err == nil {
				closers = append(closers, servers.Redis.Close)
			}
		case "partner":
			servers.Partner, err = summaries.OpenPartner(cfg.Partner)
			closers = append(closers, servers.Partner.Close)
		}
		if err != nil {
			return servers, closeAll, fmt.Errorf("set up %s: %w", section, err)
		}
	}
	return servers, closeAll, nil
}

// printFindings prints findings as a table, or as JSON.
func printFindings(w io.Writer, output string, findings []checkup.Finding) error {
	if output == "json" {
		answer, err := json.Marshal(map[string]any{"ok": checkup.Healthy(findings), "findings": findings})
		if err != nil {
			return err
		}
		return table.JSON(w, answer)
	}
	t := table.New(w)
	t.Head("SERVER\tCHECK\tSTATE\tDETAIL")
	for _, f := range findings {
		t.Row(f.Server, f.Check, f.State, table.Whole(f.Detail))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var remedies []string
	for _, f := range findings {
		if f.Remedy != "" && f.State != checkup.OK {
			remedies = append(remedies, fmt.Sprintf("  %s, %s: %s", f.Server, f.Check, table.Clean(f.Remedy)))
		}
	}
	if len(remedies) > 0 {
		fmt.Fprintf(w, "\nWhat to do:\n%s\n", strings.Join(remedies, "\n"))
	}
	return nil
}
