package watch

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	_ "modernc.org/sqlite"
)

// plant is a running adsync with simulated platforms, and a Prometheus that scrapes it.
type plant struct {
	server
	t          *testing.T
	accounts   int
	port       int
	jobs       int      // the port of the job queue
	data       string   // the world's directory
	failpoints string   // the directory in which failpoints are armed
	args       []string // of adsync, in addition to the common ones
	sim        string   // the address of the simulator's control API
	program    *process
	services   *services // nil if adsync embeds all of them
}

func newPlant(t *testing.T, accounts int) *plant {
	t.Helper()
	p := &plant{t: t, accounts: accounts, port: freePort(t), jobs: freePort(t), data: filepath.Join(t.TempDir(), "world"),
		failpoints: t.TempDir()}
	p.sim = fmt.Sprintf("http://127.0.0.1:%d", p.port)
	return p
}

func (p *plant) start() {
	p.t.Helper()
	p.launch()
	p.ready()
}

// launch starts adsync and does not wait until it is ready.
func (p *plant) launch() {
	p.t.Helper()
	args := append([]string{"standalone", "--data", p.data, "--listen", fmt.Sprintf("127.0.0.1:%d", p.port),
		"--set", fmt.Sprintf("jobs.listen=127.0.0.1:%d", p.jobs)}, p.args...)
	if p.services == nil {
		args = append(args, p.world()...)
	}
	p.program = start(p.t, "adsync", []string{"ADSYNC_FAILPOINTS=" + p.failpoints}, adsync, args...)
}

func (p *plant) ready() {
	p.t.Helper()
	p.eventually("adsync is ready", func(ctx context.Context) (bool, error) {
		err := ask(ctx, http.MethodGet, p.url("/readyz"), nil, nil)
		return err == nil, err
	})
}

// world returns the flags that start the simulated world, of the platforms that have troubles.
func (p *plant) world() []string {
	return []string{"--accounts", strconv.Itoa(p.accounts), "--seed", "1", "--usd", "0",
		"--media", tencent + "," + oceanengine}
}

func (p *plant) url(path string) string {
	if strings.HasPrefix(path, "/_sim/") {
		return p.sim + path
	}
	return fmt.Sprintf("http://127.0.0.1:%d%s", p.port, path)
}

// queue returns the address of a queue of jobs.
func (p *plant) queue(name string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/api/shop/%s", p.jobs, name)
}

// publish publishes jobs of one try into a queue.
func (p *plant) publish(queue string, jobs int) {
	p.t.Helper()
	require.NoError(p.t, ask(p.t.Context(), http.MethodPut, p.queue(queue)+"/bulk", make([]int, jobs), nil))
}

func (p *plant) eventually(what string, is func(ctx context.Context) (bool, error)) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	var last error // an error of the condition, not of the expired wait
	for {
		ok, err := is(ctx)
		if ok {
			p.t.Logf("after %3.0f s: %s", time.Since(began).Seconds(), what)
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			require.FailNow(p.t, what+" did not come true", "%v", last)
		case <-tick.C:
		}
	}
}

// each returns a function that calls f at its first call and then at every n-th call, for a condition that needs
// something repeated.
func each(times int, do func()) func() {
	calls := 0
	return func() {
		if calls%times == 0 {
			do()
		}
		calls++
	}
}

// send sends a request to the API or to the simulator and returns the answer, if it is an object.
func (p *plant) send(method, path string, body any) map[string]any {
	p.t.Helper()
	var answer any
	require.NoError(p.t, ask(p.t.Context(), method, p.url(path), body, &answer))
	object, _ := answer.(map[string]any)
	return object
}

// order orders a run of each task with the body, which may be nil, and returns the function that ends the runs.
func (p *plant) order(body map[string]any, tasks ...string) (cancel func()) {
	p.t.Helper()
	var runs []string
	for _, task := range tasks {
		runs = append(runs, p.orderRun(body, task))
	}
	return func() {
		for _, run := range runs {
			cancel := map[string]any{"kind": "run", "target": run, "reason": "it is seen", "by": "otto"}
			if err := ask(p.t.Context(), http.MethodPost, p.url("/api/v1/cancels"), cancel, nil); err != nil {
				require.ErrorContains(p.t, err, "has ended already")
			}
		}
	}
}

