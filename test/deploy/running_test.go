package deploy

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"adsync/base/redis/redistest"
	"adsync/base/store/storetest"
)

// patience is how long anything may take: much more than on an idle machine.
const patience = 2 * time.Minute

// trial is the services of docker-compose.yml by their own command lines and variables, but for the addresses, which are those of this machine.
type trial struct {
	program   string // the image's
	file      compose
	addresses *strings.Replacer
	environ   map[string]string // in the place of what the file says
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	kafka, cache := os.Getenv("ADSYNC_TEST_KAFKA"), os.Getenv(redistest.Env)
	if kafka == "" || cache == "" || os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("a deployment of several processes needs Kafka, a MySQL and Redis: make test-services")
	}
	program := buildAsImage(t)
	requireAlone(t, program)
	databases, name := storetest.Config(t), "deploy-"+strings.ToLower(rand.Text()[:8])
	return &trial{
		program: program, file: readCompose(t),
		environ: map[string]string{
			"ADSYNC_STORE_CONFIG_WRITER": databases.Config.Writer.Reveal(), "ADSYNC_STORE_DATA_WRITER": databases.Data.Writer.Reveal(),
			"ADSYNC_BROKER_BROKERS": kafka, "ADSYNC_REDIS_ADDRS": cache,
			// The servers serve other tests too, and the machine other processes.
			"ADSYNC_BROKER_PREFIX": name, "ADSYNC_BROKER_PARTITIONS": "6", "ADSYNC_REDIS_KEY_PREFIX": name, "ADSYNC_API_LISTEN": "127.0.0.1:0",
			"ADSYNC_LOG_FORMAT": "json",
		},
	}
}

// command is a service's, ready to be started.
func (r *trial) command(ctx context.Context, t *testing.T, service string) *exec.Cmd {
	t.Helper()
	require.Contains(t, r.file.Services, service)
	args := slices.Clone(r.file.Services[service].Command)
	for i := range args {
		if r.addresses != nil {
			args[i] = r.addresses.Replace(args[i])
		}
	}
	environ := r.file.environ(service)
	maps.Copy(environ, r.environ)
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Env = list(environ)
	return cmd
}

// run runs a service that ends.
func (r *trial) run(t *testing.T, service string) string {
	t.Helper()
	cmd := r.command(t.Context(), t, service)
	var failure strings.Builder
	cmd.Stderr = &failure
	output, err := cmd.Output()
	require.NoError(t, err, "%s: %s", service, failure.String())
	return string(output)
}

// start starts a process of a service and returns where it listens, by the message with which its log says so. At the end of the test it must stop as
// it is asked to.
func (r *trial) start(t *testing.T, service, message string) string {
	t.Helper()
	cmd := r.command(context.WithoutCancel(t.Context()), t, service) // It is stopped after the test, whose context has ended by then.
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	address, ended := make(chan string, 1), make(chan struct{})
	var mu sync.Mutex
	var log []string
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			var record struct{ Msg, Addr string }
			if json.Unmarshal(lines.Bytes(), &record) == nil && record.Msg == message {
				address <- record.Addr
			}
			mu.Lock()
			log = append(log, lines.Text())
			mu.Unlock()
		}
	}()
	tail := func() string {
		mu.Lock()
		defer mu.Unlock()
		return service + ":\n" + strings.Join(log[max(0, len(log)-20):], "\n")
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("%v\n%s", err, tail())
		}
	})
	select {
	case found := <-address:
		return "http://" + found
	case <-ended:
	case <-time.After(patience):
	}
	require.Fail(t, "the service does not say where it listens", tail())
	return ""
}

// ask asks a process's API as somebody who has the token of the file.
func ask(t *testing.T, method, url, body string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+composeValue("API_TOKEN:?"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if into != nil && resp.StatusCode < http.StatusMultipleChoices {
		require.NoError(t, json.Unmarshal(text, into), string(text))
	}
	return resp.StatusCode
}

// The command line of each service is started against real servers, and a task of each lane is done.
func TestCompose_EveryServiceWorksByItsCommandLine(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	require.Contains(t, r.run(t, "migrate"), "default tasks were written")
	r.addresses = strings.NewReplacer("0.0.0.0:9090", "127.0.0.1:0", "/data", t.TempDir(), "--accounts=400", "--accounts=6")
	simulator := r.start(t, "simulator", "simulated platforms are served")
	r.addresses = strings.NewReplacer("http://simulator:9090", simulator)
	_, settings, found := strings.Cut(r.run(t, "bind"), "with these settings:\n")
	require.True(t, found)
	var bound struct {
		Media struct {
			BaseURL map[string]string `yaml:"base_url"`
		} `yaml:"media"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(settings), &bound))
	addresses, err := json.Marshal(bound.Media.BaseURL)
	require.NoError(t, err)
	r.environ["ADSYNC_MEDIA_BASE_URL"] = string(addresses)

	var processes []string
	var producer string
	for _, service := range slices.Sorted(maps.Keys(r.file.Services)) {
		if !slices.Contains(r.file.Services[service].Command, "serve") {
			continue
		}
		for range max(1, r.file.Services[service].Deploy.Replicas) {
			address := r.start(t, service, "listening")
			processes = append(processes, address)
			if service == "producer" {
				producer = address
			}
		}
	}
	require.Len(t, processes, 2+2+2+1)
	for _, address := range processes {
		require.Eventually(t, func() bool { return ask(t, http.MethodGet, address+"/readyz", "", nil) == http.StatusOK }, patience, 100*time.Millisecond, address)
	}

	var tasks struct {
		Tasks []struct{ Name, Media, Lane string }
	}
	require.Equal(t, http.StatusOK, ask(t, http.MethodGet, producer+"/api/v1/tasks", "", &tasks))
	lanes := map[string]string{} // a task of each lane of each platform
	for _, task := range tasks.Tasks {
		lanes[task.Media+":"+task.Lane] = task.Name
	}
	runs := map[string]string{}
	for lane, task := range lanes {
		var order struct {
			RunID string `json:"run_id"`
		}
		require.Equal(t, http.StatusAccepted, ask(t, http.MethodPost, producer+"/api/v1/tasks/"+task+"/run", "{}", &order), task)
		runs[lane] = order.RunID
	}
	require.Greater(t, len(runs), 4)
	for lane, run := range runs {
		var state struct{ State string }
		require.Eventually(t, func() bool {
			return ask(t, http.MethodGet, producer+"/api/v1/runs/"+run, "", &state) == http.StatusOK && state.State == "succeeded"
		}, patience, 100*time.Millisecond, "%s is worked off by nobody: %s", lane, lanes[lane])
	}
}
