package pull

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/rawtable"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/field"
)

var (
	dailyTable = rawtable.Table{Name: "fake_report_daily", Shape: rawtable.DailyRows,
		Columns: []rawtable.Column{{Name: "cost_fen", Kind: rawtable.Int}}}
	objectTable = rawtable.Table{Name: "fake_adgroup", Shape: rawtable.Objects,
		Columns: []rawtable.Column{{Name: "adgroup_name", Kind: rawtable.Text}}}
)

// fakePlatform returns the given pages in turn and then repeats the last one.
type fakePlatform struct {
	grant func(context.Context) // called before each page is returned
	pages []pageAnswer
	asked []string // the queries, as text
	lists []media.ListQuery
	// declare changes the list's description; nil leaves it.
	declare func(*media.List)
	// waits is how long each page of a list waits for its limits; waited is the total so far.
	waits, waited time.Duration
}

type pageAnswer struct {
	page media.Page
	err  error
}

// next returns a copy of the next page.
func (f *fakePlatform) next(what string) (media.Page, error) {
	f.asked = append(f.asked, what)
	answer := f.pages[0]
	if len(f.pages) > 1 {
		f.pages = f.pages[1:]
	}
	// A pull owns the rows that it is given and changes them. Tests use one page several times, also in parallel.
	answer.page.Rows = slices.Clone(answer.page.Rows)
	for i := range answer.page.Rows {
		answer.page.Rows[i].Raw = slices.Clone(answer.page.Rows[i].Raw)
	}
	return answer.page, answer.err
}

func (f *fakePlatform) Name() string                                             { return "fake" }
func (f *fakePlatform) BaseURL() string                                          { return "http://fake.invalid" }
func (f *fakePlatform) Limits() []grant.Rule                                     { return nil }
func (f *fakePlatform) Sign(*http.Request, string, time.Time)                    {}
func (f *fakePlatform) Decode(int, http.Header, []byte) (json.RawMessage, error) { return nil, nil }

func (f *fakePlatform) Refresh(context.Context, media.Transport, media.App, string) (media.Tokens, error) {
	return media.Tokens{}, errors.New("not part of these tests")
}

func (f *fakePlatform) Accounts(context.Context, media.API, string, func([]media.FoundAccount) error) error {
	return errors.New("not part of these tests")
}

func (f *fakePlatform) AccountTable() rawtable.Table { return rawtable.Table{} }

func (f *fakePlatform) Lists() []media.List {
	list := media.List{
		Name: "adgroup", Level: "adgroup", Table: objectTable, Variants: []string{"live", "deleted"},
		Page: func(_ context.Context, _ media.API, q media.ListQuery, page string) (media.Page, error) {
			f.lists = append(f.lists, q)
			f.waited += f.waits
			return f.next(fmt.Sprintf("%s since %d page %q", q.Variant, max(q.Since.Unix(), 0), page))
		},
	}
	if f.declare != nil {
		f.declare(&list)
	}
	return []media.List{list}
}

func (f *fakePlatform) Reports() []media.Report {
	return []media.Report{{
		Name: "report_daily", Level: "account", MaxDays: 3, LookBack: 30, Table: dailyTable,
		Page: func(ctx context.Context, _ media.API, q media.ReportQuery, page string) (media.Page, error) {
			if f.grant != nil {
				f.grant(ctx)
			}
			return f.next(fmt.Sprintf("%s..%s page %q", q.From, q.To, page))
		},
	}}
}

func (f *fakePlatform) Funds() media.Funds {
	return media.Funds{
		Balance: media.Balance{Table: fundTable, Fetch: func(context.Context, media.API) ([]media.Row, error) {
			page, err := f.next("balance")
			return page.Rows, err
		}},
		Daily: media.FundDaily{
			MaxDays: 3, LookBack: 30, PublishedAfter: 8 * time.Hour, Table: fundDailyTable,
			Page: func(ctx context.Context, _ media.API, q media.ReportQuery, page string) (media.Page, error) {
				if f.grant != nil {
					f.grant(ctx)
				}
				return f.next(fmt.Sprintf("flow %s..%s page %q", q.From, q.To, page))
			},
		},
	}
}

type fakeCaller struct{}

