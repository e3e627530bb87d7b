package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"adsync/test/services/local"
)

//go:embed compose.yml
var composeFile []byte

// dockerAnswers reports whether an engine runs (docker alone may be just a client) and compose is installed.
func dockerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, args := range [][]string{{"info"}, {"compose", "version"}} {
		if exec.CommandContext(ctx, "docker", args...).Run() != nil {
			return false
		}
	}
	return true
}

// startDocker starts the servers as containers of this run's own compose project. The returned function removes the
// project, also after an error.
func startDocker(ctx context.Context, names []string, dir string, ports *local.Ports, stderr io.Writer) (
	env []string, stopAll func(), err error,
) {
	file := filepath.Join(dir, "compose.yml")
	if err := os.WriteFile(file, composeFile, 0o644); err != nil {
		return nil, func() {}, err
	}
	// Every port is set, because compose refuses a file with an unset one, also of a service that is not started.
	portOf := make(map[string]int)
	settings := os.Environ()
	for _, variable := range []string{"KAFKA_PORT", "MYSQL_PORT", "REDIS_PORT"} {
		port, err := ports.Take()
		if err != nil {
			return nil, func() {}, err
		}
		portOf[variable] = port
		settings = append(settings, fmt.Sprintf("%s=%d", variable, port))
	}
	compose := func(ctx context.Context, args ...string) *exec.Cmd {
		project := []string{"compose", "-f", file, "-p", "adsync-test-" + strconv.Itoa(os.Getpid())}
		cmd := exec.CommandContext(ctx, "docker", append(project, args...)...)
		cmd.Env = settings
		return cmd
	}
	stopAll = func() {
		// The run's context may have ended; the containers must still be removed.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		saveContainerLogs(dir, compose(ctx, "logs", "--no-color"))
		if output, err := compose(ctx, "down", "--volumes", "--timeout", "5").CombinedOutput(); err != nil {
			fmt.Fprintf(stderr, "services: docker compose down: %v\n%s", err, output)
		}
	}
	begin := time.Now()
	if output, err := compose(ctx, append([]string{"up", "--detach"}, names...)...).CombinedOutput(); err != nil {
		return nil, stopAll, fmt.Errorf("docker compose up: %w\n%s", err, output)
	}
	servers := map[string]local.Kind{
		"kafka":   local.KafkaAt(local.Loopback(portOf["KAFKA_PORT"])),
		"mariadb": local.MariaDBAt(local.Loopback(portOf["MYSQL_PORT"])),
		"redis":   local.RedisAt(local.Loopback(portOf["REDIS_PORT"])),
	}
	for _, name := range names {
		if err := local.AwaitReady(ctx, name, servers[name].Ready, nil); err != nil {
			return nil, stopAll, err
		}
		fmt.Fprintf(stderr, "services: %s (container) is ready after %.1f s\n", name, time.Since(begin).Seconds())
		env = append(env, servers[name].Setting())
	}
	return env, stopAll, nil
}

func saveContainerLogs(dir string, logs *exec.Cmd) {
	folder := filepath.Join(dir, "logs")
	if os.MkdirAll(folder, 0o755) != nil {
		return
	}
	var output bytes.Buffer
	logs.Stdout, logs.Stderr = &output, &output
	_ = logs.Run()
	_ = os.WriteFile(filepath.Join(folder, "containers.log"), output.Bytes(), 0o644)
}
