// Package manifests checks docker-compose.yml and the Helm chart with the libraries that read them, and the rendered
// manifests with Kubernetes' own types. The program itself checks the settings that the manifests give it. It is a
// separate module, so that the libraries are no dependencies of the program.
package manifests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const root = "../.."

// program is the built adsync.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "adsync-manifests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	program = filepath.Join(dir, "adsync")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/adsync")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build adsync: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}