func (fakeCaller) For(media.Account) media.CountingAPI { return fakeAPI{} }

type fakeAPI struct{ media.FileAPI }

func (fakeAPI) Calls() int { return 2 }

func (fakeAPI) Account() media.Account { return media.Account{ID: 7, Currency: "CNY"} }

type fakeAccounts struct{}

func (fakeAccounts) Account(_ context.Context, id int64) (media.Account, error) {
	zone, err := time.LoadLocation("Asia/Shanghai")
	return media.Account{ID: id, Media: "fake", ExternalID: "ext", Zone: zone, Currency: "CNY"}, err
}

type bundle struct {
	log      bytes.Buffer
	store    *store.Store
	platform *fakePlatform
	handlers *media.Registry
	metrics  *prometheus.Registry
}

func setup(t *testing.T, pages ...pageAnswer) *bundle {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(context.Background(),
		[]rawtable.Table{dailyTable, objectTable, fundTable, fundDailyTable}))
	return setupPlatform(t, s, &fakePlatform{pages: pages})
}

// setupDeclared is setup with another description of the list.
func setupDeclared(t *testing.T, declare func(*media.List), pages ...pageAnswer) *bundle {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{objectTable}))
	return setupPlatform(t, s, &fakePlatform{pages: pages, declare: declare})
}

func setupPlatform(t *testing.T, s *store.Store, platform *fakePlatform) *bundle {
	t.Helper()
	b := &bundle{store: s, platform: platform, metrics: prometheus.NewRegistry()}
	b.handlers = media.NewRegistry(Handlers(platform, Deps{
		Store: s, Accounts: fakeAccounts{}, Caller: fakeCaller{}, Clock: waitingClock{platform: platform},
		Fields: field.New(field.Options{Platform: platform, Store: s, Clock: clock.System{},
			Logger: slog.New(slog.NewTextHandler(&b.log, nil))}),
		Logger: slog.New(slog.NewTextHandler(&b.log, nil)), Registerer: b.metrics,
	})...)
	return b
}

func (b *bundle) run(t *testing.T, handler, part, params string) (media.Result, error) {
	t.Helper()
	return b.runFor(t, 7, handler, part, params)
}

func (b *bundle) runFor(t *testing.T, account int64, handler, part, params string) (media.Result, error) {
	t.Helper()
	h, ok := b.handlers.Get(handler)
	require.True(t, ok)
	return h.Run(context.Background(), media.Work{Key: task.Key{RunID: 1, AccountID: account, Part: part},
		Params: json.RawMessage(params)})
}

func (b *bundle) costs(t *testing.T) map[string]int64 {
	t.Helper()
	var rows []struct {
		Day  day.Day `gorm:"column:day"`
		Cost int64   `gorm:"column:cost"`
	}
	require.NoError(t,
		b.store.Data.Writer(context.Background()).Raw("SELECT day, cost FROM report_daily").Scan(&rows).Error)
	costs := map[string]int64{}
	for _, r := range rows {
		costs[r.Day.String()] = r.Cost
	}
	return costs
}

func reportPage(total int, next string, rows ...media.Row) pageAnswer {
	return pageAnswer{page: media.Page{Rows: rows, Total: total, Next: next}}
}

func reportRow(d day.Day, cost int64) media.Row {
	r := media.Row{Day: d, Raw: []any{cost / 10_000}, JSON: json.RawMessage(fmt.Sprintf(`{"cost":%d}`, cost))}
	r.Metrics.Set(metric.Index("cost"), cost)
	return r
}

// summing sets the platform's own sum of the cost.
func (a pageAnswer) summing(cost int64) pageAnswer {
	a.page.Sums = &metric.Values{}
	a.page.Sums.Set(metric.Index("cost"), cost)
	return a
}

const levelAccount = `{"level":"account"}`

func TestReport_PullsAllPagesOfItsDays(t *testing.T) {
	t.Parallel()
	b := setup(t, reportPage(2, "2", reportRow("2026-11-20", 10_000)), reportPage(2, "", reportRow("2026-11-21", 20_000)))
	result, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.NoError(t, err)
	require.Equal(t, media.Result{Rows: 2, Calls: 2}, result)
	require.Equal(t, map[string]int64{"2026-11-20": 10_000, "2026-11-21": 20_000}, b.costs(t))
	require.Equal(t, []string{`2026-11-20..2026-11-21 page ""`, `2026-11-20..2026-11-21 page "2"`}, b.platform.asked)
}

