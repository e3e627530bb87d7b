package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/mediatest/invented"
)

// errKilled ends a delivery as a kill of its process does: nothing after it happens.
var errKilled = errors.New("killed")

// jobServer is Orchid's service of jobs.
type jobServer struct {
	jobs    map[string]*serverJob
	names   map[string]string // the jobs' ids by name
	created int
	// looks is how many looks a job takes; after it has the state end.
	looks int
	end   func(serverJob) string
	file  func(serverJob) string
	size  func(serverJob) any // as announced; nil for the right one
	// before and after are called before and after each call has its effect; an error is its answer.
	before, after func(call string) error
	unlisted      bool // the list of jobs stays empty
	calls         []string
}

type serverJob struct {
	Name, Level, From, To string
	Within, Fields        []string
	looks                 int
	gone                  bool
}

func newJobServer() *jobServer {
	return &jobServer{jobs: map[string]*serverJob{}, names: map[string]string{}, looks: 1, file: wholeFile}
}

// rowsOf returns the days and ads of a job's rows: each campaign c has the ad groups c1 and c2.
func rowsOf(job serverJob) (rows [][2]string) {
	for _, d := range day.Between(day.Day(job.From), day.Day(job.To)) {
		for _, campaign := range []string{"1", "2", "3"} {
			for _, group := range []string{campaign + "1", campaign + "2"} {
				if len(job.Within) == 0 || slices.Contains(job.Within, campaign) || slices.Contains(job.Within, group) {
					rows = append(rows, [2]string{d.String(), group})
				}
			}
		}
	}
	return rows
}

// wholeFile returns a file with a byte order mark, and lines that end with CR and LF.
func wholeFile(job serverJob) string {
	var b strings.Builder
	b.WriteString("\xef\xbb\xbfaccount," + strings.Join(job.Fields, ",") + "\r\n")
	for _, row := range rowsOf(job) {
		b.WriteString("ext")
		for _, field := range job.Fields {
			switch field {
			case "date":
				b.WriteString("," + row[0])
			case "id":
				b.WriteString("," + row[1])
			case "spend":
				b.WriteString(`,"12.5"`)
			case "signups":
				b.WriteString(",-")
			default:
				b.WriteString(",3")
			}
		}
		b.WriteString("\r\n")
	}
	return b.String()
}

func (s *jobServer) call(name string, effect func() (string, error)) (json.RawMessage, error) {
	s.calls = append(s.calls, name)
	if s.before != nil {
		if err := s.before(name); err != nil {
			return nil, err
		}
	}
	answer, err := effect()
	if err == nil && s.after != nil {
		err = s.after(name)
	}
	if err != nil {
		return nil, err
	}
	return invented.NewOrchid().Decode(http.StatusOK, nil, []byte(answer))
}

func coded(code int) (string, error) {
	return fmt.Sprintf(`{"code":%d,"message":"refused"}`, code), nil
}

func (s *jobServer) For(media.Account) media.CountingAPI { return s }

func (s *jobServer) Calls() int { return len(s.calls) }

func (s *jobServer) Account() media.Account {
	return media.Account{ID: 1, Media: "orchid", ExternalID: "ext"}
}

func (s *jobServer) Post(_ context.Context, endpoint string, body any) (json.RawMessage, error) {
	return s.call("create", func() (string, error) {
		text, err := json.Marshal(body)
		if err != nil {
			return "", err
		}
		var job serverJob
		if err := json.Unmarshal(text, &job); err != nil || endpoint != "jobs" {
			return "", fmt.Errorf("%s: %w", endpoint, err)
		}
		if s.names[job.Name] != "" {
			return coded(47)
		}
		s.created++
		id := strconv.Itoa(s.created)
		s.names[job.Name], s.jobs[id] = id, &job
		return `{"code":0,"data":{"job":"` + id + `"}}`, nil
	})
}

