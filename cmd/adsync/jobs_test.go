package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/store/jobstore"
	"adsync/base/store/storetest"
	"adsync/jobs"
)

const (
	jobsToken    = "a-token-of-the-shop-0001"
	jobsPassword = "a good password"
)

// jobQueue is a job queue with a database, which serves on two addresses.
type jobQueue struct {
	t       *testing.T
	url     string
	store   *jobstore.Store
	environ []string // of a caller who may do everything
}

func newJobQueue(t *testing.T) *jobQueue {
	t.Helper()
	store := storetest.NewJobs(t)
	cfg := jobs.DefaultConfig()
	cfg.Listen, cfg.AdminListen, cfg.AdminPassword = "127.0.0.1:0", "127.0.0.1:0", secret.NewText(jobsPassword)
	s := jobs.New(cfg, jobs.Deps{Stores: jobs.Stores{"default": store}, Clock: clock.System{},
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(s.Stop)
	_, err := store.AddToken(t.Context(), "shop", secret.NewText(jobsToken), "of the tests", jobstore.Roles(),
		clock.System{}.Now())
	require.NoError(t, err)
	return &jobQueue{t: t, url: "http://" + s.Addr(), store: store, environ: []string{
		"ADSYNC_JOBS_SERVER=http://" + s.Addr(), "ADSYNC_JOBS_TOKEN=" + jobsToken,
		"ADSYNC_JOBS_ADMIN=http://" + s.AdminAddr(), "ADSYNC_JOBS_ADMIN_PASSWORD=" + jobsPassword}}
}

// run runs a command that succeeds, and returns its standard output.
func (q *jobQueue) run(args ...string) string {
	q.t.Helper()
	r := adsync(q.environ, append([]string{"jobs"}, args...)...)
	require.Zero(q.t, r.code, r.stderr)
	require.NotContains(q.t, r.stdout+r.stderr, jobsToken)
	require.NotContains(q.t, r.stdout+r.stderr, jobsPassword)
	return r.stdout
}

// publish publishes a job and returns its id.
func (q *jobQueue) publish(queue, body string, flags ...string) string {
	q.t.Helper()
	out := q.run(append([]string{"publish", queue, "--body", body}, flags...)...)
	require.Regexp(q.t, `^[0-9A-Z]{26}\n$`, out)
	return strings.TrimSuffix(out, "\n")
}

// send sends a request as a client that is not adsync.
func (q *jobQueue) send(method, path, body string) (status int, answer map[string]any) {
	q.t.Helper()
	r, err := http.NewRequestWithContext(q.t.Context(), method, q.url+path, strings.NewReader(body))
	require.NoError(q.t, err)
	r.Header.Set("X-Token", jobsToken)
	response, err := http.DefaultClient.Do(r)
	require.NoError(q.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(q.t, err)
	if len(text) > 0 {
		require.NoError(q.t, json.Unmarshal(text, &answer), string(text))
	}
	return response.StatusCode, answer
}

// die makes a job of a queue a dead letter.
func (q *jobQueue) die(body, reason string) (id string) {
	q.t.Helper()
	const queue = "shop/orders"
	id = q.publish(queue, body)
	_, claimed := q.send(http.MethodGet, "/api/"+queue+"?claim=true", "")
	require.Equal(q.t, id, claimed["job_id"])
	status, _ := q.send(http.MethodPost, fmt.Sprintf("/api/%s/job/%s/nack?claim=%v", queue, id, claimed["claim"]), reason)
	require.Equal(q.t, http.StatusNoContent, status)
	return id
}

func TestJobs_ArePublishedConsumedAndAcknowledged(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	require.Equal(t, "There are no queues in shop.\n", q.run("queues", "shop"))
	id := q.publish("shop/orders", "order 17", "--tries", "3", "--ttl", "1h30m", "--priority", "7")
	second := q.publish("shop/orders", "", "--ttl=0s")
	q.publish("shop/later", "x", "--delay=10m")

	require.Regexp(t, `^QUEUE +READY +WAITING +DEAD +PAUSED +OLDEST READY\n`+
		`later +0 +1 +0 +no +-\norders +2 +0 +0 +no +[0-9]+s\n$`, q.run("queues", "shop"))
	require.Regexp(t, `^HOUR +JOBS +\n20\d\d-\d\d-\d\dT\d\d:00:00Z +1 +#{50}\n\n1 job waits\.\n$`,
		q.run("due", "shop/later"))
	require.Equal(t, "No job of orders waits.\n", q.run("due", "shop/orders"))
	require.Regexp(t, `^job +`+id+`\nqueue +orders\npublished +20\S+Z, \d+s ago\nexpires +in 1h(30m0|29m5\d)s\n`+
		`tries left +3\nbody +order 17\n$`, q.run("show", "shop/orders", id))
	require.Regexp(t, `\nexpires +never\n`, q.run("show", "shop/orders", second))

	r := adsync(q.environ, "jobs", "consume", "shop/urgent,orders", "--ttr=10m")
	require.Equal(t, result{stdout: "order 17\n", stderr: "Job " + id + " of orders, claim 1:\n" +
		"To acknowledge within 10m0s: adsync jobs ack shop/orders " + id + "\n"}, r)
	require.Contains(t, q.run("show", "shop/orders", id), "tries left  2\n", "it is claimed")
	require.Equal(t, "Acknowledged 1 job of shop/orders.\n", q.run("ack", "shop/orders", id))
	require.Equal(t, "{}\n", q.run("ack", "shop/orders", id, second, "--output=json"))
	require.Equal(t, result{code: 1, stderr: "adsync: job not found (it was acknowledged, has expired, or is in another " +
		"queue)\n"}, adsync(q.environ, "jobs", "show", "shop/orders", id))

	require.Equal(t, result{stderr: "No job of shop/orders is ready.\n"},
		adsync(q.environ, "jobs", "consume", "shop/orders", "--timeout=1s"))
	require.JSONEq(t, `{"msg": "no job available"}`, q.run("consume", "shop/orders", "--output=json"))
}

func TestJobs_ConsumeAcknowledgesWhatItPrinted(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	first, second := q.publish("shop/orders", "one\ntwo\n"), q.publish("shop/orders", "\x00three")
	r := adsync(q.environ, "jobs", "consume", "shop/orders", "--count=5", "--ack")
	require.Equal(t, result{stdout: "one\ntwo\n\x00three\n",
		stderr: "Job " + first + " of orders, claim 1:\nJob " + second + " of orders, claim 1:\nAcknowledged 2 jobs.\n"}, r)
	require.Equal(t, 1, adsync(q.environ, "jobs", "show", "shop/orders", first).code)

	q.publish("shop/orders", "four")
	var printed []struct{ Data []byte }
	require.NoError(t, json.Unmarshal([]byte(q.run("consume", "shop/orders", "--count=2", "--ack", "--output=json")),
		&printed))
	require.Equal(t, "four", string(printed[0].Data))
	require.Regexp(t, `orders +0 +0 +0 +no +-\n`, q.run("queues", "shop"), "it is acknowledged")

	for _, output := range []string{"table", "json"} {
		id := q.publish("shop/orders", "five")
		var stderr strings.Builder
		require.Equal(t, 1, run([]string{"jobs", "consume", "shop/orders", "--ack", "--output", output}, q.environ,
			fullDisk{}, &stderr))
		require.Contains(t, stderr.String(), "no space left on device")
		require.Contains(t, q.run("show", "shop/orders", id), "five", "what was not printed is not acknowledged")
	}
}

// fullDisk is standard output that cannot be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestJobs_PublishReadsAFileOrStandardInput(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	file := filepath.Join(t.TempDir(), "order")
	require.NoError(t, os.WriteFile(file, []byte("of a file\n"), 0o600))
	q.run("publish", "shop/orders", "--file", file)

	cmd := exec.CommandContext(t.Context(), os.Args[0], "jobs", "publish", "shop/orders", "--file=-", "--output=json")
	cmd.Env = slices.Concat(q.environ, []string{"ADSYNC_TEST_MAIN=1"})
	cmd.Stdin = strings.NewReader("of standard input")
	out, err := cmd.Output()
	require.NoError(t, err)
	var answer map[string]string
	require.NoError(t, json.Unmarshal(out, &answer))
	require.Equal(t, "published", answer["msg"])
	require.Equal(t, "of a file\nof standard input\n", q.run("consume", "shop/orders", "--count=2", "--ack"))

	require.NoError(t, os.WriteFile(file, make([]byte, 1<<20+9), 0o600))
	require.Equal(t, result{code: 2, stderr: "adsync: body too large (a job has up to 1 MiB)\n\n" +
		"For help: adsync jobs publish --help\n"}, adsync(q.environ, "jobs", "publish", "shop/orders", "--file", file))
	require.Equal(t, 1, adsync(q.environ, "jobs", "publish", "shop/orders", "--file", file+"x").code)
}

func TestJobs_PublishOnceAndWaitForTheResult(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	id := q.publish("shop/orders", "x", "--dedupe=order-17")
	require.Equal(t, result{stdout: id + "\n", stderr: "A job was published with this key before: its id is below, and " +
		"no other was made.\n"}, adsync(q.environ, "jobs", "publish", "shop/orders", "--body=x", "--dedupe=order-17"))

	published := make(chan result, 1)
	go func() { published <- adsync(q.environ, "jobs", "publish", "shop/prices", "--body=apple", "--wait=60s") }()
	claimed := adsync(q.environ, "jobs", "consume", "shop/prices", "--timeout=60s", "--output=json")
	require.Zero(t, claimed.code, claimed.stderr)
	var job struct {
		JobID string `json:"job_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(claimed.stdout), &job))
	status, _ := q.send(http.MethodPut, "/api/shop/prices/job/"+job.JobID+"?to="+job.JobID, "3.50")
	require.Equal(t, http.StatusCreated, status)
	require.Equal(t, result{stdout: job.JobID + "\n3.50\n"}, <-published)

	r := adsync(q.environ, "jobs", "publish", "shop/prices", "--body=pear", "--wait=1s")
	id = strings.TrimSuffix(r.stdout, "\n")
	require.Equal(t, result{code: 1, stdout: id + "\n", stderr: "adsync: job " + id +
		" of shop/prices is published, but no result came within 1s\n"}, r)
	r = adsync(q.environ, "jobs", "publish", "shop/prices", "--body=plum", "--wait=1s", "--output=json")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stdout, `"result": null`)
}

func TestJobs_DeadLettersAreListedRespawnedAndDropped(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	require.Equal(t, "There are no dead letters in orders.\n", q.run("dead", "shop/orders"))
	require.Equal(t, "shop/orders has 0 dead letters.\n", q.run("respawn", "shop/orders", "--yes"))
	first := q.die("a", "no \x1b[2Jstock")
	second := q.die("b", "unknown article")
	third := q.die("c", "no stock")

	row := func(id, reason string) string { return id + ` +\d+s +1 +` + reason + `\n` }
	require.Regexp(t, `^JOB +DEAD FOR +CLAIMS +ERROR\n`+row(first, `no  \[2Jstock`)+row(second, "unknown article")+
		row(third, "no stock")+`$`, q.run("dead", "shop/orders"))
	require.Regexp(t, row(second, "unknown article")+`\nThere may be more: raise --limit\.\n$`,
		q.run("dead", "shop/orders", "--limit=2"))
	require.Contains(t, q.run("dead", "shop/orders", "--output=json"), `"data": "Yg=="`)

	require.Equal(t, "shop/orders has 3 dead letters.\n\n"+
		"Nothing was changed: add --yes to respawn up to 3 with \"stock\" in their error, the oldest first.\n",
		q.run("respawn", "shop/orders", "--limit=9", "--error=stock"))
	require.JSONEq(t, `{"namespace": "shop", "queue": "orders", "deadletter_size": 3, "deadletter_head": "`+first+`"}`,
		q.run("drop", "shop/orders", "--output=json"))
	require.Equal(t, "Respawned 2 dead letters of shop/orders.\n",
		q.run("respawn", "shop/orders", "--limit=9", "--error=stock", "--rate=0.01", "--yes"))
	require.Regexp(t, `orders +1 +1 +1 +no`, q.run("queues", "shop"), "one is ready, and the other in 100 s")
	require.Equal(t, "a\n", q.run("consume", "shop/orders", "--ack"))
	q.die("d", "no stock")
	require.Equal(t, "shop/orders had 2 dead letters, and now has 1.\n", q.run("drop", "shop/orders", "--yes"))
	require.Contains(t, q.run("drop", "shop/orders", "--limit=9", "--yes", "--output=json"), `"deadletter_size": 0`)
}

func TestJobs_QueuesArePausedAndHaveSettings(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	q.publish("shop/orders", "x")
	require.Equal(t, "Paused shop/orders.\n", q.run("pause", "shop/orders"))
	require.Regexp(t, `orders +1 +0 +0 +yes`, q.run("queues", "shop"))
	require.Equal(t, "{}\n", q.run("resume", "shop/orders", "--output=json"))
	require.Regexp(t, `orders +1 +0 +0 +no`, q.run("queues", "shop"))

	require.Equal(t, `backoff                none
rate                   no limit
concurrency            no limit
dead letters are kept  as long as the server keeps them
`, q.run("settings", "shop/orders"))
	require.Equal(t, `backoff                5s, then 2.5 times as long each time, up to 10m0s
rate                   100 jobs in 1s
concurrency            1 claim at a time
dead letters are kept  168h0m0s
`, q.run("settings", "shop/orders", "--set-json", `{"backoff": {"base": 5, "factor": 2.5, "cap": 600},
		"rate": {"jobs": 100, "seconds": 1}, "concurrency": 1, "keep_dead": 604800}`))
	require.JSONEq(t, `{"concurrency": 4}`,
		q.run("settings", "shop/orders", "--set-json", `{"concurrency": 4}`, "--output=json"))
	r := adsync(q.environ, "jobs", "settings", "shop/orders", "--set-json", `{"concurrency": -4}`)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "adsync: invalid settings: concurrency must be 0 (any number) to ")
}

func TestJobs_TokensAreMadeAndListed(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	r := adsync(q.environ, "jobs", "token", "shop", "--new", "order service", "--roles=produce")
	require.Zero(t, r.code, r.stderr)
	token := strings.TrimSuffix(r.stdout, "\n")
	require.Regexp(t, `^adsync_[A-Za-z0-9_-]{43}$`, token)
	require.Equal(t, "\nThe line above is the token: it is shown only once.\n", r.stderr)

	list := q.run("token", "shop")
	require.Regexp(t, `^TOKEN +DESCRIPTION\n`, list)
	require.Regexp(t, `(?m)^adsync_\S*… +order service$`, list)
	require.NotContains(t, list, token)
	require.Contains(t, q.run("token", "shop", "--output=json"), `"order service"`)
	require.Equal(t, "There are no tokens: --new makes one.\n", q.run("token", "bank"))

	environ := slices.Concat(q.environ, []string{"ADSYNC_JOBS_TOKEN=" + token})
	require.Zero(t, adsync(environ, "jobs", "publish", "shop/orders", "--body=x").code)
	require.Equal(t, result{code: 1, stderr: "adsync: the token does not have the role consume (set ADSYNC_JOBS_TOKEN " +
		"to a token with this role)\n"}, adsync(environ, "jobs", "consume", "shop/orders"))

	r = adsync(q.environ, "jobs", "token", "shop", "--new=x", "--roles=boss")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "adsync: invalid roles: want some of produce, consume and admin, with commas\n")
	require.Equal(t, result{code: 1, stderr: "adsync: wrong user or password (set ADSYNC_JOBS_ADMIN_PASSWORD to " +
		"jobs.admin_password of the server, and --admin-user to its jobs.admin_user)\n"},
		adsync(q.environ, "jobs", "token", "shop", "--admin-user=otto"))
}

func TestJobs_ErrorsNameTheRemedy(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	with := func(more ...string) []string { return slices.Concat(q.environ, more) }
	const remedy = ` (set ADSYNC_JOBS_TOKEN to a token of the namespace: "adsync jobs token" makes one)`
	for _, c := range []struct {
		environ []string
		args    []string
		code    int
		want    string
	}{
		{with("ADSYNC_JOBS_TOKEN="), []string{"queues", "shop"}, 1, "token not found" + remedy},
		{with("ADSYNC_JOBS_TOKEN=another-token-0001"), []string{"queues", "shop"}, 1, "invalid token" + remedy},
		{with("ADSYNC_JOBS_TOKEN=west:" + jobsToken), []string{"queues", "shop"}, 1,
			"pool not found (the pool is the part of ADSYNC_JOBS_TOKEN before the colon)"},
		{with("ADSYNC_JOBS_TOKEN=a\nb"), []string{"queues", "shop"}, 2,
			"ADSYNC_JOBS_TOKEN is not a token: it has spaces or line breaks"},
		{nil, []string{"queues", "shop", "--server=http://127.0.0.1:1"}, 1,
			"call the job queue at http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused (start it with " +
				`"adsync serve --role=jobs" or "adsync standalone", or name another with --server or ADSYNC_JOBS_SERVER)`},
		{nil, []string{"token", "shop", "--admin=http://127.0.0.1:1"}, 1,
			"call the administration of the job queue at http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection " +
				`refused (start it with "adsync serve --role=jobs" or "adsync standalone", or name another with --admin or ` +
				"ADSYNC_JOBS_ADMIN)"},
		{with(), []string{"token", "shop", "--admin=" + q.url}, 1,
			"api not found (is --admin the address of jobs.admin_listen, and the server of this version?)"},
		{with(), []string{"queues", "shop", "--server=otto:hunter2@x"}, 2,
			`--server is "<secret>@x": want the address of the job queue, as http://host:port`},
		{with("ADSYNC_JOBS_SERVER=x"), []string{"queues", "shop"}, 2,
			`ADSYNC_JOBS_SERVER is "x": want the address of the job queue, as http://host:port`},
		{with(), []string{"publish", "shop/orders", "--body=x", "--priority=12"}, 2, "invalid priority"},
		{with(), []string{"publish", "shop/orders", "--body=x", "--delay=1500ms"}, 2,
			"--delay is 1.5s: want whole seconds, such as 30s or 10m"},
		{with(), []string{"consume", "shop/orders", "--ttr=-1s"}, 2, "--ttr is -1s: want whole seconds, such as 30s or 10m"},
		{with(), []string{"publish", "shop/orders", "--body=x", "--dedupe="}, 2,
			"--dedupe is empty: want a value, or leave it out"},
		{with(), []string{"publish", "shop/orders"}, 2,
			"want the body of the job: either --body, or --file with the name of a file or - for standard input"},
		{with(), []string{"publish", "shop/orders", "--body=", "--file=x"}, 2,
			"want the body of the job: either --body, or --file with the name of a file or - for standard input"},
		{with(), []string{"consume", "shop/orders", "--count=101"}, 2, "--count is 101: want 1 to 100"},
		{with(), []string{"drop", "shop/orders", "--limit=0"}, 2, "--limit is 0: want 1 to 100000"},
		{with(), []string{"dead", "shop/orders", "--limit=0"}, 2, "--limit is 0: want 1 or more"},
		{with(), []string{"ack", "shop/orders"}, 2, "want NAMESPACE/QUEUE and the ids of jobs"},
		{with(), []string{"ack", "shop/orders", "17"}, 2,
			`"17" is not the id of a job: want 26 capital letters and digits, as publish and consume print them`},
		{with(), []string{"pause", "shop"}, 2, `"shop" is not a name: want NAMESPACE/QUEUE, such as shop/orders; names ` +
			"have up to 255 letters, digits, - and _, and a queue's does not begin with _"},
		{with(), []string{"token", "shop", "--roles=admin"}, 2, "--roles goes with --new"},
		{with(), []string{"queues", "shop", "--output=yaml"}, 2, `--output is "yaml": want table or json`},
	} {
		want := result{code: c.code, stderr: "adsync: " + c.want + "\n"}
		if c.code == 2 {
			want.stderr += "\nFor help: adsync jobs " + c.args[0] + " --help\n"
		}
		require.Equal(t, want, adsync(c.environ, append([]string{"jobs"}, c.args...)...), c.args)
	}
	for _, name := range []string{"../admin/x", "shop/orders/job", "shop/_x", "shop/or ders", "/", "shop/", "shop/a,b"} {
		require.Equal(t, 2, adsync(q.environ, "jobs", "pause", name).code, name)
	}
}

// The text about the limit of a token has the token.
func TestJobs_ATokenIsNotPrinted(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	require.NoError(t, q.store.SetTokenLimit(t.Context(), "shop", secret.NewText(jobsToken),
		jobstore.Limit{Write: 1, Interval: time.Hour}))
	q.publish("shop/orders", "x")
	require.Equal(t, result{code: 1, stderr: "adsync: token(<secret>) produce reach the limit rate, please retry later\n"},
		adsync(q.environ, "jobs", "publish", "shop/orders", "--body=y"))
}

// jobsAnswered runs a command against a server that answers each request with a status and a text.
func jobsAnswered(t *testing.T, status int, answer string, args ...string) result {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	r := adsync([]string{"ADSYNC_JOBS_SERVER=" + server.URL, "ADSYNC_JOBS_ADMIN=" + server.URL},
		append([]string{"jobs"}, args...)...)
	r.stderr = strings.ReplaceAll(r.stderr, server.URL, "http://x")
	return r
}

func TestJobs_RefuseAServerThatIsNoJobQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status       int
		answer, code string
	}{
		{404, "<html>", "404 Not Found"}, {302, "", "302 Found"}, {200, "<html>", "200 OK"},
		{502, `{"title": "away"}`, "502 Bad Gateway"},
	} {
		require.Equal(t, result{code: 1, stderr: "adsync: http://x answers " + c.code + ", and not as the job queue does: " +
			"is it the address of jobs.listen?\n"}, jobsAnswered(t, c.status, c.answer, "pause", "shop/orders"))
	}
	require.Equal(t, result{code: 1, stderr: "adsync: internal error (the server's log has the reason)\n"},
		jobsAnswered(t, 500, `{"error": "internal error"}`, "pause", "shop/orders"))
	require.Equal(t, result{code: 1, stderr: "adsync: a b\n"},
		jobsAnswered(t, 409, `{"error": "a\u001bb"}`, "pause", "shop/orders"))
}

// Texts of other people do not move the cursor of a terminal.
func TestJobs_TablesAreSafeForTerminals(t *testing.T) {
	t.Parallel()
	const evil = `\u001b[2J\n\u009b1A`
	body := base64.StdEncoding.EncodeToString([]byte("\x1b[2J\n\u009b1A"))
	id := "01KB7YH5T0QJ3Z8V6N4M2XR9WD"
	for answer, args := range map[string][]string{
		`{"namespace": "E", "queues": [{"queue": "E"}], "next": ""}`:                      {"queues", "shop"},
		`{"namespace": "E", "queues": [], "next": ""}`:                                    {"queues", "bank"},
		`{"queue": "E", "jobs": [{"job_id": "E", "error": "E"}], "next": "E"}`:            {"dead", "shop/q", "--limit=1"},
		`{"queue": "E", "jobs": [], "next": ""}`:                                          {"dead", "shop/q"},
		`{"queue": "E", "job_id": "E", "attributes": {"E": "E"}, "data": "` + body + `"}`: {"show", "shop/q", id},
		`{"queue": "E", "hours": []}`:                                                     {"due", "shop/q"},
		`{"tokens": {"E": "E"}}`:                                                          {"token", "shop"},
		`{"msg": "published", "job_id": "E", "result": null}`:                             {"publish", "shop/q", "--body="},
	} {
		r := jobsAnswered(t, 200, strings.ReplaceAll(answer, `"E"`, `"`+evil+`"`), args...)
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stdout, "[2J", args)
		require.Regexp(t, `^[^\x00-\x09\x0b-\x1f\x{80}-\x{9f}]*$`, r.stdout, args)
	}
}