// Subtasks may wait minutes for their grants: figures are as new as the call that brought them, not as the subtask.
func TestReport_IsAsNewAsItsFirstCall(t *testing.T) {
	t.Parallel()
	d := day.Day("2026-11-21")
	b := setup(t, reportPage(1, "", reportRow(d, 10_000)), reportPage(1, "", reportRow(d, 20_000)))
	var other int64
	b.platform.grant = func(ctx context.Context) {
		b.platform.grant = nil
		_, err := b.run(t, "fake.report_daily", string(d), levelAccount) // begins, calls and writes while the first one waits
		require.NoError(t, err)
		require.NoError(t, b.store.Data.Writer(ctx).Raw("SELECT claimed_version FROM coverage").Row().Scan(&other))
		require.Eventually(t, func() bool {
			now, err := b.store.Data.Now(ctx)
			return err == nil && now.UnixMicro() > other+100_000
		}, time.Minute, time.Millisecond)
		waiter := ratelimit.NewLocal(time.Second, grant.NewRules(), prometheus.NewRegistry())
		_, err = waiter.Wait(ctx, grant.Call{Media: "fake", Endpoint: "x"})
		require.NoError(t, err)
	}
	_, err := b.run(t, "fake.report_daily", string(d), levelAccount)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{string(d): 20_000}, b.costs(t), "the figures of the later call")
	var version int64
	require.NoError(t, b.store.Data.Writer(t.Context()).Raw("SELECT claimed_version FROM coverage").Row().Scan(&version))
	now, err := b.store.Data.Now(t.Context())
	require.NoError(t, err)
	require.Greater(t, version, other)
	require.Less(t, version, now.Add(time.Millisecond).UnixMicro(), "the database's time has milliseconds")
}

func TestReport_BeginsAgainWithoutAFieldThatIsRetiredBetweenPages(t *testing.T) {
	t.Parallel()
	d := day.Day("2026-11-21")
	retired := pageAnswer{err: fmt.Errorf("call x: %w",
		&media.Error{Class: media.Bug, Code: "12009", Message: "unknown", Field: "reg_pv"})}
	b := setup(t, reportPage(2, "2", reportRow(d, 10_000)), retired,
		reportPage(2, "2", reportRow(d, 20_000)), reportPage(2, "", reportRow(d.Add(-1), 30_000)))
	_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"2026-11-20": 30_000, "2026-11-21": 20_000}, b.costs(t))
	require.Equal(t, []string{`page ""`, `page "2"`, `page ""`, `page "2"`},
		cutEach(b.platform.asked, "2026-11-20..2026-11-21 "), "from the first page")
	require.Contains(t, b.log.String(), "the platform has retired a field")
}

func cutEach(texts []string, prefix string) (cut []string) {
	for _, text := range texts {
		cut = append(cut, strings.TrimPrefix(text, prefix))
	}
	return cut
}

func TestReport_StartsAgainWhenPagesDisagree(t *testing.T) {
	t.Parallel()
	d := day.Day("2026-11-21")
	for name, first := range map[string][]pageAnswer{
		"the total changes between pages": {reportPage(2, "2", reportRow(d, 1)),
			reportPage(3, "", reportRow(d.Add(-1), 1))},
		"a row comes twice":                {reportPage(2, "2", reportRow(d, 1)), reportPage(2, "", reportRow(d, 1))},
		"fewer rows come than the total":   {reportPage(5, "", reportRow(d, 1))},
		"the rows are less than their sum": {reportPage(1, "", reportRow(d, 10_000)).summing(30_000)},
		"the rows are more than their sum": {reportPage(1, "", reportRow(d, 50_000)).summing(30_000)},
		"the sum changes between pages": {
			reportPage(2, "2", reportRow(d, 10_000)).summing(20_000),
			reportPage(2, "", reportRow(d.Add(-1), 20_000)).summing(30_000),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, append(first, reportPage(1, "", reportRow(d, 30_000)).summing(30_000))...)
			_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
			require.NoError(t, err)
			require.Equal(t, map[string]int64{"2026-11-21": 30_000}, b.costs(t), "only the pull that agreed with itself counts")
		})
	}
}

