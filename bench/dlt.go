package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// dlt is the peer of pulls: a pipeline in Python that merges rows by their key, as its users write it, without fence,
// coverage, raw JSON or limits.
const dlt = "dlt"

var dltPackages = []string{"dlt[sqlalchemy]==1.31.0", "PyMySQL==1.2.4", "requests==2.34.2"}

const (
	dltProgram = "bench/peers/dlt/load.py"
	// dltThreads is how many calls it makes at a time.
	dltThreads  = 64
	dltDatabase = "dlt"
	// dltRows is about how many rows it pulls: its merge compares each row with all that it has loaded, so that more of
	// them make it slower.
	dltRows = 20_000
)

// installDlt installs dlt in an environment of its own in the user's cache, unless it is there, and returns its Python.
func installDlt(ctx context.Context) (python string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "adsync", "dlt-"+strings.Join(versions(dltPackages), "-"))
	python, done := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return python, nil
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", dir},
		append([]string{python, "-m", "pip", "install", "--quiet"}, dltPackages...),
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
		}
	}
	return python, os.WriteFile(done, nil, 0o644)
}

// versions returns those of packages such as name==1.2.
func versions(packages []string) (all []string) {
	for _, p := range packages {
		_, version, _ := strings.Cut(p, "==")
		all = append(all, version)
	}
	return all
}

// pullsByDlt measures what pullsOf does, with dlt.
func pullsByDlt(ctx context.Context, d *deployment, size pullSize) (values map[string]float64, err error) {
	size.most = dltRows / size.rows
	b, err := newPullBench(ctx, d, size, pullLatency)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(d.o.dir, "dlt-")
	if err != nil {
		return nil, err
	}
	if err := d.mariadb.CreateDatabases(ctx, dltDatabase); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, d.store.Data.Writer(ctx).Exec("DROP DATABASE "+dltDatabase).Error, os.RemoveAll(dir))
	}()
	values = map[string]float64{}
	return values, b.phases(ctx, func(id string) error { return b.pullByDlt(ctx, values, id, dir) })
}

// pullByDlt measures one run of the program, and compares its table with the platform's figures.
func (b *pullBench) pullByDlt(ctx context.Context, values map[string]float64, id, dir string) error {
	before, err := b.d.spent(ctx)
	if err != nil {
		return err
	}
	took, cpu, err := b.runDlt(ctx, dir)
	if err != nil {
		return err
	}
	after, err := b.d.spent(ctx)
	if err != nil {
		return err
	}
	count := float64(len(b.accounts))
	addCosts(values, id, before, after, len(b.accounts))
	values[id] = count / took.Seconds()
	values[id+cpuName(ours)] = float64(cpu.Microseconds()) / count // that of its own process
	var have reported
	const sums = "SELECT COUNT(*) AS `rows`, COALESCE(SUM(view_count), 0) AS impressions, " +
		"COALESCE(SUM(cost), 0) * 10000 AS cost FROM " + dltDatabase + ".report" // The platform's cost is in fen.
	if err := b.d.store.Data.Writer(ctx).Raw(sums).Scan(&have).Error; err != nil {
		return err
	}
	truth, err := b.d.world.truth(ctx, b.size.object, b.pulledDay)
	if err == nil && have != truth {
		err = fmt.Errorf("it has %+v, the platform %+v", have, truth)
	}
	values[id+"-rows"] = float64(truth.Rows) / count
	return err
}

// runDlt runs the program once. It returns the time without that of its start, and its CPU time.
func (b *pullBench) runDlt(ctx context.Context, dir string) (took, cpu time.Duration, err error) {
	tokens, err := b.d.world.tokens(ctx)
	if err != nil {
		return 0, 0, err
	}
	server, err := mysql.ParseDSN(b.d.mariadb.DSN())
	if err != nil {
		return 0, 0, err
	}
	accounts := make([]map[string]string, len(b.accounts))
	for i, a := range b.accounts {
		accounts[i] = map[string]string{"id": a.ExternalID, "token": tokens[a.ExternalID]}
	}
	order, err := json.Marshal(map[string]any{
		"url": b.d.world.base(), "level": b.size.level, "day": b.day, "accounts": accounts, "threads": dltThreads,
		"dir": dir, "dataset": dltDatabase, "database": "mysql+pymysql://root@" + server.Addr + "/" + dltDatabase,
	})
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, b.d.peers[dlt], dltProgram)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), &stderr
	out, err := cmd.Output()
	if err != nil {
		text := stderr.String()
		return 0, 0, fmt.Errorf("%w: %s", err, text[max(0, len(text)-2000):])
	}
	var cost struct{ Seconds, CPU float64 }
	err = json.Unmarshal(out, &cost)
	return time.Duration(cost.Seconds * float64(time.Second)), time.Duration(cost.CPU * float64(time.Second)), err
}
