package pull

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/field"
	"adsync/media/wire"
)

const (
	cappedAt   = 10 // rows that the platform returns for one query
	cappedPage = 3
	cappedMost = 4 // objects that a query takes
)

// cappedPlatform reports on children, each of a parent, and returns only the first rows of a query.
type cappedPlatform struct {
	fakePlatform
	// children is the number of children of each parent, by day.
	children map[day.Day]map[string]int
	hidden   string // a parent that no list names
	noSplit  bool
	asked    []string
	onPart   func()  // called before each query of a part
	unnamed  string  // a parent whose id cannot be used
	wants    string  // a field that every query must request
	gone     day.Day // the last day without hours
}

func (c *cappedPlatform) Reports() []media.Report {
	r := media.Report{Name: "report_daily", Level: "creative", MaxDays: 7, LookBack: 30, Table: dailyTable,
		RowsMax: cappedAt, Page: c.page}
	if !c.noSplit {
		r.Split = &media.Split{Most: cappedMost, Page: c.parents}
	}
	return []media.Report{r}
}

// answer returns a page of the rows, or an error for a page beyond the cap.
func answer(rows []media.Row, page string) (media.Page, error) {
	number, _ := strconv.Atoi(page)
	from, to := min(number*cappedPage, len(rows)), min((number+1)*cappedPage, len(rows))
	if to > cappedAt {
		return media.Page{}, errors.New("beyond the cap")
	}
	out := media.Page{Rows: rows[from:to], Total: len(rows)}
	if to < len(rows) {
		out.Next = strconv.Itoa(number + 1)
	}
	return out, nil
}

func (c *cappedPlatform) page(_ context.Context, _ media.API, q media.ReportQuery, page string) (media.Page, error) {
	if page == "" {
		c.asked = append(c.asked, fmt.Sprint(q.From, "..", q.To, " ", len(q.Within)))
		if len(q.Within) > 0 && c.onPart != nil {
			c.onPart()
		}
	}
	if q.From <= c.gone {
		return media.Page{}, &media.Error{Class: media.Invalid, Err: media.ErrNoHours, Message: "no hours of " +
			c.gone.String()}
	}
	if len(q.Within) > cappedMost {
		return media.Page{}, errors.New("too many values")
	}
	if c.wants != "" && !slices.Contains(q.Extra, c.wants) {
		return media.Page{}, errors.New("a field is not requested")
	}
	return answer(c.rows(q), page)
}

func (c *cappedPlatform) rows(q media.ReportQuery) (rows []media.Row) {
	for d := q.From; d <= q.To; d = d.Add(1) {
		for parent, n := range c.children[d] {
			if len(q.Within) > 0 && !slices.Contains(q.Within, parent) {
				continue
			}
			for child := range n {
				row := reportRow(d, 1)
				row.Object = fmt.Sprintf("%s-%03d", parent, child)
				rows = append(rows, row)
			}
		}
	}
	slices.SortFunc(rows, func(a, b media.Row) int {
		return strings.Compare(string(a.Day)+a.Object, string(b.Day)+
			b.Object)
	})
	return rows
}

func (c *cappedPlatform) parents(_ context.Context, _ media.API, q media.ReportQuery, page string) (media.Page, error) {
	var rows []media.Row
	for parent, n := range c.children[q.From] {
		if n > 0 && parent != c.hidden {
			row := reportRow(q.From, 1)
			row.Object = parent
			if parent == c.unnamed {
				row.Object, row = "", faulty(row, "adgroup_id", wire.KeyFault)
			}
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b media.Row) int { return strings.Compare(a.Object, b.Object) })
	return answer(rows, page)
}

const levelCreative = `{"level":"creative","days":1}`

func setupCapped(t *testing.T, platform *cappedPlatform) *bundle {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{dailyTable}))
	return &bundle{store: s, platform: &platform.fakePlatform, handlers: media.NewRegistry(Handlers(platform, Deps{
		Store: s, Accounts: fakeAccounts{}, Caller: fakeCaller{}, Clock: clock.System{},
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Fields: field.New(field.Options{Platform: platform, Store: s, Clock: clock.System{},
			Logger: slog.New(slog.DiscardHandler)}),
	})...)}
}

// written returns the number of rows by day.
func (b *bundle) written(t *testing.T) map[day.Day]int {
	t.Helper()
	counts := map[day.Day]int{}
	rows, err := b.store.Data.Writer(t.Context()).Raw(
		"SELECT day, COUNT(*) FROM report_daily WHERE level = 'creative' GROUP BY day").Rows()
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var d day.Day
		var n int
		require.NoError(t, rows.Scan(&d, &n))
		counts[d] = n
	}
	require.NoError(t, rows.Err())
	return counts
}