func TestReport_ReadsNoFurtherThanTheFirstPageThatMoved(t *testing.T) {
	t.Parallel()
	d := day.Day("2026-11-21")
	short := reportPage(5, "2", reportRow(d, 1))
	short.page.Moved = "page 1 has 1 rows, and 2 are due of a total of 5"
	b := setup(t, short, reportPage(2, "2", reportRow(d, 10_000)), reportPage(2, "", reportRow(d.Add(-1), 20_000)))
	_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"2026-11-20": 20_000, "2026-11-21": 10_000}, b.costs(t))
	from := "2026-11-20..2026-11-21 page "
	require.Equal(t, []string{from + `""`, from + `""`, from + `"2"`}, b.platform.asked)
}

func TestReport_ContinuesAfterAnEmptyPage(t *testing.T) {
	t.Parallel()
	d := day.Day("2026-11-21")
	b := setup(t, reportPage(2, "2"), reportPage(2, "3", reportRow(d, 10_000)), reportPage(2, "4"),
		reportPage(2, "", reportRow(d.Add(-1), 20_000)))
	_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"2026-11-20": 20_000, "2026-11-21": 10_000}, b.costs(t))

	var endless []pageAnswer
	for n := range 2 * emptyMax {
		endless = append(endless, reportPage(2, fmt.Sprint(n+2)))
	}
	b = setup(t, endless...)
	_, err = b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.ErrorContains(t, err, "the platform's pages are empty and have no end")
	require.Len(t, b.platform.asked, emptyMax+1)
}

func TestReport_KeepsAndReportsAPullThatNeverAgrees(t *testing.T) {
	t.Parallel()
	b := setup(t, reportPage(5, "", reportRow("2026-11-21", 10_000)))
	_, err := b.run(t, "fake.report_daily", "2026-11-21", levelAccount)
	failed, ok := errors.AsType[*media.Error](err)
	require.True(t, ok)
	require.Equal(t, media.Transient, failed.Class, "it is pulled again")
	require.Len(t, b.platform.asked, restartsMax)
	require.Len(t, b.costs(t), 1)
	coverage, err := b.store.ReadCoverage(context.Background(), 7, "2026-11-21", "2026-11-21")
	require.NoError(t, err)
	require.Equal(t, results.Partial, coverage[0].State)
	require.Equal(t, "1 row came of a total of 5", coverage[0].Note)
}

func TestReport_EmptyAnswerAfterSpendIsSuspectAndPulledAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, reportPage(1, "", reportRow("2026-11-21", 10_000)), reportPage(0, ""))
	_, err := b.run(t, "fake.report_daily", "2026-11-21", levelAccount)
	require.NoError(t, err)
	_, err = b.run(t, "fake.report_daily", "2026-11-21", levelAccount)
	require.ErrorContains(t, err, "suspect")
	require.Len(t, b.costs(t), 1)
}

func TestPull_ComparesWhatWasAltered(t *testing.T) {
	t.Parallel()
	work := media.Work{Key: task.Key{RunID: 1, AccountID: 7, Part: "2026-11-21"}, Params: json.RawMessage(levelAccount)}
	page := reportPage(1, "", reportRow("2026-11-21", 10_000))
	b := setup(t, page, page, page)
	run := func() map[string]int64 {
		h, ok := b.handlers.Get("fake.report_daily")
		require.True(t, ok)
		_, err := h.Run(t.Context(), work)
		require.NoError(t, err)
		return b.costs(t)
	}
	require.Len(t, run(), 1)
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("DELETE FROM report_daily").Error)
	require.Empty(t, run(), "nothing says that the rows are not those of the last pull")
	work.Compare = true
	require.Len(t, run(), 1)
}

