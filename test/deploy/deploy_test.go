// Package deploy tests the files that a deployment starts from, with the program that will read them.
package deploy

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"adsync/test/rig"
)

const root = "../.."

// program is the built adsync.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "adsync-deploy-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if program, err = rig.Build(ctx, dir, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// check runs "adsync config check" with exactly these variables.
func check(t *testing.T, environ []string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"config", "check"}, args...)...)
	cmd.Env = environ
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
}

// key is what openssl rand -base64 32 prints.
var key = base64.StdEncoding.EncodeToString(make([]byte, 32))

func TestConfigs_TheProgramAcceptsEveryFile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/configs/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := "serve"
			if name == "standalone" {
				command = name
			}
			// Secrets are not in files: whoever deploys sets them.
			check(t, []string{
				"ADSYNC_SECRET_KEYS=[{id: test, key: " + key + "}]",
				"ADSYNC_API_TOKENS=[{name: test, token: 0123456789abcdef, role: viewer}]",
			}, "--config", file, "--for", command)
		})
	}
}

// compose is what of docker-compose.yml the test needs; the yaml package resolves the anchors and merges.
type compose struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Command     []string          `yaml:"command"`
		Environment map[string]string `yaml:"environment"`
	} `yaml:"services"`
}

func TestCompose_TheProgramAcceptsEveryService(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/docker-compose.yml")
	require.NoError(t, err)
	var file compose
	require.NoError(t, yaml.Unmarshal(text, &file))

	tested := 0
	for name, service := range file.Services {
		if !strings.HasPrefix(service.Image, "adsync:") {
			continue
		}
		tested++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, service.Command)
			var environ []string
			for variable, value := range service.Environment {
				environ = append(environ, variable+"="+os.Expand(value, composeValue))
			}
			check(t, environ, "--for", service.Command[0])

			// A misspelt command or flag is found by asking for its help.
			help := exec.CommandContext(t.Context(), program, append(service.Command, "--help")...)
			output, err := help.CombinedOutput()
			require.NoError(t, err, string(output))
		})
	}
	require.Equal(t, 5, tested, "migrate, producer, consumer, simulator and bind")
}

// composeValue does what compose does with ${NAME:-default} and ${NAME:?message}, for a user who has set what the
// file asks for.
func composeValue(expression string) string {
	if _, value, ok := strings.Cut(expression, ":-"); ok {
		return value
	}
	if strings.HasPrefix(expression, "ENCRYPTION_KEY:") {
		return key
	}
	return "0123456789abcdef0123456789abcdef"
}
