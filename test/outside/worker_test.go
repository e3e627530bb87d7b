// Package outside_test runs the worker of examples against the API, the job queue and a platform without Go code.
package outside_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis/redistest"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/jobstore"
	"adsync/base/store/storetest"
	"adsync/base/telemetry"
	"adsync/engine"
	"adsync/jobs"
	"adsync/media"
	"adsync/media/external"
	"adsync/producer/api"
)

const (
	jobsToken = "a-token-of-the-tenth-platform"
	theDay    = "2026-11-20"
)

// call sends a request, whose answer must be a success, and returns its body.
func call(t *testing.T, method, address, body string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Token", jobsToken)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Less(t, answer.StatusCode, 300, "%s %s: %s", method, address, text)
	return text
}

// serveAPI serves the API with the platforms without Go code, and returns its address.
func serveAPI(t *testing.T, s *store.Store, platforms []media.Platform) string {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	server, err := httpapi.New(httpapi.DefaultConfig(), telemetry.NewRegistry(), logger)
	require.NoError(t, err)
	rules := grant.NewRules()
	for _, p := range platforms {
		require.NoError(t, rules.Set(p.Limits()))
	}
	client, keys := redistest.New(t)
	waiter := ratelimit.New(ratelimit.DefaultConfig(), client, keys, s, rules, nil, logger)
	server.Register(api.Routes(api.Deps{Store: s, Now: s.Data.Now, Platforms: platforms, Limits: waiter,
		Clock: clock.System{}, Registerer: prometheus.NewRegistry()})...)
	require.NoError(t, server.Gate().Start(t.Context()))
	listening := httptest.NewServer(server.Handler())
	t.Cleanup(listening.Close)
	return listening.URL
}

// serveJobs serves the job queue and returns its address.
func serveJobs(t *testing.T) string {
	t.Helper()
	queue := storetest.NewJobs(t)
	require.NoError(t, queue.Prepare(t.Context(), clock.System{}.Now()))
	_, err := queue.AddToken(t.Context(), "tenth", secret.NewText(jobsToken), "of the test", jobstore.Roles(),
		clock.System{}.Now())
	require.NoError(t, err)
	cfg := jobs.DefaultConfig()
	cfg.Listen, cfg.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	server := jobs.New(cfg, jobs.Deps{Stores: jobs.Stores{"default": queue}, Clock: clock.System{},
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(t, server.Start(t.Context()))
	t.Cleanup(server.Stop)
	return "http://" + server.Addr()
}

// servePlatform starts the tenth platform, and returns its address.
func servePlatform(t *testing.T, python string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), python, "../../examples/tenthplatform.py")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(address)
}

func TestWorker_PullsAPlatformWithoutGoCode(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the example's worker was not tested")
	}
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), external.Tables()))
	first := serveAPI(t, s, nil)
	call(t, http.MethodPut, first+"/api/v1/platforms/tenth", `{"timezone":"Asia/Tokyo","currency":"USD",
		"limits":[{"endpoint":"*","scope":"app","period_ms":1000,"calls":200}]}`)
	call(t, http.MethodPost, first+"/api/v1/platforms/tenth/accounts",
		`{"accounts":[{"external_id":"t-1001"},{"external_id":"t-1002"}]}`)
	platforms, err := engine.ExternalPlatforms(t.Context(), s, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Len(t, platforms, 1)
	address, queue, platform := serveAPI(t, s, platforms), serveJobs(t), servePlatform(t, python)
	accounts, err := s.FindAccounts(t.Context(), "tenth", []string{"t-1001", "t-1002"})
	require.NoError(t, err)
	for name, a := range accounts {
		job, err := json.Marshal(map[string]any{"run_id": "7529853616300212345", "task": "tenth.reports", "media": "tenth",
			"account": name, "account_id": fmt.Sprint(a.ID), "part": theDay, "planned_at": "2026-11-21T00:00:00Z",
			"deadline": "2026-11-21T01:00:00Z", "attempt": 0,
			"params": map[string]any{"levels": []string{"account", "campaign", "adgroup"}}})
		require.NoError(t, err)
		call(t, http.MethodPut, queue+"/api/tenth/work?tries=3", string(job))
	}
	worker := exec.CommandContext(t.Context(), python, "../../examples/worker.py")
	worker.Env = append(os.Environ(), "ADSYNC_SERVER="+address, "ADSYNC_JOBS_SERVER="+queue,
		"ADSYNC_JOBS_TOKEN="+jobsToken, "NAMESPACE=tenth", "QUEUE=work", "PLATFORM="+platform, "IDLE_EXIT=1")
	worker.WaitDelay = time.Second
	out, err := worker.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out), "no job failed")
	require.Empty(t, differences(t, s, platform))
	var open int
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM coverage WHERE state <> 'complete'").Row().
		Scan(&open))
	require.Zero(t, open)
}

// differences compares each row of the public tables with the platform's own figures.
func differences(t *testing.T, s *store.Store, platform string) (found []string) {
	t.Helper()
	for _, table := range []string{"report_daily", "report_hourly"} {
		hour := map[string]string{"report_daily": "0", "report_hourly": "hour"}[table]
		have := map[string]string{}
		rows, err := s.Data.Writer(t.Context()).Raw("SELECT account_id, level, object_id, " + hour +
			", cost, impressions, clicks FROM " + table + " WHERE media = 'tenth' AND currency = 'USD'").Rows()
		require.NoError(t, err)
		for rows.Next() {
			var account, cost, shows, clicks, hour int64
			var level, object string
			require.NoError(t, rows.Scan(&account, &level, &object, &hour, &cost, &shows, &clicks))
			have[fmt.Sprint(account, level, object, hour)] = fmt.Sprint(cost, shows, clicks)
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		want := truth(t, s, platform, table)
		require.NotEmpty(t, want)
		for key, figures := range want {
			if have[key] != figures {
				found = append(found, fmt.Sprintf("%s %s: have %q, want %q", table, key, have[key], figures))
			}
			delete(have, key)
		}
		for key := range have {
			found = append(found, table+" has "+key)
		}
	}
	return found
}

// truth returns the platform's figures of a table.
func truth(t *testing.T, s *store.Store, platform, table string) map[string]string {
	t.Helper()
	want := map[string]string{}
	accounts, err := s.FindAccounts(t.Context(), "tenth", []string{"t-1001", "t-1002"})
	require.NoError(t, err)
	hourly := map[string]int{"report_daily": 0, "report_hourly": 1}[table]
	for name, a := range accounts {
		for _, level := range []string{"account", "campaign", "adgroup"} {
			for page, came, total := 1, 0, 1; came < total; page++ {
				var answer struct {
					Total int
					Rows  []struct {
						Object               string
						Hour                 int
						Cents, Shows, Clicks int64
					}
				}
				require.NoError(t, json.Unmarshal(call(t, http.MethodGet, fmt.Sprintf(
					"%s/report?account=%s&level=%s&day=%s&hourly=%d&page=%d", platform, name, level, theDay, hourly, page), ""),
					&answer))
				total = answer.Total
				came += len(answer.Rows)
				for _, r := range answer.Rows {
					want[fmt.Sprint(a.ID, level, r.Object, r.Hour)] = fmt.Sprint(r.Cents*10_000, r.Shows, r.Clicks)
				}
			}
		}
	}
	return want
}