func (s *jobServer) Get(_ context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	switch endpoint {
	case "jobs":
		return s.call("find", func() (string, error) {
			list := "[]"
			if id := s.names[query.Get("name")]; id != "" && !s.unlisted {
				list = `[{"job":"` + id + `"}]`
			}
			return `{"code":0,"data":{"list":` + list + `}}`, nil
		})
	case "job":
		return s.call("state", func() (string, error) {
			job := s.jobs[query.Get("job")]
			if job == nil || job.gone {
				return coded(48)
			}
			if job.looks++; job.looks < s.looks {
				return `{"code":0,"data":{"state":"making"}}`, nil
			}
			state, size := "done", any(len(s.file(*job)))
			if s.end != nil {
				state = s.end(*job)
			}
			if s.size != nil {
				size = s.size(*job)
			}
			return fmt.Sprintf(`{"code":0,"data":{"state":%q,"reason":"too large","size":%v}}`, state, size), nil
		})
	default:
		return s.call("list "+endpoint, func() (string, error) {
			var within []string
			_ = json.Unmarshal([]byte(query.Get("within")), &within)
			switch {
			case endpoint == "adgroup":
				return `{"code":0,"data":{"page_info":{"total_number":2},"list":[{"id":"` + within[0] + `1"},{"id":"` +
					within[0] + `2"}]}}`, nil
			case query.Get("page") == "1":
				return `{"code":0,"data":[{"id":"1"},{"id":"2"},{"id":"3"}]}`, nil
			default:
				return `{"code":0,"data":[]}`, nil
			}
		})
	}
}

func (s *jobServer) Open(_ context.Context, _ string, query url.Values) (media.Download, error) {
	var file io.ReadCloser
	_, err := s.call("open", func() (string, error) {
		job := s.jobs[query.Get("job")]
		if job.gone {
			return coded(48)
		}
		file = io.NopCloser(strings.NewReader(s.file(*job)))
		return `{"code":0,"data":{}}`, nil
	})
	return media.Download{Body: file}, err
}

func (s *jobServer) OpenAddress(context.Context, string) (io.ReadCloser, error) {
	return nil, errors.New("not part of these tests")
}

// stepClock is a clock that the test moves.
type stepClock struct{ now time.Time }

func (c *stepClock) Now() time.Time                  { return c.now }
func (c *stepClock) Until(t time.Time) time.Duration { return t.Sub(c.now) }

// killing is a store whose writes may end the delivery, before or after they have an effect.
type killing struct {
	Store
	before, after func(call string) error
}

func (k *killing) step(name string, do func() error) error {
	if k.before != nil {
		if err := k.before(name); err != nil {
			return err
		}
	}
	err := do()
	if err == nil && k.after != nil {
		err = k.after(name)
	}
	return err
}

func (k *killing) WriteFilePull(ctx context.Context, key task.Key, pull string, revision int64) (ok bool, err error) {
	err = k.step("save", func() (err error) {
		ok, err = k.Store.WriteFilePull(ctx, key, pull, revision)
		return err
	})
	return ok, err
}

func (k *killing) WriteReport(ctx context.Context, w results.ReportWrite) (result results.ReportResult, err error) {
	err = k.step("write", func() (err error) {
		result, err = k.Store.WriteReport(ctx, w)
		return err
	})
	return result, err
}

func (k *killing) DropFilePull(ctx context.Context, key task.Key) error {
	return k.step("drop", func() error { return k.Store.DropFilePull(ctx, key) })
}

// orchidAccounts finds an account of Orchid.
type orchidAccounts struct{}

func (orchidAccounts) Account(_ context.Context, id int64) (media.Account, error) {
	return media.Account{ID: id, Media: invented.Orchid, ExternalID: "ext", Zone: time.UTC, Currency: "CNY"}, nil
}

// filePulls pulls files of Orchid at a level.
type filePulls struct {
	db       *store.Store
	store    *killing
	server   *jobServer
	clock    *stepClock
	handler  media.Handler
	work     media.Work
	registry *prometheus.Registry
}

func newFilePulls(t testing.TB, level, part string) *filePulls {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), media.Tables(invented.NewOrchid())))
	return filePullsIn(s, level, part)
}

// filePullsIn is for a database that other pulls have used.
func filePullsIn(s *store.Store, level, part string) *filePulls {
	for _, table := range []string{"coverage", "report_daily", "orchid_report_daily", "file_pull"} {
		if err := s.Data.Writer(context.Background()).Exec("DELETE FROM " + table).Error; err != nil {
			panic(err)
		}
	}
	f := &filePulls{db: s, store: &killing{Store: s}, server: newJobServer(), registry: prometheus.NewRegistry(),
		clock: &stepClock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}}
	f.use(invented.NewOrchid())
	f.work = media.Work{Key: task.Key{RunID: task.FirstRunIDAt(f.clock.now), AccountID: 1, Part: part},
		Params: json.RawMessage(`{"level":"` + level + `"}`), PlannedAt: f.clock.now}
	return f
}

func (f *filePulls) use(platform media.Platform) {
	handlers := Handlers(platform, Deps{Store: f.store, Accounts: orchidAccounts{}, Caller: f.server,
		Clock: f.clock, Logger: slog.New(slog.DiscardHandler), Registerer: f.registry})
	i := slices.IndexFunc(handlers, func(h media.Handler) bool { return h.Name == "orchid.report_daily" })
	f.handler = handlers[i]
}

