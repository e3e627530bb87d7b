package e2e

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/test/rig"
)

const (
	// patience is how long a test waits for anything before it fails: much longer than an idle machine needs, and than
	// the two minutes after which another process looks for a job that a killed one was creating.
	patience = 4 * time.Minute
	poll     = 100 * time.Millisecond
	// stopTime is the longest time that the program promises for its stop after SIGTERM.
	stopTime = 15 * time.Second
)

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how it ended; to be read after exited

	mu  sync.Mutex
	log []string
}

// startProcess starts the program with its log as JSON on standard error. It dies with the test at the latest.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	return startProgram(t, program, args...)
}

// startProgram is startProcess with another program than the one that was just built.
func startProgram(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), program, args...), exited: make(chan struct{})}
	p.cmd.Env = []string{"ADSYNC_LOG_FORMAT=json"}
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.exited)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.mu.Lock()
			p.log = append(p.log, lines.Text())
			p.mu.Unlock()
		}
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		<-p.exited
		if t.Failed() {
			t.Logf("the log of adsync %s:\n%s", strings.Join(args, " "), strings.Join(p.tail(), "\n"))
		}
	})
	return p
}

// tailLines is how much of a log a failed test shows.
const tailLines = 40

func (p *process) tail() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log[max(0, len(p.log)-tailLines):]
}

// await returns the first record of the log with this message.
func (p *process) await(t *testing.T, message string) map[string]any {
	t.Helper()
	var record map[string]any
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, line := range p.log {
			record = nil
			if json.Unmarshal([]byte(line), &record) == nil && record["msg"] == message {
				return true
			}
		}
		return false
	}, patience, poll, "the process never says %q", message)
	return record
}

// stop ends the process as an operator would. It must end in the promised time, with exit code 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.exited:
	case <-time.After(stopTime):
		require.Fail(t, "the process does not stop")
	}
	require.NoError(t, p.err)
}

// kill ends the process as a lost machine would.
func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	<-p.exited
}

// command runs the program to its end, which must be with exit code 0, and returns what it printed.
func command(t *testing.T, args ...string) string {
	t.Helper()
	return runProgram(t, program, args...)
}

// runProgram is command with another program than the one that was just built.
func runProgram(t *testing.T, program string, args ...string) string {
	t.Helper()
	printed, err := rig.Run(t.Context(), program, args...)
	require.NoError(t, err)
	return printed
}