func (b *bundle) states(t *testing.T) (states []results.CoverageState) {
	t.Helper()
	coverage, err := b.store.ReadCoverage(t.Context(), 7, "2026-11-01", "2026-11-30")
	require.NoError(t, err)
	for _, c := range coverage {
		states = append(states, c.State)
	}
	return states
}

func even(parents, each int) map[string]int {
	m := map[string]int{}
	for i := range parents {
		m[fmt.Sprintf("p%02d", i)] = each
	}
	return m
}

func TestSplit_ADayBeyondTheCapIsPulledInParts(t *testing.T) {
	t.Parallel()
	const d = "2026-11-20"
	c := &cappedPlatform{children: map[day.Day]map[string]int{d: even(9, 4)}}
	b := setupCapped(t, c)
	result, err := b.run(t, "fake.report_daily", d, levelCreative)
	require.NoError(t, err)
	require.Equal(t, 36, result.Rows)
	require.Equal(t, map[day.Day]int{d: 36}, b.written(t))
	require.Equal(t, []results.CoverageState{results.Complete}, b.states(t))
}

func TestSplit_DaysAreCutBeforeObjects(t *testing.T) {
	t.Parallel()
	c := &cappedPlatform{children: map[day.Day]map[string]int{"2026-11-19": even(2, 3), "2026-11-20": even(9, 4),
		"2026-11-21": even(1, 1)}}
	b := setupCapped(t, c)
	_, err := b.run(t, "fake.report_daily", "2026-11-19..2026-11-21", levelCreative)
	require.NoError(t, err)
	require.Equal(t, map[day.Day]int{"2026-11-19": 6, "2026-11-20": 36, "2026-11-21": 1}, b.written(t))
	require.Equal(t, []results.CoverageState{results.Complete, results.Complete, results.Complete}, b.states(t))
	require.Equal(t, []string{"2026-11-19..2026-11-21 0", "2026-11-19..2026-11-19 0", "2026-11-20..2026-11-20 0"},
		c.asked[:3])
	require.Equal(t, "2026-11-21..2026-11-21 0", c.asked[len(c.asked)-1])
}

// A day without hours is refused, and the days that still have their hours are pulled.
func TestSplit_ADayWithoutHoursCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	c := &cappedPlatform{children: map[day.Day]map[string]int{"2026-11-19": even(1, 3), "2026-11-20": even(2, 2),
		"2026-11-21": even(1, 1)}, gone: "2026-11-19"}
	b := setupCapped(t, c)
	_, err := b.run(t, "fake.report_daily", "2026-11-18..2026-11-21", levelCreative)
	require.ErrorIs(t, err, media.ErrNoHours)
	failed, ok := errors.AsType[*media.Error](err)
	require.True(t, ok)
	require.Equal(t, media.Invalid, failed.Class, "a retry would fail too")
	require.Equal(t, map[day.Day]int{"2026-11-20": 4, "2026-11-21": 1}, b.written(t))
	require.Equal(t, []results.CoverageState{results.Complete, results.Complete}, b.states(t),
		"nothing is known of the others")
	_, err = b.run(t, "fake.report_daily", "2026-11-19", levelCreative)
	require.ErrorIs(t, err, media.ErrNoHours)
}

func TestSplit_EveryQueryAsksForTheSameFields(t *testing.T) {
	t.Parallel()
	c := &cappedPlatform{children: map[day.Day]map[string]int{"2026-11-19": even(2, 3), "2026-11-20": even(9, 4)},
		wants: "order_pv"}
	b := setupCapped(t, c)
	require.NoError(t, b.store.PutReportField(t.Context(), "otto",
		settings.ReportField{Media: "fake", Field: c.wants, State: settings.FieldAsked, Accepted: true}))
	_, err := b.run(t, "fake.report_daily", "2026-11-19..2026-11-20", levelCreative)
	require.NoError(t, err)
	require.Equal(t, map[day.Day]int{"2026-11-19": 6, "2026-11-20": 36}, b.written(t))
}

