package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/engine"
	"adsync/simulator"
)

// onePlatform is the platform of tests that work with any one.
var onePlatform = engine.PlatformNames()[0]

// platformsAt returns the platforms of a simulator as the setting media.base_url.
func platformsAt(t *testing.T, address string) string {
	t.Helper()
	urls := map[string]string{}
	for name, path := range simulator.Platforms() {
		urls[name] = address + "/" + name + path
	}
	text, err := json.Marshal(urls)
	require.NoError(t, err)
	return "ADSYNC_MEDIA_BASE_URL=" + string(text)
}

// TestMain lets the test binary stand in for the program, so that tests can start it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("ADSYNC_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

type result struct {
	code           int
	stdout, stderr string
}

// adsync runs one command line in its own environment.
func adsync(environ []string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, environ, &stdout, &stderr)
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// process is the program as a separate process.
type process struct {
	cmd *exec.Cmd
	log *bufio.Scanner
}

func start(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = slices.Concat(environ, []string{"ADSYNC_TEST_MAIN=1", "ADSYNC_LOG_FORMAT=json"})
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		// The context also kills it, but perhaps only after this process has ended.
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return &process{cmd: cmd, log: bufio.NewScanner(log)}
}

// await reads the log up to the first record whose attribute has the value, and returns it.
func (p *process) await(t *testing.T, attribute, value string) map[string]any {
	t.Helper()
	var lines []string
	for p.log.Scan() {
		lines = append(lines, p.log.Text())
		var record map[string]any
		require.NoError(t, json.Unmarshal(p.log.Bytes(), &record), p.log.Text())
		if record[attribute] == value {
			return record
		}
	}
	require.Failf(t, "the program ended", "%v\n%s", p.cmd.Wait(), strings.Join(lines, "\n"))
	return nil
}

// stop sends the signal and waits for the end, which must be with exit code 0.
func (p *process) stop(t *testing.T, signal os.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(signal))
	var last string
	for p.log.Scan() {
		last = p.log.Text()
	}
	require.NoError(t, p.cmd.Wait(), last)
}

// get returns the status and the body of an answer.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(raw)
}
