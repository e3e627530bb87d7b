package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/media"
)

// inTurn returns the pages in turn and then repeats the last one. asked counts the calls.
func inTurn(asked *int, pages ...media.Page) pageFunc {
	return func(context.Context, string) (media.Page, error) {
		page := pages[min(*asked, len(pages)-1)]
		if *asked++; *asked > 500 {
			return media.Page{}, errors.New("too many calls")
		}
		return page, nil
	}
}

// rowsNamed returns a row for each object.
func rowsNamed(ids ...string) (rows []media.Row) {
	for _, id := range ids {
		rows = append(rows, media.Row{Object: id})
	}
	return rows
}

func TestFetch_IsWholeIfAllPagesAgree(t *testing.T) {
	t.Parallel()
	var gaps []media.Page // many pages without rows, but never as many as emptyMax one after the other
	for n := range emptyMax + 5 {
		gaps = append(gaps, media.Page{Total: emptyMax + 5, Next: fmt.Sprint("e", n)},
			media.Page{Total: emptyMax + 5, Next: fmt.Sprint("f", n), Rows: rowsNamed(fmt.Sprint(n))})
	}
	gaps[len(gaps)-1].Next = ""
	for _, c := range []struct {
		name  string
		pages []media.Page
		rows  int
		note  string
	}{
		{name: "empty pages between others", pages: gaps, rows: emptyMax + 5},
		{name: "a total of objects, some with several rows", rows: 4, pages: []media.Page{
			{Total: 3, Next: "2", Counted: []string{"a", "b"}, Rows: rowsNamed("a1", "a2", "b1")},
			{Total: 3, Counted: []string{"c"}, Rows: rowsNamed("c1")},
		}},
		{name: "a total of objects, and a last page without any", rows: 3, pages: []media.Page{
			{Total: 2, Next: "2", Counted: []string{"a", "b"}, Rows: rowsNamed("a1", "a2", "b1")}, {Total: 2},
		}},
		{name: "fewer objects than the total", rows: 2, note: "1 row came of a total of 2",
			pages: []media.Page{{Total: 2, Counted: []string{"a"}, Rows: rowsNamed("a1", "a2")}}},
		{name: "an object on two pages", rows: 2, note: "object a came twice", pages: []media.Page{
			{Total: 1, Next: "2", Counted: []string{"a"}, Rows: rowsNamed("a1")},
			{Total: 1, Counted: []string{"a"}, Rows: rowsNamed("a2")},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got *paging
			asked := 0
			for range restartsMax { // Each try gets the same answer.
				var err error
				asked = 0
				got, err = fetchOnce(t.Context(), terms{}, inTurn(&asked, c.pages...), true)
				require.NoError(t, err)
			}
			require.Equal(t, c.note, got.note)
			require.Len(t, got.rows, c.rows)
		})
	}
}

// The last try reads to the end, and its rows are kept. The other tries stop at the first disagreement.
func TestFetch_TheLastTryReadsAllPages(t *testing.T) {
	t.Parallel()
	asked := 0
	got, err := fetch(t.Context(), terms{}, func(_ context.Context, token string) (media.Page, error) {
		asked++
		switch token {
		case "":
			return media.Page{Total: 4, Next: "2", Rows: rowsNamed("a")}, nil
		case "2":
			return media.Page{Total: 5, Next: "3", Rows: rowsNamed("b")}, nil
		default:
			return media.Page{Total: 4, Rows: rowsNamed("c", "d")}, nil
		}
	})
	require.NoError(t, err)
	require.Equal(t, rowsNamed("a", "b", "c", "d"), got.rows)
	require.NotEmpty(t, got.note)
	require.Equal(t, 2*(restartsMax-1)+3, asked)
}

func TestFetch_FailsWhenPagesLeadBack(t *testing.T) {
	t.Parallel()
	asked := 0
	_, err := fetch(t.Context(), terms{}, func(context.Context, string) (media.Page, error) {
		if asked++; asked > 50 {
			return media.Page{}, errors.New("too many calls")
		}
		return media.Page{Total: 1000, Next: []string{"b", "a"}[asked%2], Rows: rowsNamed(fmt.Sprint(asked))}, nil
	})
	require.ErrorContains(t, err, "the platform's pages lead back to one that was read")
	require.Equal(t, 3, asked)
}

func TestFenced_ReturnsTheOutcomeOfTheSubtask(t *testing.T) {
	t.Parallel()
	other := errors.New("the disk is full")
	require.ErrorIs(t, fenced(other), other)
	require.NoError(t, fenced(&results.FencedError{Complete: true, Own: true}), "another delivery has done the work")
	require.ErrorIs(t, fenced(&results.FencedError{Complete: true}), media.ErrSuperseded)
	require.ErrorIs(t, fenced(&results.FencedError{}), errFencedOpen)
	require.ErrorIs(t, fenced(&results.FencedError{Own: true}), errFencedOpen, "its days are not whole")
}

// pullOf pulls a report's part in a run.
func (b *bundle) pullOf(t *testing.T, run int64, part, params string) error {
	t.Helper()
	h, ok := b.handlers.Get("fake.report_daily")
	require.True(t, ok)
	_, err := h.Run(t.Context(), media.Work{Key: task.Key{RunID: run, AccountID: 7, Part: part},
		Params: json.RawMessage(params)})
	return err
}