func TestJobs_ListsFollowPages(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		page := map[string]any{"namespace": "shop", "queues": []any{map[string]any{"queue": fmt.Sprint("q", len(asked))}},
			"jobs": []any{map[string]any{"job_id": fmt.Sprint("j", len(asked))}}, "next": fmt.Sprint("n", len(asked))}
		if len(asked) == 3 {
			page["next"] = ""
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	t.Cleanup(server.Close)
	r := adsync(nil, "jobs", "queues", "shop", "--server", server.URL, "--output=json")
	require.Zero(t, r.code, r.stderr)
	var all struct {
		Next   string
		Queues []struct{ Queue string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &all))
	require.Equal(t, []struct{ Queue string }{{"q1"}, {"q2"}, {"q3"}}, all.Queues)
	require.Empty(t, all.Next)
	require.Equal(t, []string{
		"/api/shop?limit=100", "/api/shop?after=n1&limit=100", "/api/shop?after=n2&limit=100",
	}, asked)

	asked = nil
	r = adsync(nil, "jobs", "dead", "shop/q", "--server", server.URL, "--limit=2")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{
		"/api/shop/q/deadletter/jobs?limit=2", "/api/shop/q/deadletter/jobs?after=n1&limit=1",
	}, asked)
	require.Regexp(t, `(?s)j1 .*j2 .*raise --limit`, r.stdout)
}