func TestPull_AConfirmedAnswerIsBelieved(t *testing.T) {
	t.Parallel()
	work := media.Work{Key: task.Key{RunID: 1, AccountID: 7, Part: "2026-11-21"}, Params: json.RawMessage(levelAccount),
		Confirmed: true}
	run := func(b *bundle, handler string) error {
		h, ok := b.handlers.Get(handler)
		require.True(t, ok)
		_, err := h.Run(t.Context(), work)
		return err
	}
	b := setup(t, reportPage(1, "", reportRow("2026-11-21", 10_000)), reportPage(0, ""))
	require.NoError(t, run(b, "fake.report_daily"))
	require.Len(t, b.costs(t), 1)
	require.NoError(t, run(b, "fake.report_daily"))
	require.Empty(t, b.costs(t), "the figures that the platform withdrew are deleted")

	work.Part, work.Params = modeFull, nil
	b = setup(t, objectPage(objectRow("1", "one", 10, false)), objectPage())
	require.NoError(t, run(b, "fake.adgroup"))
	require.NoError(t, run(b, "fake.adgroup"))
	var deleted int
	require.NoError(t,
		b.store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM fake_adgroup WHERE deleted_at IS NOT NULL").Row().Scan(
			&deleted))
	require.Equal(t, 1, deleted)
}

// A platform that answers "success, no rows" does so for every account. One good answer proves nothing about the
// others.
func TestReport_SuspectAnswersAreOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	spent := reportPage(1, "", reportRow("2026-11-21", 10_000))
	b := setup(t, spent, spent, spent, spent, reportPage(0, ""), reportPage(0, ""), reportPage(0, ""), spent,
		reportPage(0, ""))
	for account := range int64(4) {
		_, err := b.runFor(t, account, "fake.report_daily", "2026-11-21", levelAccount)
		require.NoError(t, err)
	}
	require.Empty(t, b.log.String())
	for _, account := range []int64{0, 1, 2, 3, 2} {
		_, err := b.runFor(t, account, "fake.report_daily", "2026-11-21", levelAccount)
		if account == 3 {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "suspect")
	}
	require.Equal(t, 1, strings.Count(b.log.String(), "suspect answer"), b.log.String())
	require.Contains(t, b.log.String(), "2026-11-21", "it names the days of the first account")
}

func TestReport_RefusesADayThatWasNotRequested(t *testing.T) {
	t.Parallel()
	for _, other := range []day.Day{"2026-11-19", "2026-11-22"} {
		b := setup(t, reportPage(1, "", reportRow(other, 10_000)))
		_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
		require.ErrorContains(t, err, "not requested")
		require.Empty(t, b.costs(t))
	}
}

func TestReport_PlansPartsInTheAccountsZone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h, _ := b.handlers.Get("fake.report_daily")
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	late := time.Date(2026, 11, 20, 15, 58, 0, 0, time.UTC) // 23:58 in the zone
	for _, c := range []struct {
		name    string
		plan    media.Plan
		want    []string
		wantErr string
	}{
		{name: "the planned day", plan: media.Plan{PlannedAt: late, Params: json.RawMessage(levelAccount)},
			want: []string{"2026-11-20"}},
		{name: "two minutes later it is the next day", plan: media.Plan{PlannedAt: late.Add(2 * time.Minute),
			Params: json.RawMessage(levelAccount)}, want: []string{"2026-11-21"}},
		{name: "days are cut by what one query may span",
			plan: media.Plan{PlannedAt: late, Params: json.RawMessage(`{"level":"account","days":7}`)},
			want: []string{"2026-11-14..2026-11-16", "2026-11-17..2026-11-19", "2026-11-20"}},
		{name: "days that a look-back leaves", plan: media.Plan{PlannedAt: late,
			Params: json.RawMessage(`{"level":"account","days":9,"skip":5}`)},
			want: []string{"2026-11-12..2026-11-14", "2026-11-15"}},
		{name: "an order's days, whatever the task skips",
			plan: media.Plan{PlannedAt: late, Params: json.RawMessage(`{"level":"account","days":9,"skip":5}`),
				From: "2026-11-20", To: "2026-11-20"}, want: []string{"2026-11-20"}},
		{name: "an order's days", plan: media.Plan{PlannedAt: late, Params: json.RawMessage(levelAccount), From: "2026-11-01",
			To: "2026-11-02"}, want: []string{"2026-11-01..2026-11-02"}},
		{name: "the oldest day that the platform keeps",
			plan: media.Plan{PlannedAt: late, Params: json.RawMessage(levelAccount), From: "2026-10-21", To: "2026-10-21"},
			want: []string{"2026-10-21"}},
		{name: "a day that has not begun", plan: media.Plan{PlannedAt: late, Params: json.RawMessage(levelAccount),
			From: "2026-11-20", To: "2026-11-21"}, wantErr: "to: 2026-11-21 is refused"},
		{name: "a day that the platform does not keep",
			plan:    media.Plan{PlannedAt: late, Params: json.RawMessage(levelAccount), From: "2026-10-20", To: "2026-11-01"},
			wantErr: "from: 2026-10-20 is refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.plan.Zone = zone
			parts, err := h.Parts(c.plan)
			if c.wantErr != "" {
				require.ErrorContains(t, err, c.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, parts)
		})
	}
}

