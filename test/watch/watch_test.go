// Package watch tests the rules, boards and metrics for Prometheus and Grafana, with a real Prometheus. It is in its
// own module, so that the program does not depend on the libraries of the tests of chats.
package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	root     = "../.."
	configs  = root + "/configs"
	patience = 2 * time.Minute
)

// The programs: adsync is built by the test, the others by `make test-watch`, which names them.
var adsync, prometheus, promtool = "", os.Getenv("PROMETHEUS"), os.Getenv("PROMTOOL")

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if prometheus == "" || promtool == "" {
		fmt.Fprintln(os.Stderr, "PROMETHEUS and PROMTOOL must name the programs: run make test-watch")
		return 1
	}
	dir, err := os.MkdirTemp("", "adsync-watch-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	adsync = filepath.Join(dir, "adsync")
	// With its failpoints, and otherwise as shipped.
	build := exec.Command("go", "build", "-tags", "chaos", "-o", adsync, "./cmd/adsync")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build adsync: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// readYAML reads a file of configs into a value.
func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(configs, file))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into), file)
}

// tool runs promtool, which must succeed.
func tool(t *testing.T, args ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
	require.NoError(t, err, "promtool %s\n%s", strings.Join(args, " "), output)
	return string(output)
}

// ruleFile is a file of rules.
type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// name is the alert's with its severity: some alerts have two.
func (r rule) name() string { return r.Alert + " " + r.Labels["severity"] }

// rules returns all rules, by their files.
func rules(t *testing.T) map[string]ruleFile {
	t.Helper()
	files, err := filepath.Glob(configs + "/prometheus/rules/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]ruleFile{}
	for _, path := range files {
		var f ruleFile
		readYAML(t, "prometheus/rules/"+filepath.Base(path), &f)
		all[filepath.Base(path)] = f
	}
	return all
}

// freePort returns a port on which no process listens.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// process is a program that was started.
type process struct {
	cmd  *exec.Cmd
	done chan error
	log  string
}

// start starts a program whose output goes to a file. It is ended with the test.
func start(t *testing.T, name string, environ []string, program string, args ...string) *process {
	t.Helper()
	p := &process{log: filepath.Join(t.TempDir(), name+".log"), done: make(chan error, 1)}
	file, err := os.Create(p.log)
	require.NoError(t, err)
	defer file.Close()
	p.cmd = exec.Command(program, args...) //nolint:noctx // It outlives the test's context: it is ended in order.
	p.cmd.Env = append(os.Environ(), environ...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	require.NoError(t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("%s said:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// stop ends the process, once.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.cmd == nil {
		return
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

// died waits until the process has ended without a signal.
func (p *process) died(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		require.Fail(t, "it lives on")
	}
	p.cmd = nil
}

// kill ends the process as a lost machine does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	p.died(t)
}

// ask sends a request and decodes the answer; into may be nil.
func ask(ctx context.Context, method, address string, body, into any) error {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = strings.NewReader(string(text))
	}
	request, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s\n%s", method, address, answer.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// server is a running Prometheus.
type server struct{ address string }

// sample is one sample of an instant query's answer.
type sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

func (s server) query(ctx context.Context, expr string) ([]sample, error) {
	var answer struct {
		Data struct {
			Result []sample `json:"result"`
		} `json:"data"`
	}
	err := ask(ctx, http.MethodGet, s.address+"/api/v1/query?"+url.Values{"query": {expr}}.Encode(), nil, &answer)
	return answer.Data.Result, err
}

// holds reports whether an expression returns any sample. A comparison does so when it is true.
func (s server) holds(ctx context.Context, expr string) (bool, error) {
	samples, err := s.query(ctx, expr)
	return len(samples) > 0, err
}

// fired returns the names of the alerts that have fired since a moment, in whole seconds, with their severities. If
// the moment is now, these are the alerts that fire now.
func (s server) fired(ctx context.Context, since time.Time) (map[string]bool, error) {
	expr := `ALERTS{alertstate="firing"}`
	if seconds := int(time.Since(since).Seconds()); seconds > 0 {
		expr = fmt.Sprintf("last_over_time(%s[%ds])", expr, seconds)
	}
	samples, err := s.query(ctx, expr)
	names := map[string]bool{}
	for _, sample := range samples {
		names[sample.Metric["alertname"]+" "+sample.Metric["severity"]] = true
	}
	return names, err
}

// selectors returns the names of the metrics in an expression, as Prometheus parses it.
func (s server) selectors(ctx context.Context, expr string) ([]string, error) {
	var answer struct {
		Data any `json:"data"`
	}
	if err := ask(ctx, http.MethodGet, s.address+"/api/v1/parse_query?"+url.Values{"query": {expr}}.Encode(), nil,
		&answer); err != nil {
		return nil, err
	}
	var names []string
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			if kind := node["type"]; kind == "vectorSelector" || kind == "matrixSelector" {
				names = append(names, node["name"].(string))
			}
			for _, child := range node {
				walk(child)
			}
		case []any:
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(answer.Data)
	return names, nil
}
