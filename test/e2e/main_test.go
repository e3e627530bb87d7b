// Package e2e runs the whole program: simulated platforms, a deployment of adsync, and the comparison of every row of
// its tables with the platforms' truth.
//
// The program is built and runs as separate processes. Its services are inside the test: SQLite, a Kafka broker and a
// Redis, with one process in the role all. Where ADSYNC_TEST_KAFKA, ADSYNC_TEST_MYSQL or ADSYNC_TEST_REDIS name a
// server, the same tests use it. With a MySQL the deployment is a producer and two consumers, and the night of
// standalone is played there too.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"adsync/test/rig"
)

// program is the built adsync.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "adsync-e2e-")
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