func TestHandlers_CheckParams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for params, want := range map[string]string{
		levelAccount:                             "",
		`{"level":"account","days":9,"skip":8}`:  "",
		`{"level":"account","days":9,"skip":9}`:  "params.skip: 9 is refused: want 0 to 8, fewer than params.days",
		`{"level":"account","skip":1}`:           "params.skip: 1 is refused: want 0 to 0, fewer than params.days",
		`{"level":"account","days":9,"skip":-1}`: "params.skip: -1 is refused",
		`{"level":"ad"}`:                         `params.level: "ad" is refused: want one of account`,
		`{"level":"account","days":31}`:          "",
		`{"level":"account","days":32}`:          "params.days: 32 is refused: want 1 to 31",
		`{"level":"account","day":1}`:            "params.day: there is no such field",
		`{"level":`:                              "unexpected EOF",
	} {
		h, _ := b.handlers.Get("fake.report_daily")
		if err := h.Check(json.RawMessage(params)); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	h, _ := b.handlers.Get("fake.adgroup")
	require.NoError(t, h.Check(nil))
	require.ErrorContains(t, h.Check(json.RawMessage(`{"mode":"some"}`)), `params.mode: "some" is refused`)
}

func objectPage(rows ...media.Row) pageAnswer {
	return pageAnswer{page: media.Page{Rows: rows, Total: len(rows)}}
}

func objectRow(id, name string, modified int64, deleted bool) media.Row {
	return media.Row{Object: id, Name: name, Modified: time.Unix(modified, 0), Deleted: deleted, Raw: []any{name},
		JSON: json.RawMessage(`{"n":"` + name + `"}`)}
}

func TestList_ChangesReachBackBeforeTheNewestModification(t *testing.T) {
	t.Parallel()
	b := setup(t, objectPage(objectRow("1", "one", 10_000, false)), objectPage(objectRow("2", "two", 9_000, true)),
		objectPage())
	_, err := b.run(t, "fake.adgroup", modeChanges, `{"mode":"changes"}`)
	require.NoError(t, err)
	_, err = b.run(t, "fake.adgroup", modeChanges, `{"mode":"changes"}`)
	require.NoError(t, err)
	require.Equal(t, []string{`live since 0 page ""`, `deleted since 0 page ""`, `live since 9400 page ""`,
		`deleted since 9400 page ""`}, b.platform.asked)
}

func TestList_RequestsChangesOfAPlatformWhoseClockIsAhead(t *testing.T) {
	t.Parallel()
	ahead := time.Now().Add(windowOverlap - time.Minute).Truncate(time.Second)
	b := setup(t, objectPage(objectRow("1", "one", ahead.Unix(), false)), objectPage(), objectPage(), objectPage())
	for range 2 {
		_, err := b.run(t, "fake.adgroup", modeChanges, `{"mode":"changes"}`)
		require.NoError(t, err)
	}
	for _, q := range b.platform.lists {
		require.True(t, q.Since.Before(q.Until), "from %s to %s", q.Since, q.Until)
	}
	require.False(t, b.platform.lists[3].Until.Before(ahead), "its last change is within the query")
}

func TestList_ObjectThatMovesBetweenListsMakesThePullPartial(t *testing.T) {
	t.Parallel()
	b := setup(t, objectPage(objectRow("1", "one", 10, false)), objectPage(objectRow("1", "one", 10, true)))
	_, err := b.run(t, "fake.adgroup", modeFull, "")
	require.ErrorContains(t, err, "object 1 moved between the lists")
}
