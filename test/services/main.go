// Command services runs a command with its own real servers: Kafka, MariaDB and Redis, and with --only also versitygw
// (S3), OpenSSH and vsftpd, for files.
//
//	go run ./test/services -- go test -count=1 -p 1 ./base/...
//	go run ./test/services --keep
//
// The servers listen on spare ports of 127.0.0.1 and keep their data in their own directory. So any number of runs
// can be active at the same time, and what already runs on the machine is not touched. ADSYNC_TEST_KAFKA,
// ADSYNC_TEST_MYSQL and ADSYNC_TEST_REDIS name them to the command, and ADSYNC_TEST_S3, ADSYNC_TEST_SFTP and
// ADSYNC_TEST_FTPS have a local.FileLogin. When it ends, or at an interrupt, exactly the started servers are stopped,
// and the command's exit code is returned.
//
// If a Docker engine answers, Kafka, MariaDB and Redis are containers. Otherwise they are Debian's packages and Kafka's
// own jars, which are installed or fetched if they are missing. OpenSSH and vsftpd are always Debian's packages, and
// versitygw must be on the PATH. A line reports those that are not available, and the command runs without them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"adsync/test/rig"
	"adsync/test/services/local"
)

func main() {
	rig.Main("services", parseOptions, func(ctx context.Context, o options) (int, error) {
		return run(ctx, o, os.Stdout, os.Stderr)
	}, syscall.SIGHUP)
}

// options are the values of the command line's flags.
type options struct {
	only    []string // the services to start
	files   []string // the servers of files to start
	runtime string   // auto, docker or local
	keep    bool
	dir     string // where data and logs live; empty for a new temporary directory
	memory  bool   // the temporary directory is in memory, where that has room
	command []string
}

var (
	serviceNames = []string{"kafka", "mariadb", "redis"}
	fileNames    = []string{"s3", "sftp", "ftps"}
)

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("services", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.Usage = func() {
		fmt.Fprint(output, "Runs a command with its own Kafka, MariaDB and Redis servers.\n\n"+
			"  services [flags] -- command [arguments]\n  services [flags] --keep\n\n")
		flags.PrintDefaults()
	}
	only := flags.String("only", strings.Join(serviceNames, ","), "the `services` to start, separated by commas; "+
		"servers of files are s3, sftp and ftps")
	flags.StringVar(&o.runtime, "runtime", "auto",
		"how: `docker`, local, or auto, which is docker if an engine answers")
	flags.BoolVar(&o.keep, "keep", false,
		"print the environment for a shell and leave the servers running until an interrupt")
	flags.StringVar(&o.dir, "dir", "",
		"the empty or new `directory` for data and logs, kept at the end (default a temporary one)")
	flags.BoolVar(&o.memory, "memory", false,
		"keep the temporary directory in memory where /dev/shm has 8 GiB free: suites make thousands of tables, and wait "+
			"for the disk")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.command = flags.Args()
	for name := range strings.SplitSeq(*only, ",") {
		switch name = strings.TrimSpace(name); {
		case slices.Contains(serviceNames, name):
			o.only = append(o.only, name)
		case slices.Contains(fileNames, name):
			o.files = append(o.files, name)
		default:
			all := slices.Concat(serviceNames, fileNames)
			return o, fmt.Errorf("--only %s: want some of %s", *only, strings.Join(all, ", "))
		}
	}
	if !slices.Contains([]string{"auto", "docker", "local"}, o.runtime) {
		return o, fmt.Errorf("--runtime %s: want auto, docker or local", o.runtime)
	}
	if o.keep == (len(o.command) > 0) {
		return o, errors.New("want either a command after -- or --keep; see --help")
	}
	return o, nil
}

// run starts the services, runs the command or waits for ctx to end, and stops the services. It returns the exit code
// of the process.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (code int, err error) {
	dir, err := makeDir(o.dir, o.memory)
	if err != nil {
		return 1, err
	}
	defer func() {
		if o.dir == "" {
			code, err = tidy(dir, code, err, stderr)
		}
	}()
	ports := local.NewPorts()
	defer ports.Release()

	start := startLocal
	if o.runtime == "docker" || o.runtime == "auto" && dockerAnswers(ctx) {
		start = startDocker
	}
	var env []string
	if len(o.only) > 0 {
		started, stopAll, err := start(ctx, o.only, dir, ports, stderr)
		defer stopAll()
		if err != nil {
			return 1, err
		}
		env = started
	}
	started, stopFiles, err := startFiles(ctx, o.files, dir, ports, stderr)
	defer stopFiles()
	if err != nil {
		return 1, err
	}
	env = append(env, started...)
	if o.keep {
		for _, setting := range env {
			name, value, _ := strings.Cut(setting, "=")
			fmt.Fprintf(stdout, "export %s='%s'\n", name, value)
		}
		fmt.Fprintln(stderr, "services: running; an interrupt (ctrl-C) stops them")
		<-ctx.Done()
		return 0, nil
	}
	return runCommand(ctx, o.command, env)
}

// runCommand runs the command in its own process group, so that all its processes can be ended.
func runCommand(ctx context.Context, command, env []string) (int, error) {
	cmd := exec.Command(command[0], command[1:]...) // Not CommandContext: an interrupt ends the whole group.
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	p, err := local.StartProcess("command", cmd)
	if err != nil {
		return 127, err
	}
	select {
	case <-p.Exited():
	case <-ctx.Done():
		return 130, errors.Join(errors.New("interrupted"), p.Stop(10*time.Second))
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.Err()); ok {
		return max(1, exit.ExitCode()), nil
	}
	if p.Err() != nil {
		return 1, fmt.Errorf("run %s: %w", command[0], p.Err())
	}
	return 0, nil
}

func makeDir(dir string, memory bool) (string, error) {
	if dir == "" {
		parent := ""
		if memory && hasRoom(memoryDir) {
			parent = memoryDir
		}
		return os.MkdirTemp(parent, "adsync-services-")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return "", errors.Join(err, fmt.Errorf("--dir %s: want an empty or new directory", dir))
	}
	return dir, nil
}

const (
	memoryDir  = "/dev/shm"
	memoryFree = 8 << 30
)

// hasRoom reports whether a file system in memory exists and has enough space for the servers' data.
func hasRoom(dir string) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(dir, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= memoryFree
}

// tidy removes the temporary directory. After a failure it keeps the logs and prints their place. The data of a failed
// run is hundreds of megabytes, and useless without its servers.
func tidy(dir string, code int, err error, stderr io.Writer) (int, error) {
	logs := filepath.Join(dir, "logs")
	if _, noLogs := os.Stat(logs); code == 0 && err == nil || noLogs != nil {
		return code, errors.Join(err, os.RemoveAll(dir))
	}
	entries, readErr := os.ReadDir(dir)
	err = errors.Join(err, readErr)
	for _, entry := range entries {
		if entry.Name() != "logs" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	fmt.Fprintf(stderr, "services: the servers' logs are in %s\n", logs)
	return code, err
}
