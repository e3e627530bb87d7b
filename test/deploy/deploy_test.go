// Package deploy tests the files of a deployment with the program that reads them.
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

// key has the form of the output of openssl rand -base64 32.
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
			if name == "standalone" || name == "jobs" {
				command = name
			}
			// Secrets are not in the files: the operator sets them.
			check(t, []string{
				"ADSYNC_SECRET_KEYS=[{id: test, key: " + key + "}]",
				"ADSYNC_API_TOKENS=[{name: test, token: 0123456789abcdef, role: viewer}]",
			}, "--config", file, "--for", command)
		})
	}
}