// unlisting is Orchid without a list of its jobs.
type unlisting struct{ invented.Platform }

func (u unlisting) Reports() []media.Report {
	reports := u.Platform.Reports()
	for i := range reports {
		if reports[i].Files != nil {
			reports[i].Files.Find = nil
		}
	}
	return reports
}

// step is one delivery. It returns whether the pull is over, and the failure if it cost an attempt.
func (f *filePulls) step(ctx context.Context) (over bool, failure error) {
	_, err := f.handler.Run(ctx, f.work)
	if later, waits := errors.AsType[*media.DeferError](err); waits {
		f.clock.now = f.clock.now.Add(later.After)
		return false, nil
	}
	return err == nil, err
}

// finish delivers the subtask until it is over, and returns its failures.
func (f *filePulls) finish(t require.TestingT) (failures []error) {
	for range 300 {
		over, err := f.step(context.Background())
		if over {
			return failures
		}
		if err != nil {
			failures = append(failures, err)
			if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Invalid {
				return failures
			}
		}
	}
	require.Fail(t, "the pull has no end")
	return nil
}

// written returns the days and objects of the rows that were written, and checks their figures.
func (f *filePulls) written(t require.TestingT) (rows [][2]string) {
	var found []struct {
		Day         day.Day
		ObjectID    string
		Cost        int64
		Impressions int64
		Registered  *int64 `gorm:"column:registrations"`
	}
	const query = "SELECT day, object_id, cost, impressions, registrations FROM report_daily ORDER BY day, object_id"
	require.NoError(t, f.db.Data.Writer(context.Background()).Raw(query).Scan(&found).Error)
	for _, r := range found {
		require.EqualValues(t, 12_500_000, r.Cost)
		require.EqualValues(t, 3, r.Impressions)
		require.Nil(t, r.Registered)
		rows = append(rows, [2]string{r.Day.String(), r.ObjectID})
	}
	return rows
}

func (f *filePulls) counted(event string) int {
	var n float64
	metrics, _ := f.registry.Gather()
	for _, family := range metrics {
		if family.GetName() != "adsync_pull_file_jobs_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "event" && label.GetValue() == event {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return int(n)
}

func (f *filePulls) requireWhole(t require.TestingT) {
	from, to, _, err := parsePart(f.work.Part)
	require.NoError(t, err)
	require.Equal(t, rowsOf(serverJob{From: string(from), To: string(to)}), f.written(t))
	require.Zero(t, storetest.RowsIn(t, f.db, "file_pull"), "the jobs are forgotten")
	require.Equal(t, len(day.Between(from, to)), storetest.RowsIn(t, f.db,
		"coverage WHERE state = 'complete' AND complete_version > 0"))
}

func TestFiles_ArePulledWithoutAnAttempt(t *testing.T) {
	t.Parallel()
	f := newFilePulls(t, "adgroup", "2026-08-01..2026-08-03")
	f.server.looks = 3
	before, err := f.db.Data.Now(t.Context())
	require.NoError(t, err)
	require.Empty(t, f.finish(t))
	f.requireWhole(t)
	require.Equal(t, []string{"create", "state", "state", "state", "open"}, f.server.calls)
	require.Equal(t, 1, f.counted("created"))
	require.Equal(t, 1, f.counted("read"))
	version := storetest.Int(t, f.db, "SELECT MIN(version) FROM report_daily")
	require.GreaterOrEqual(t, int64(version), before.UnixMicro(), "the figures are as old as the call that asked for them")
}

func TestFiles_FewerAreNotTakenForWhole(t *testing.T) {
	t.Parallel()
	whole := wholeFile(serverJob{From: "2026-08-01", To: "2026-08-01",
		Fields: []string{"date", "id", "spend", "shows", "clicks", "signups", "paid_1d", "paid_7d"}})
	lines := strings.SplitAfter(whole, "\r\n")
	for name, c := range map[string]struct {
		file string
		size any
		want string
	}{
		"an empty file":      {"", 0, "it is empty"},
		"fewer bytes":        {strings.Join(lines[:3], ""), len(whole), "bytes, and"},
		"a missing column":   {strings.ReplaceAll(whole, "clicks", "clocks"), -1, "it lacks the column clicks"},
		"a column twice":     {strings.ReplaceAll(whole, "clicks", "shows"), -1, "it has the column \"shows\" twice"},
		"no account":         {strings.ReplaceAll(whole, "account", "owner"), -1, "it lacks the column account"},
		"another account":    {strings.Replace(whole, "ext,", "next,", 1), -1, "it has a row of the account \"next\""},
		"another day":        {strings.Replace(whole, "2026-08-01", "2026-08-02", 1), -1, "it has a row of 2026-08-02"},
		"a line with fewer":  {whole + "ext,2026-08-01\r\n", -1, "line 8: wrong number of fields"},
		"a quote in a value": {whole + "ext,\"2026\"-08-01,9\r\n", -1, "line 8: extraneous or missing"},
		"a row twice":        {whole + lines[1], -1, "row 2026-08-01 00 11 came twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFilePulls(t, "adgroup", "2026-08-01")
			files := 0
			f.server.file = func(job serverJob) string {
				if f.server.created == 1 {
					files++
					return c.file
				}
				return wholeFile(job)
			}
			f.server.size = func(job serverJob) any {
				if f.server.created == 1 {
					return c.size
				}
				return len(wholeFile(job))
			}
			failures := f.finish(t)
			require.Len(t, failures, 1, "a bad file costs one attempt")
			require.ErrorContains(t, failures[0], c.want)
			require.Equal(t, 2, f.server.created, "the next attempt has a new job")
			f.requireWhole(t)
		})
	}
}

