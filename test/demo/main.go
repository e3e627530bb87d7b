// Command demo brings docker-compose.yml up on this machine without Docker: two producers, consumers by lane and the
// simulated platforms, each as a process of the built program with its own command line. Kafka, MySQL or MariaDB,
// Redis, and Prometheus with the shipped rules are real.
//
//	make demo          # runs until ctrl-C
//	make demo-check    # compares boards, first page, tables and platforms, and ends
//
// The servers are those that test/services has started and names in ADSYNC_TEST_KAFKA, ADSYNC_TEST_MYSQL and
// ADSYNC_TEST_REDIS. The sample subscriptions of standalone deliver to those of ADSYNC_TEST_S3, ADSYNC_TEST_SFTP and
// ADSYNC_TEST_FTPS.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"adsync/engine"
	"adsync/test/compose"
	"adsync/test/rig"
)

const (
	// pullTime is how long the first whole pull may take, and how long until all places show the same figures.
	pullTime = 5 * time.Minute
	// showTime is how long the check waits for the board: the leader updates its figures each minute, and Prometheus
	// reads them every 15 s.
	showTime = 4 * time.Minute
)

// options are the values of the command line's flags.
type options struct {
	compose.Options
	check bool
}

func parseOptions(args []string, output io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.Root, "root", ".", "the repository's `directory`")
	flags.StringVar(&o.Program, "program", "bin/adsync", "the built adsync")
	flags.StringVar(&o.Prometheus, "prometheus", "", "the program `prometheus`; without it none is started")
	flags.IntVar(&o.Accounts, "accounts", 100, "simulated accounts, both platforms together")
	flags.BoolVar(&o.check, "check", false,
		"wait for the first whole pull, compare the shown figures with the tables and with the platforms, and end")
	return o, flags.Parse(args)
}

func main() {
	rig.Main("demo", parseOptions, func(ctx context.Context, o options) (int, error) {
		err := run(ctx, o.Options, o.check, os.Stdout)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return 0, err
	})
}

func run(ctx context.Context, o compose.Options, check bool, out io.Writer) (err error) {
	o.Kafka, o.MySQL, o.Redis = os.Getenv("ADSYNC_TEST_KAFKA"), os.Getenv("ADSYNC_TEST_MYSQL"),
		os.Getenv("ADSYNC_TEST_REDIS")
	if o.Kafka == "" || o.MySQL == "" || o.Redis == "" {
		return errors.New("the demo needs Kafka, MySQL and Redis: run make demo, which starts them")
	}
	if o.Dir, err = os.MkdirTemp("", "adsync-demo-"); err != nil {
		return err
	}
	if o.Program, err = filepath.Abs(o.Program); err != nil {
		return err
	}
	o.Environ = map[string]string{"ADSYNC_FILES_DIR": filepath.Join(o.Dir, "files")}
	o.Name, o.OwnPorts = "demo-"+strings.ToLower(rand.Text()[:6]), true
	began := time.Now()
	o.Say = func(format string, args ...any) {
		fmt.Fprintf(out, "%4.0f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	d, err := compose.Up(ctx, o)
	defer func() { //nolint:contextcheck // It must end what was started also after an interrupt.
		o.Say("ending what was started")
		err = errors.Join(err, d.Close())
		if err == nil || errors.Is(err, context.Canceled) {
			err = errors.Join(err, os.RemoveAll(o.Dir))
		} else {
			fmt.Fprintln(out, "The logs are in "+o.Dir)
		}
	}()
	if err != nil {
		return err
	}
	env, err := writeEnv(d)
	if err != nil {
		return err
	}
	files, err := subscribe(ctx, d)
	if err != nil {
		return err
	}
	if check {
		return errors.Join(compare(ctx, d, out), compareFiles(ctx, d, files, out))
	}
	if err := order(ctx, d, files); err != nil {
		return err
	}
	shown, address, err := serveBoards(d)
	if err != nil {
		return err
	}
	defer shown.close()
	show(d, env, address, out)
	return wait(ctx, d)
}

// writeEnv writes the environment of an operator's shell for this deployment.
func writeEnv(d *compose.Deployment) (string, error) {
	var text strings.Builder
	for _, setting := range compose.List(d.Environment()) {
		name, value, _ := strings.Cut(setting, "=")
		fmt.Fprintf(&text, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	path := filepath.Join(d.Dir, "env")
	return path, os.WriteFile(path, []byte(text.String()), 0o600)
}

func show(d *compose.Deployment, env, boards string, out io.Writer) {
	fmt.Fprintf(out, `
first page    %s/   and %s/ of the standby; log in with the token %s
API           %s/api/v1/overview
platforms     %s/_sim/clock   docs/simulator.md lists what can be done to them
`, d.Producers[0], d.Producers[1], d.Token, d.Producers[0], d.World)
	if d.Board != "" {
		fmt.Fprintf(out,
			"Prometheus    %s/api/v1/alerts   its HTTP API answers queries; its pages are not in this build\n", d.Board)
	}
	media := engine.PlatformNames()
	fmt.Fprintf(out,
		`boards        %s   the present values of the Grafana boards' queries; only docker compose has Grafana
logs          %s/*.log

To try, in another shell:

  source %s
  bin/adsync accounts --help; bin/adsync coverage holes; bin/adsync pauses
  bin/adsync pause media %s --for 5m --reason 'to see it'      # the first page shows it and its cost
  curl -s %s/_sim/faults -d '{"kind":"token_death","media":"%s","token":"pair"}'   # a login dies: see the page

Ctrl-C ends everything.

`, boards, d.Dir, env, media[0], d.World, media[len(media)-1])
}

// wait returns at an interrupt, or when a process ends.
func wait(ctx context.Context, d *compose.Deployment) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := d.Alive(); err != nil {
				return err
			}
		}
	}
}

// compare waits for the first whole pull, stops the platforms' clock, and compares.
func compare(ctx context.Context, d *compose.Deployment, out io.Writer) error {
	d.Say("waiting for the first whole pull, which the crons begin")
	if err := rig.Await(ctx, pullTime, "each account's figures of today were pulled", d.Whole); err != nil {
		return err
	}
	d.Say("every account's figures of today are in the tables; ordering those of yesterday, as an operator would")
	if err := d.Pull(ctx); err != nil {
		return err
	}
	at, err := d.Freeze(ctx, true)
	if err != nil {
		return err
	}
	d.Say("the platforms' figures stand still as of %s; pulling again", at.Format(time.RFC3339))
	if err := d.Pull(ctx); err != nil {
		return err
	}
	fetched := time.Now()
	var figures []compose.Figure
	said := ""
	err = rig.Await(ctx, showTime, "all places show the same figures", func(ctx context.Context) (bool, error) {
		found, err := d.Figures(ctx)
		if ctx.Err() != nil {
			return false, err
		}
		waits := ""
		if err != nil {
			waits = err.Error()
		}
		for _, f := range found {
			if !f.Agrees() {
				waits = "they differ in " + f.Name
				break
			}
		}
		if waits != said && waits != "" {
			d.Say("not all places show the same figures yet: %s", waits)
		}
		figures, said = found, waits
		return waits == "", err
	})
	fmt.Fprintf(out,
		"\nThe platforms' figures are those of %s, fetched by %s, asked at %s.\nBoard: the queries of "+
			"configs/grafana/dashboards, asked of Prometheus. Tables: report_hourly, account_balance, media_account.\n\n%s\n",
		at.UTC().Format(time.RFC3339), fetched.UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339),
		compose.Text(figures))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "All %d figures agree.\n", len(figures))
	return nil
}