// later waits until the database's time has changed: versions follow it, and SQLite's time has milliseconds.
func (b *bundle) later(t *testing.T) {
	t.Helper()
	began, err := b.store.Data.Now(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		now, err := b.store.Data.Now(t.Context())
		return err == nil && now.After(began)
	}, time.Minute, time.Millisecond)
}

func TestReport_ADayThatAnotherPullHoldsIsPulledAgain(t *testing.T) {
	t.Parallel()
	const d1, d2 = day.Day("2026-11-20"), day.Day("2026-11-21")
	for _, c := range []struct {
		name  string
		other []pageAnswer // for the newer pull of the second day
		open  bool
	}{
		{"that is not whole yet", []pageAnswer{reportPage(5, "", reportRow(d2, 10_000)),
			reportPage(5, "", reportRow(d2, 10_000)), reportPage(5, "", reportRow(d2, 10_000))}, true},
		{"that is whole", []pageAnswer{reportPage(1, "", reportRow(d2, 10_000))}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, append(c.other, reportPage(2, "", reportRow(d1, 20_000), reportRow(d2, 20_000)))...)
			b.platform.grant = func(context.Context) { // While the first pull waits for its first page.
				b.platform.grant = nil
				b.later(t)
				if err := b.pullOf(t, 2, string(d2), levelAccount); c.open {
					require.ErrorIs(t, err, errNotWhole)
				} else {
					require.NoError(t, err)
				}
			}
			err := b.pullOf(t, 1, formatDays(d1, d2), levelAccount)
			require.Equal(t, map[string]int64{string(d1): 20_000, string(d2): 10_000}, b.costs(t), "the newer figures stay")
			if c.open {
				require.ErrorIs(t, err, errFencedOpen, "the other may still fail")
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestFundDaily_ADayThatAnotherPullHoldsIsPulledAgain(t *testing.T) {
	t.Parallel()
	const d1, d2 = day.Day("2026-11-19"), day.Day("2026-11-20")
	row := func(d day.Day, paid int64) media.Row { return moneyRow(d, "CASH", fund.Cash, fund.Paid, paid) }
	short := moneyPage(5, "", row(d2, 10_000))
	b := setup(t, short, short, short, moneyPage(2, "", row(d1, 20_000), row(d2, 20_000)))
	b.platform.grant = func(context.Context) {
		b.platform.grant = nil
		b.later(t)
		_, err := b.run(t, "fake.fund_daily", string(d2), "")
		require.ErrorIs(t, err, errNotWhole)
	}
	_, err := b.run(t, "fake.fund_daily", formatDays(d1, d2), "")
	require.ErrorIs(t, err, errFencedOpen, "the other may still fail")
	require.Equal(t, map[string]int64{"cash": 20_000, "total": 20_000}, b.amounts(t, "fund_daily", "paid"),
		"of the first day")
}

// inParts fetches a day with more rows than the platform returns for one query. It has two parents, and a query takes
// one.
func inParts(t *testing.T, total int, parents media.Page, parts map[string]func(try int) (media.Page, error)) (fetched,
	error) {
	t.Helper()
	tries := map[string]int{}
	report := media.Report{
		Name: "report_daily", Level: "creative", RowsMax: 3,
		Split: &media.Split{Most: 1, Page: func(context.Context, media.API, media.ReportQuery, string) (media.Page,
			error) {
			return parents, nil
		}},
		Page: func(_ context.Context, _ media.API, q media.ReportQuery, _ string) (media.Page, error) {
			if len(q.Within) == 0 {
				return media.Page{Total: total}, nil
			}
			parent := q.Within[0]
			tries[parent]++
			return parts[parent](tries[parent])
		},
	}
	return fetchDay(t.Context(), fakeAPI{}, report, media.ReportQuery{From: "2026-11-20", To: "2026-11-20"})
}

func TestSplit_EveryPartMustAgree(t *testing.T) {
	t.Parallel()
	always := func(total int, rows ...string) func(int) (media.Page, error) {
		return func(int) (media.Page, error) { return media.Page{Total: total, Rows: rowsNamed(rows...)}, nil }
	}
	both := media.Page{Total: 2, Rows: rowsNamed("a", "b")}
	all := []string{"a1", "a2", "a3", "b1"}
	for _, c := range []struct {
		name    string
		parents media.Page
		a, b    func(try int) (media.Page, error)
		rows    []string
		note    string
		err     string
	}{
		{name: "both do", parents: both, a: always(3, "a1", "a2", "a3"), b: always(1, "b1"), rows: all},
		{
			name: "the first never does, and there are as many rows as there should be", parents: both, a: always(2, "a1"),
			b:    always(3, "b1", "b2", "b3"),
			rows: []string{"a1", "b1", "b2", "b3"}, note: "1 row came of a total of 2",
		},
		{name: "the last never does", parents: both, a: always(3, "a1", "a2", "a3"), b: always(2, "b1"), rows: all,
			note: "1 row came of a total of 2"},
		{
			name: "a row is in both, and there are as many rows as there should be", parents: both,
			a: always(3, "a1", "a2", "x"), b: always(1, "x"),
			rows: []string{"a1", "a2", "x"}, note: "row  00 x came in two parts",
		},
		{
			name: "the list of parents never does", parents: media.Page{Total: 3, Rows: rowsNamed("a", "b")},
			a: always(3, "a1", "a2", "a3"), b: always(1, "b1"),
			note: "2 rows came of a total of 3",
		},
		{name: "the first does at its second try", parents: both, b: always(1, "b1"), rows: all,
			a: func(try int) (media.Page, error) {
				if try <= restartsMax { // All tries of one fetch of the part.
					return media.Page{Total: 3, Rows: rowsNamed("a1")}, nil
				}
				return media.Page{Total: 3, Rows: rowsNamed("a1", "a2", "a3")}, nil
			}},
		{name: "the first fails", parents: both, b: always(1, "b1"), err: "the platform is away",
			a: func(int) (media.Page, error) {
				return media.Page{}, errors.New("the platform is away")
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := inParts(t, 4, c.parents, map[string]func(int) (media.Page, error){"a": c.a, "b": c.b})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.note, got.note)
			require.Equal(t, rowsNamed(c.rows...), got.rows)
		})
	}
}

// Objects that are too many for one query are requested by halves. If one half fails, the day fails.
func TestSplit_AFailedHalfFailsTheDay(t *testing.T) {
	t.Parallel()
	for failing := range 2 {
		p := partsOf{api: fakeAPI{}, seen: map[rowKey]bool{}, report: media.Report{RowsMax: 1,
			Page: func(_ context.Context, _ media.API, q media.ReportQuery, _ string) (media.Page, error) {
				switch {
				case len(q.Within) == 2:
					return media.Page{Total: 2}, nil
				case q.Within[0] == []string{"a", "b"}[failing]:
					return media.Page{}, errors.New("the platform is away")
				}
				return media.Page{Total: 1, Rows: rowsNamed(q.Within[0])}, nil
			}}}
		require.ErrorContains(t, p.fetch(t.Context(), rowsNamed("a", "b")), "the platform is away")
	}
}

func TestSplit_EachDayOfSeveralIsJudgedAlone(t *testing.T) {
	t.Parallel()
	const d1, d2, days = day.Day("2026-11-19"), day.Day("2026-11-20"), "2026-11-19..2026-11-20"
	capped := func() *cappedPlatform {
		return &cappedPlatform{children: map[day.Day]map[string]int{d1: even(6, 2), d2: even(6, 2)}}
	}

	c := capped()
	c.hidden = "lost"
	c.children[d1][c.hidden] = 1
	b := setupCapped(t, c)
	_, err := b.run(t, "fake.report_daily", days, levelCreative)
	require.ErrorContains(t, err, "the parts of the day have 12 rows, and the whole 13", "the first day is pulled again")
	require.Equal(t, []results.CoverageState{results.Partial, results.Complete}, b.states(t))

	// Other pulls take some of the days while this pull requests the first one.
	for _, c := range []struct {
		name   string
		others []string
		want   error
	}{
		{"one", []string{string(d1)}, nil},
		{"all", []string{string(d1), string(d2)}, media.ErrSuperseded},
	} {
		platform := capped()
		b := setupCapped(t, platform)
		platform.onPart = func() {
			platform.onPart = nil
			b.later(t)
			for _, part := range c.others {
				require.NoError(t, b.pullOf(t, 2, part, levelCreative))
			}
		}
		require.ErrorIs(t, b.pullOf(t, 1, days, levelCreative), c.want, c.name)
		require.Equal(t, map[day.Day]int{d1: 12, d2: 12}, b.written(t))
	}
}

func TestFetch_AllVariantsMakeUpAReport(t *testing.T) {
	t.Parallel()
	rows := map[string][]media.Row{
		"a": {{Day: "2026-11-20", Object: "1"}, {Day: "2026-11-20", Object: "2"}},
		"b": {{Day: "2026-11-20", Object: "3"}},
	}
	report := media.Report{Variants: []string{"a", "b"},
		Page: func(_ context.Context, _ media.API, q media.ReportQuery, _ string) (media.Page, error) {
			return media.Page{Rows: slices.Clone(rows[q.Variant]), Total: len(rows[q.Variant])}, nil
		}}
	fetchBoth := func(to day.Day, fetch func(context.Context, media.API, media.Report, media.ReportQuery) (fetched,
		error)) fetched {
		got, err := fetch(t.Context(), fakeAPI{}, report, media.ReportQuery{From: "2026-11-20", To: to})
		require.NoError(t, err)
		return got
	}
	got := fetchBoth("2026-11-20", fetchDay)
	require.Len(t, got.rows, 3)
	require.Empty(t, got.note)
	require.Len(t, fetchBoth("2026-11-21", fetchDays).rows, 3)
	rows["b"] = rows["a"][1:]
	require.Equal(t, "row 2026-11-20 00 2 came from two queries", fetchBoth("2026-11-20", fetchDay).note)
}