func TestFiles_AreReadWithEitherLineEnd(t *testing.T) {
	t.Parallel()
	f := newFilePulls(t, "account", "2026-08-01")
	f.server.size = func(serverJob) any { return -1 }
	f.server.file = func(job serverJob) string {
		return "account,date,spend,shows,clicks,signups,paid_1d,paid_7d\next,2026-08-01,12.5,3,1,-,--,"
	}
	require.Empty(t, f.finish(t))
	require.Equal(t, [][2]string{{"2026-08-01", ""}}, f.written(t))
}

func TestFiles_AnExpiredJobCostsAnAttempt(t *testing.T) {
	t.Parallel()
	for name, expire := range map[string]func(f *filePulls){
		"the job is gone": func(f *filePulls) { f.server.jobs["1"].gone = true },
		"the file is gone": func(f *filePulls) {
			f.server.before = func(call string) error {
				f.server.jobs["1"].gone = call == "open"
				return nil
			}
		},
		"the job never ends": func(f *filePulls) { f.server.jobs["1"].looks = -1_000_000 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFilePulls(t, "adgroup", "2026-08-01")
			over, err := f.step(t.Context())
			require.False(t, over)
			require.NoError(t, err)
			old := storetest.Int(t, f.db, "SELECT COUNT(*) FROM file_pull")
			require.Equal(t, 1, old)
			expire(f)
			failures := f.finish(t)
			require.Len(t, failures, 1)
			require.Equal(t, 1, f.counted("expired"))
			require.Equal(t, 2, f.server.created)
			f.requireWhole(t)
		})
	}
}

func TestFiles_ThatRepeatedlyFailAreSplit(t *testing.T) {
	t.Parallel()
	f := newFilePulls(t, "adgroup", "2026-08-01..2026-08-02")
	f.server.end = func(job serverJob) string {
		if len(rowsOf(job)) > 2 {
			return "failed"
		}
		return "done"
	}
	failures := f.finish(t)
	require.NotEmpty(t, failures)
	f.requireWhole(t)
	require.Equal(t, 5, f.counted("split"), "into days, each day by its campaigns, and the larger half of those")

	f = newFilePulls(t, "creative", "2026-08-01")
	f.server.end = func(serverJob) string { return "failed" }
	failures = f.finish(t)
	last := failures[len(failures)-1]
	e, ok := errors.AsType[*media.Error](last)
	require.True(t, ok)
	require.Equal(t, media.Invalid, e.Class, "the subtask is dead")
	require.ErrorContains(t, last, "too large; the file cannot be split any further")
}

func TestFiles_AJobOfALostCallIsFoundByItsName(t *testing.T) {
	t.Parallel()
	f := newFilePulls(t, "adgroup", "2026-08-01")
	lost := true
	f.server.after = func(call string) error {
		if call == "create" && lost {
			lost = false
			return &media.Error{Class: media.Transient, Message: "no answer"}
		}
		return nil
	}
	require.Len(t, f.finish(t), 1)
	require.Equal(t, []string{"create", "find", "state", "open"}, f.server.calls)
	require.Equal(t, 1, f.counted("found"))
	f.requireWhole(t)
}

