package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"adsync/standalone"
	"adsync/test/patch"
)

// accounts is of a world with some accounts of each platform, and one in USD of each that has such accounts.
const (
	accounts = 24
	abroad   = 3 // one in so many is in USD
)

// play builds the program without a defence, lets it play its night, and returns its result.
func play(ctx context.Context, o options, root string, d defence) (standalone.OnceReport, error) {
	var report standalone.OnceReport
	dir, err := os.MkdirTemp("", "adsync-switch-")
	if err != nil {
		return report, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "adsync")
	if err := patch.Build(ctx, root, program, "", d.edits); err != nil {
		return report, fmt.Errorf("%s: %w", d.name, err)
	}
	log, err := os.Create(filepath.Join(o.out, d.name+".log"))
	if err != nil {
		return report, err
	}
	defer func() { _ = log.Close() }()
	night := exec.CommandContext(ctx, program, "standalone", "--once", "--output", "json",
		"--accounts", strconv.Itoa(accounts), "--usd", strconv.Itoa(abroad), "--seed", strconv.FormatInt(o.seed, 10),
		"--listen", "127.0.0.1:0")
	night.Cancel = func() error { return night.Process.Signal(os.Interrupt) }
	night.Dir, night.Stderr = dir, log
	text, err := night.Output()
	// A difference, which is the wanted result, also has its own exit code.
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return report, fmt.Errorf("%s: %w", d.name, err)
	}
	if err := os.WriteFile(filepath.Join(o.out, d.name+".json"), text, 0o600); err != nil {
		return report, err
	}
	if err := json.Unmarshal(text, &report); err != nil || report.Story == nil {
		return report, fmt.Errorf("%s: the program ended without its report: %s", d.name, log.Name())
	}
	return report, nil
}

// verdict is the outcome of a switch.
type verdict struct {
	defence      defence
	night, round int64  // rows that differ
	sign         string // where it showed first, or why it does not count
}

func (v verdict) caught() bool { return v.night+v.round > 0 }

func (v verdict) String() string {
	if !v.caught() {
		return "NOT CAUGHT: " + v.sign
	}
	return fmt.Sprintf("caught: %d rows differ in the night, %d in the round: %s", v.night, v.round, v.sign)
}

// judge returns whether a row differs without a defence, and in which tables.
func judge(d defence, r standalone.OnceReport) verdict {
	v := verdict{defence: d, night: r.Story.Differences, round: r.Truth.Differences}
	var tables []string
	for _, example := range r.Story.Examples {
		table, _, _ := strings.Cut(example, ":")
		tables = append(tables, table+" (night)")
	}
	for name, t := range r.Truth.Tables {
		if t.Differences > 0 {
			tables = append(tables, name)
		}
	}
	slices.Sort(tables)
	if v.sign = strings.Join(slices.Compact(tables), ", "); v.caught() {
		return v
	}
	v.sign = "nothing differs"
	if err := r.Check(); err != nil {
		v.sign = err.Error()
	}
	return v
}