func TestSplit_RefusesADayThatCannotBeSplit(t *testing.T) {
	t.Parallel()
	const d = "2026-11-20"
	for name, c := range map[string]*cappedPlatform{
		"an object alone has too many rows": {children: map[day.Day]map[string]int{d: {"a": 2, "b": 11}}},
		"the report cannot be narrowed":     {children: map[day.Day]map[string]int{d: even(6, 2)}, noSplit: true},
		"there are too many objects":        {children: map[day.Day]map[string]int{d: even(11, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupCapped(t, c)
			_, err := b.run(t, "fake.report_daily", d, levelCreative)
			failed, ok := errors.AsType[*media.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, media.Invalid, failed.Class)
			require.ErrorIs(t, err, media.ErrRowCap)
			require.Empty(t, b.written(t), "no part is written as the whole")
			require.Empty(t, b.states(t))
		})
	}
}

func TestSplit_ADayThatMemoryDoesNotHoldIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, reportPage(rowsHeld+1, "2", reportRow("2026-11-20", 1)))
	_, err := b.run(t, "fake.report_daily", "2026-11-19..2026-11-20", levelAccount)
	require.ErrorIs(t, err, media.ErrRowCap)
	require.ErrorContains(t, err, "a pull holds 200000")
	require.Equal(t, []string{`2026-11-19..2026-11-20 page ""`, `2026-11-19..2026-11-19 page ""`}, b.platform.asked,
		"days may still be small enough")
	require.Empty(t, b.costs(t))
}

func TestSplit_RowsThatNoPartHasMakeThePullPartial(t *testing.T) {
	t.Parallel()
	const d = "2026-11-20"
	c := &cappedPlatform{children: map[day.Day]map[string]int{d: even(9, 4)}, hidden: "p03"}
	b := setupCapped(t, c)
	_, err := b.run(t, "fake.report_daily", d, levelCreative)
	require.ErrorContains(t, err, "the parts of the day have 32 rows, and the whole 36")
	require.Equal(t, []results.CoverageState{results.Partial}, b.states(t))
	require.Equal(t, map[day.Day]int{d: 32}, b.written(t), "received rows are kept")
}

// The note names the unusable key, which is the cause, and not only the numbers that do not agree.
func TestSplit_AnObjectWithoutAUsableIDIsNamed(t *testing.T) {
	t.Parallel()
	const d = "2026-11-20"
	b := setupCapped(t, &cappedPlatform{children: map[day.Day]map[string]int{d: even(9, 4)}, unnamed: "p03"})
	_, err := b.run(t, "fake.report_daily", d, levelCreative)
	require.ErrorContains(t, err,
		"the parts of the day have 32 rows, and the whole 36; the list of objects to narrow by lacks one: its field "+
			"adgroup_id is broken")
	require.Equal(t, []results.CoverageState{results.Partial}, b.states(t))
	require.Equal(t, map[day.Day]int{d: 32}, b.written(t), "received rows are kept")
	require.Equal(t, map[string]int{d + " key of adgroup_id": 1}, b.unusable(t))
	require.Contains(t, b.coverage(t, d)[0].Note, "key of adgroup_id")
}

func TestSplit_RowsAddedMeanwhileAreNoDisagreement(t *testing.T) {
	t.Parallel()
	const d = "2026-11-20"
	c := &cappedPlatform{children: map[day.Day]map[string]int{d: even(9, 4)}}
	c.onPart = func() { c.children[d]["p08"] = 5 } // p08 is in the last part, which is not read yet
	b := setupCapped(t, c)
	_, err := b.run(t, "fake.report_daily", d, levelCreative)
	require.NoError(t, err)
	require.Equal(t, map[day.Day]int{d: 37}, b.written(t))
}

func TestSplit_BringsAllRowsOrRefuses(t *testing.T) {
	t.Parallel()
	const d = "2026-11-20"
	rapid.Check(t, func(t *rapid.T) {
		c := &cappedPlatform{children: map[day.Day]map[string]int{d: {}}}
		total, largest, parents := 0, 0, 0
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, cappedAt+1), 0, cappedAt).Draw(t, "children") {
			c.children[d][fmt.Sprintf("p%02d", i)] = n
			total, largest = total+n, max(largest, n)
			if n > 0 {
				parents++
			}
		}
		report := c.Reports()[0]
		got, err := fetchDay(t.Context(), fakeAPI{}, report, media.ReportQuery{From: d, To: d})
		if largest > cappedAt {
			require.ErrorIs(t, err, media.ErrRowCap)
			return
		}
		require.NoError(t, err)
		require.Empty(t, got.note)
		require.Len(t, got.rows, total)
		require.ElementsMatch(t, c.rows(media.ReportQuery{From: d, To: d}), got.rows)
	})
}