// dieAtRandom kills up to some deliveries, each before or after the effect of a call or a write. repeated counts those
// that were killed when all was done: then the next one begins again.
func (f *filePulls) dieAtRandom(t *rapid.T, kills int) (repeated *int) {
	repeated = new(int)
	die := func(when string) func(string) error {
		return func(call string) error {
			if kills == 0 || rapid.IntRange(0, 2).Draw(t, when+" "+call) > 0 {
				return nil
			}
			kills--
			if when == "after" && call == "drop" {
				*repeated++
			}
			return errKilled
		}
	}
	f.server.before, f.server.after = die("before"), die("after")
	f.store.before, f.store.after = die("before"), die("after")
	return repeated
}

// A kill may happen before or after the effect of each call and of each write, and another delivery may run meanwhile.
func TestFiles_AnyKillsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	s := newFilePulls(t, "adgroup", "2026-08-01").db
	rapid.Check(t, func(rt *rapid.T) {
		f := filePullsIn(s, "adgroup", "2026-08-01..2026-08-02")
		f.server.looks = rapid.IntRange(1, 3).Draw(rt, "looks")
		kills, expired := rapid.IntRange(0, 6).Draw(rt, "kills"), 0
		repeated := f.dieAtRandom(rt, kills)
		if kills == 0 && rapid.Bool().Draw(rt, "expires") {
			f.server.before = func(call string) error {
				if job := f.server.jobs["1"]; job != nil && expired == 0 && call == "open" {
					job.gone = true
					expired++
				}
				return nil
			}
		}
		f.finish(rt)
		f.requireWhole(rt)
		require.Equal(rt, 1+expired+*repeated, f.server.created, "no job was made twice")
	})
}

func TestFiles_WhereJobsAreNotListedAKillLeavesAtMostOneOrphan(t *testing.T) {
	t.Parallel()
	s := newFilePulls(t, "adgroup", "2026-08-01").db
	rapid.Check(t, func(rt *rapid.T) {
		f := filePullsIn(s, "adgroup", "2026-08-01")
		f.use(unlisting{invented.NewOrchid()})
		kills := rapid.IntRange(0, 4).Draw(rt, "kills")
		repeated := f.dieAtRandom(rt, kills)
		f.finish(rt)
		f.requireWhole(rt)
		require.LessOrEqual(rt, f.server.created, 1+kills)
		require.LessOrEqual(rt, f.server.created-1-*repeated, f.counted("orphaned"), "each is counted")
	})
}

// halved is Orchid with two variants of its daily reports: the first campaign, and the others.
type halved struct{ invented.Platform }

func (h halved) Reports() []media.Report {
	reports := h.Platform.Reports()
	for i := range reports {
		if reports[i].Files == nil {
			continue
		}
		create := reports[i].Files.Create
		reports[i].Variants = []string{"first", "others"}
		reports[i].Files.Create = func(ctx context.Context, api media.API, name string, q media.ReportQuery) (string, error) {
			if q.Within == nil {
				q.Within = map[string][]string{"first": {"1"}, "others": {"2", "3"}}[q.Variant]
			}
			return create(ctx, api, name, q)
		}
	}
	return reports
}

func TestFiles_OfAllVariantsMakeUpTheDays(t *testing.T) {
	t.Parallel()
	f := newFilePulls(t, "adgroup", "2026-08-01..2026-08-02")
	f.use(halved{invented.NewOrchid()})
	require.Empty(t, f.finish(t))
	require.Equal(t, []string{"create", "create", "state", "state", "open", "open"}, f.server.calls)
	f.requireWhole(t)
}

func TestFiles_TwoDeliveriesShareTheirJob(t *testing.T) {
	t.Parallel()
	f := newFilePulls(t, "adgroup", "2026-08-01")
	var other error
	f.server.before = func(call string) error {
		if call == "create" {
			f.server.before = nil
			_, other = f.handler.Run(t.Context(), f.work) // while the first one waits for its answer
		}
		return nil
	}
	require.Empty(t, f.finish(t))
	require.ErrorAs(t, other, new(*media.DeferError))
	require.Equal(t, []string{"create", "state", "open"}, f.server.calls)
	f.requireWhole(t)
}

func TestReportParts_KeepFilesApart(t *testing.T) {
	t.Parallel()
	report := media.Report{MaxDays: 7, LookBack: 365, Files: &media.Files{PageDays: 7, MaxDays: 5}}
	plan := media.Plan{PlannedAt: time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC), Zone: time.UTC}
	parts, err := reportParts(plan, reportParams{Days: 20}, report)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-01..2026-11-05", "2026-11-06..2026-11-10", "2026-11-11..2026-11-12",
		"2026-11-13..2026-11-19", "2026-11-20"}, parts)
}