// orderRun orders a run and returns its id.
func (p *plant) orderRun(body map[string]any, task string) string {
	p.t.Helper()
	order := map[string]any{"scope": "all"}
	if _, named := body["accounts"]; named {
		clear(order)
	}
	maps.Copy(order, body)
	return p.send(http.MethodPost, "/api/v1/tasks/"+task+"/run", order)["run_id"].(string)
}

// pause pauses a task or a media until the returned function lifts the pause.
func (p *plant) pause(kind, target string) (lift func()) {
	p.t.Helper()
	id := p.send(http.MethodPost, "/api/v1/pauses",
		map[string]any{"kind": kind, "target": target, "reason": "to see it", "by": "otto"})["id"].(string)
	return func() {
		require.NoError(p.t, ask(p.t.Context(), http.MethodDelete, p.url("/api/v1/pauses/"+id+"?by=otto"), nil, nil))
	}
}

// fault orders a fault of a platform; the returned function ends it.
func (p *plant) fault(of map[string]any) (mend func()) {
	p.t.Helper()
	id := p.send(http.MethodPost, "/_sim/faults", of)["id"].(string)
	return func() {
		require.NoError(p.t, ask(p.t.Context(), http.MethodDelete, p.url("/_sim/faults/"+id), nil, nil))
	}
}

// database opens a database of the world, config, data or jobs, as for an operator who edits it by SQL.
func (p *plant) database(name string) *sql.DB {
	p.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.data, name+".db")+
		"?_pragma=busy_timeout(20000)&_txlock=immediate")
	require.NoError(p.t, err)
	return db
}

// exec executes a statement in a database of the world.
func (p *plant) exec(database, statement string, args ...any) {
	p.t.Helper()
	db := p.database(database)
	defer db.Close()
	_, err := db.ExecContext(p.t.Context(), statement, args...)
	require.NoError(p.t, err, statement)
}

// edit changes a task by SQL, and makes the change take effect.
func (p *plant) edit(task, column string, value any) {
	p.t.Helper()
	p.exec("config", "UPDATE cron_task SET "+column+" = ? WHERE name = ?", value, task)
	p.send(http.MethodPost, "/api/v1/tasks/reload", nil)
}

// arm arms a failpoint, and waits until it has struck.
func (p *plant) arm(point, act string, provoke func()) {
	p.t.Helper()
	struck := func() int {
		text, err := os.ReadFile(filepath.Join(p.failpoints, "struck"))
		if err != nil {
			return 0
		}
		return strings.Count(string(text), point+"\n")
	}
	before := struck()
	require.NoError(p.t, os.WriteFile(filepath.Join(p.failpoints, point), []byte(act), 0o600))
	provoke()
	p.eventually(point+" strikes: "+act, func(context.Context) (bool, error) { return struck() > before, nil })
}

// now returns the world's time.
func (p *plant) now() time.Time {
	p.t.Helper()
	now, err := time.Parse(time.RFC3339, p.send(http.MethodGet, "/_sim/clock", nil)["now"].(string))
	require.NoError(p.t, err)
	return now.In(time.FixedZone("", 8*3600))
}

// noonAfter returns noon of the day after a moment.
func noonAfter(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+1, 12, 0, 0, 0, t.Location())
}

// setClock sets the world's clock, and stops or starts it.
func (p *plant) setClock(to time.Time, frozen bool) {
	p.t.Helper()
	p.send(http.MethodPost, "/_sim/clock", map[string]any{"now": to, "frozen": frozen})
}

// day returns the day a number of days after the world's present one.
func (p *plant) day(after int) string { return p.now().AddDate(0, 0, after).Format(time.DateOnly) }

