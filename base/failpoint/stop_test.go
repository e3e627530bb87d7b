//go:build chaos

package failpoint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/failpoint"
)

const child = "ADSYNC_TEST_STOPPED"

// A process that is to stop must not do what follows the point before it has stopped.
func TestHit_ReturnsFromAStopWhenTheProcessIsContinued(t *testing.T) {
	after := os.Getenv(child)
	if after != "" {
		failpoint.Hit("a.point")
		require.NoError(t, os.WriteFile(after, nil, 0o600))
		return
	}
	dir := t.TempDir()
	after = filepath.Join(t.TempDir(), "after")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.point"), []byte("stop"), 0o600))
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"="+after, "ADSYNC_FAILPOINTS="+dir)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	}, 10*time.Second, 5*time.Millisecond)
	require.NoFileExists(t, after)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, cmd.Wait())
	require.FileExists(t, after)
}
