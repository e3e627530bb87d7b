package e2e

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/task"
)

// tenth is a deployment with a platform that adsync has no Go code for: examples/tenthplatform.py.
type tenth struct {
	*workers

	python, address string
	accounts        map[string]int64 // our ids by the platform's
}

func newTenth(t *testing.T) *tenth {
	t.Helper()
	python := findPython(t)
	p := &tenth{workers: newWorkers(t), python: python, accounts: map[string]int64{}}
	platform := exec.CommandContext(t.Context(), python, "../../examples/tenthplatform.py")
	platform.Stderr = t.Output()
	out, err := platform.StdoutPipe()
	require.NoError(t, err)
	startExample(t, platform)
	p.address, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.address = strings.TrimSpace(p.address)

	p.send(t, http.MethodPut, "/platforms/tenth", map[string]any{"timezone": "Asia/Tokyo", "currency": "USD",
		"limits": []any{map[string]any{"endpoint": "*", "scope": "app", "period_ms": 1000, "calls": 200}}})
	var names []string
	require.NoError(t, json.Unmarshal(p.read(t, "/accounts"), &names))
	accounts := make([]any, len(names))
	for i, name := range names {
		accounts[i] = map[string]any{"external_id": name}
	}
	p.send(t, http.MethodPost, "/platforms/tenth/accounts", map[string]any{"accounts": accounts})
	p.restart(t) // Platforms without Go code are read at the start.
	found, err := p.store.FindAccounts(t.Context(), "tenth", names)
	require.NoError(t, err)
	require.Len(t, found, len(names))
	for name, a := range found {
		p.accounts[name] = a.ID
	}
	return p
}

// send sends a request to the API, which must succeed.
func (p *tenth) send(t *testing.T, method, path string, body map[string]any) {
	t.Helper()
	status, answer := call(t, method, p.api+path, body)
	require.Less(t, status, 300, string(answer))
}

// read reads from the platform.
func (p *tenth) read(t *testing.T, path string) []byte {
	t.Helper()
	status, answer := call(t, http.MethodGet, p.address+path, nil)
	require.Equal(t, http.StatusOK, status, string(answer))
	return answer
}

// work starts a worker, which ends with the test.
func (p *tenth) work(t *testing.T) {
	t.Helper()
	worker := exec.CommandContext(t.Context(), p.python, "../../examples/worker.py")
	jobs, _, _ := strings.Cut(p.queue, "/api/")
	worker.Env = append(os.Environ(), "ADSYNC_SERVER="+strings.TrimSuffix(p.api, "/api/v1"), "ADSYNC_JOBS_SERVER="+jobs,
		"NAMESPACE=warehouse", "QUEUE=tenth", "PLATFORM="+p.address, "PYTHONDONTWRITEBYTECODE=1")
	worker.Stdout, worker.Stderr = t.Output(), t.Output()
	startExample(t, worker)
}

// startExample starts a program, which ends with the test.
func startExample(t *testing.T, program *exec.Cmd) {
	t.Helper()
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill() // An error means that it has ended.
		_ = program.Wait()         // It was killed.
	})
}

// A task of a platform without Go code makes jobs, the example's workers do them, and every row is the platform's.
func TestExternal_APlatformWithoutGoCode(t *testing.T) {
	t.Parallel()
	p := newTenth(t)
	p.work(t)
	p.work(t)
	run := p.addTask(t, "tenth", map[string]any{"ttr": 60, "days": 2,
		"params": map[string]any{"levels": []string{"account", "campaign", "adgroup"}}},
		map[string]any{"media": "tenth", "handler": "tenth.external"})
	p.requireEnded(t, run, task.RunSucceeded, map[task.State]int64{task.Succeeded: 4})
	days := p.days(t)
	require.Len(t, days, 2)
	for _, table := range []string{"report_daily", "report_hourly"} {
		require.Equal(t, p.truth(t, table, days), p.rows(t, table))
	}
	for _, count := range []string{"coverage WHERE media = 'tenth' AND state <> 'complete'", "outside_part"} {
		require.Zero(t, p.count(t, count), count)
	}
	require.Equal(t, 2*2*6, p.count(t, "coverage WHERE media = 'tenth'"), "accounts, days, reports and levels")
	status, answer := call(t, http.MethodGet, p.api+"/overview", nil)
	require.Equal(t, http.StatusOK, status, string(answer))
	require.Contains(t, string(answer), `"tenth"`)
}

// count counts rows of a table.
func (p *tenth) count(t *testing.T, of string) (n int) {
	t.Helper()
	require.NoError(t, p.store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM "+of).Row().Scan(&n))
	return n
}

// days returns the days of which there are reports.
func (p *tenth) days(t *testing.T) (days []string) {
	t.Helper()
	require.NoError(t, p.store.Data.Writer(t.Context()).Raw(
		"SELECT DISTINCT day FROM report_daily WHERE media = 'tenth'").Scan(&days).Error)
	for i := range days {
		days[i] = days[i][:len(time.DateOnly)]
	}
	return days
}

// rows returns the figures of a public table by account, day, level, object and hour.
func (p *tenth) rows(t *testing.T, table string) map[string]string {
	t.Helper()
	hour := map[string]string{"report_daily": "0", "report_hourly": "hour"}[table]
	have := map[string]string{}
	query := p.store.Data.Writer(t.Context()).Raw("SELECT account_id, day, level, object_id, " + hour +
		", cost, impressions, clicks, currency FROM " + table + " WHERE media = 'tenth'")
	require.NoError(t, sqldb.EachRow(query, func(rows *sql.Rows) error {
		var account, cost, shows, clicks, hour int64
		var day, level, object, currency string
		err := rows.Scan(&account, &day, &level, &object, &hour, &cost, &shows, &clicks, &currency)
		have[fmt.Sprint(account, day[:len(time.DateOnly)], level, object, hour)] = fmt.Sprint(cost, shows, clicks, currency)
		return err
	}))
	return have
}

// truth returns the platform's figures of some days, as rows does.
func (p *tenth) truth(t *testing.T, table string, days []string) map[string]string {
	t.Helper()
	want := map[string]string{}
	hourly := map[string]int{"report_daily": 0, "report_hourly": 1}[table]
	for name, id := range p.accounts {
		for _, day := range days {
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
					require.NoError(t, json.Unmarshal(p.read(t, fmt.Sprintf("/report?account=%s&level=%s&day=%s&hourly=%d&page=%d",
						name, level, day, hourly, page)), &answer))
					total = answer.Total
					came += len(answer.Rows)
					for _, r := range answer.Rows {
						want[fmt.Sprint(id, day, level, r.Object, r.Hour)] = fmt.Sprint(r.Cents*10_000, r.Shows, r.Clicks, "USD")
					}
				}
			}
		}
	}
	require.NotEmpty(t, want)
	return want
}
