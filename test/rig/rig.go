// Package rig is shared by the programs that run adsync as separate processes: it builds adsync, sets it up on a
// simulated world, and calls it over HTTP.
package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Build builds adsync with the build tags into dir and returns the program's path. The program has no debugging
// information, which would double the time of linking.
func Build(ctx context.Context, dir, tags string) (string, error) {
	program := filepath.Join(dir, "adsync")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-w", "-tags", tags, "-o", program, "adsync/cmd/adsync")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build adsync: %w\n%s", err, output)
	}
	return program, nil
}

// Run runs the program to its end, without this process's environment, and returns what it printed.
func Run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{}, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("adsync %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

// Install creates the tables of a deployment and binds a simulator's accounts. The given settings, as for
// WriteSettings, reach the services, and are left in the file. The returned settings reach the platforms.
func Install(ctx context.Context, program, file, simulator string, settings ...map[string]any) (map[string]any, error) {
	if err := WriteSettings(file, settings...); err != nil {
		return nil, err
	}
	if _, err := Run(ctx, program, "migrate", "up", "--config", file); err != nil {
		return nil, err
	}
	// It prints the settings that are still missing.
	printed, err := Run(ctx, program, "bind", "--config", file, "--simulator", simulator)
	if err != nil {
		return nil, err
	}
	_, missing, _ := strings.Cut(printed, "with these settings:\n")
	var platforms map[string]any
	err = yaml.Unmarshal([]byte(missing), &platforms)
	return platforms, err
}

// WriteSettings writes settings to a file, with those of the later arguments in the place of earlier ones.
func WriteSettings(file string, all ...map[string]any) error {
	merged := any(map[string]any{})
	for _, settings := range all {
		merged = merge(merged, settings)
	}
	text, err := yaml.Marshal(merged)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// merge returns settings with more of them added, section by section.
func merge(have, more any) any {
	into, ok := have.(map[string]any)
	from, ok2 := more.(map[string]any)
	if !ok || !ok2 {
		return more
	}
	merged := maps.Clone(into)
	for key, value := range from {
		merged[key] = merge(merged[key], value)
	}
	return merged
}

// Await calls done until it returns true. done's last error is part of the error.
func Await(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if ok {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waited %s in vain until %s: %w", limit, what, ctx.Err()), err)
		}
	}
}

// web calls processes and the simulator; a call that hangs fails.
var web = &http.Client{Timeout: 10 * time.Second}

// Get returns the answer to a GET request, whatever its status.
func Get(ctx context.Context, url string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	resp, err := web.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// Send sends a request with a JSON body, none if it is nil, and reads the answer into the value, unless that is nil. An
// answer of 300 or more is an error.
func Send(ctx context.Context, method, url string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, answer)
	}
	if into == nil || len(answer) == 0 {
		return nil
	}
	return json.Unmarshal(answer, into)
}