// prometheus starts a Prometheus with the shipped configuration and rules on a faster clock.
func (p *plant) prometheus() {
	p.t.Helper()
	dir := p.t.TempDir()
	var conf map[string]any
	readYAML(p.t, "prometheus/prometheus.yml", &conf)
	scrape := conf["scrape_configs"].([]any)[0].(map[string]any)
	delete(scrape, "dns_sd_configs")
	scrape["static_configs"] = []any{map[string]any{"targets": []any{fmt.Sprintf("127.0.0.1:%d", p.port)}}}
	delete(conf, "alerting")
	global := conf["global"].(map[string]any)
	global["scrape_interval"], global["evaluation_interval"] = "1s", "1s"
	require.NoError(p.t, os.Mkdir(filepath.Join(dir, "rules"), 0o755))
	write := func(name string, value any) {
		text, err := yaml.Marshal(value)
		require.NoError(p.t, err)
		require.NoError(p.t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	write("prometheus.yml", conf)
	hurried := 0
	for name, file := range rules(p.t) {
		for i := range file.Groups {
			for j := range file.Groups[i].Rules {
				r := &file.Groups[i].Rules[j]
				if h, ok := hurries[r.name()]; ok {
					hurried++
					require.Contains(p.t, r.Expr, h.age, r.name())
					r.Expr = strings.Replace(r.Expr, h.age, h.soon, 1)
				}
				r.Expr, r.For = faster(r.Expr), ""
			}
		}
		write("rules/"+name, file)
	}
	require.Len(p.t, hurries, hurried, "some have no rule")
	port := freePort(p.t)
	p.address = fmt.Sprintf("http://127.0.0.1:%d", port)
	start(p.t, "prometheus", nil, prometheus, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"),
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port), "--log.level=warn")
	p.eventually("Prometheus has scraped", func(ctx context.Context) (bool, error) {
		samples, err := p.query(ctx, `up{job="adsync"} == 1`)
		return len(samples) == 1, err
	})
}

var lookBack = regexp.MustCompile(`\[\d+[mh]\]|offset \d+[mh]`)

// faster returns an expression for a faster clock: ranges of a minute or more become 15 seconds.
func faster(expr string) string {
	return lookBack.ReplaceAllStringFunc(expr, func(s string) string {
		if strings.HasPrefix(s, "[") {
			return "[15s]"
		}
		return "offset 15s"
	})
}

// hurries are the ages at which age alerts fire on the faster clock. They are for ages by the real clock, which the
// world's clock cannot speed up.
var hurries = map[string]struct{ age, soon string }{
	"AdsyncSummaryStuck critical":  {"> 600", "> 10"},
	"AdsyncLaneBehind critical":    {"> 300", "> 10"},
	"AdsyncLaneBehind warning":     {"> 3600", "> 10"},
	"AdsyncRunOld warning":         {"> 21600", "> 5"},
	"AdsyncLimitsTight warning":    {"> 120", "> 5"},
	"AdsyncFiguresNotRead warning": {"> 1800", "> 30"},
	"AdsyncJobsWait warning":       {"> 900", "> 10"},
}

// fire waits until each of some alerts has fired since a moment. An alert with a range of 15 seconds may have ended
// already if the troubles after its own took longer.
func (p *plant) fire(since time.Time, names ...string) {
	p.t.Helper()
	p.await("to fire", names, func() time.Time { return since },
		func(fired map[string]bool, name string) bool { return fired[name] })
}

// end waits until none of some alerts still fires.
func (p *plant) end(names ...string) {
	p.t.Helper()
	p.await("to end", names, time.Now, func(firing map[string]bool, name string) bool { return !firing[name] })
}

// await waits until each of some alerts is in the wanted state, among those that have fired since a moment, and logs
// when.
func (p *plant) await(what string, names []string, since func() time.Time,
	is func(fired map[string]bool, name string) bool) {
	p.t.Helper()
	began := time.Now()
	left := slices.Clone(names)
	p.eventually(fmt.Sprintf("%d alerts %s", len(names), what), func(ctx context.Context) (bool, error) {
		fired, err := p.fired(ctx, since())
		if err != nil {
			return false, err
		}
		left = slices.DeleteFunc(left, func(name string) bool {
			if is(fired, name) {
				p.t.Logf("  %3.0f s %s %s", time.Since(began).Seconds(), name, what)
				return true
			}
			return false
		})
		return len(left) == 0, fmt.Errorf("still to come: %v", left)
	})
}
