package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/media"
	"adsync/media/wire"
)

const (
	longDay = day.Day("2026-11-01") // in America/New_York, where 01:00 to 02:00 occurs twice
	nextDay = day.Day("2026-11-02")
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return zone
}

func TestRepeatedHours_AreThoseThatLastLongerThanAnHour(t *testing.T) {
	t.Parallel()
	year := day.Between("2026-01-01", "2026-12-31")
	for name, want := range map[string][]hourOf{
		"Asia/Shanghai":       nil,
		"UTC":                 nil,
		"America/New_York":    {{longDay, 1}},
		"America/Los_Angeles": {{longDay, 1}},
		"Europe/London":       {{"2026-10-25", 1}},
		"Europe/Paris":        {{"2026-10-25", 2}},
		"America/Santiago":    {{"2026-04-04", 23}}, // at midnight, to the day before
		"America/Havana":      {{longDay, 0}},
		"Australia/Lord_Howe": {{"2026-04-05", 1}},                    // by half an hour
		"Pacific/Chatham":     {{"2026-04-05", 2}, {"2026-04-05", 3}}, // at 03:45
	} {
		found := repeatedHours(year, zoneOf(t, name))
		require.Len(t, found, len(want), name)
		for _, h := range want {
			require.True(t, found[h], "%s %v", name, h)
		}
	}
}

// half is a row of an hour of the long day.
func half(hour int, object string, cost, clicks int64) media.Row {
	row := media.Row{Day: longDay, Hour: hour, Object: object, Raw: []any{cost / 10_000},
		JSON: json.RawMessage(fmt.Sprintf(`{"cost":%d}`, cost/10_000))}
	row.Metrics.Set(metric.Cost, cost)
	row.Metrics.Set(metric.Index("clicks"), clicks)
	return row
}

// eastern is an API for an account in New York.
type eastern struct {
	fakeAPI
	zone *time.Location
}

func (e eastern) Account() media.Account {
	return media.Account{ID: 7, Currency: "USD", Zone: e.zone}
}

// read reads the pages of one query of an hourly report.
func (e eastern) read(t *testing.T, repeats bool, d day.Day, pages ...media.Page) fetched {
	t.Helper()
	report := media.Report{Name: "report_hourly", Hourly: true, RepeatsHours: repeats,
		Page: func(_ context.Context, _ media.API, _ media.ReportQuery, token string) (media.Page, error) {
			if token == "" {
				return pages[0], nil
			}
			return pages[len(token)], nil
		}}
	total := 0
	for i := range pages {
		total += len(pages[i].Rows)
	}
	for i := range pages {
		pages[i].Total = total
		if i < len(pages)-1 {
			pages[i].Next = "xxxxxxxx"[:i+1]
		}
	}
	got, err := fetchDay(t.Context(), e, report, media.ReportQuery{From: d, To: d})
	require.NoError(t, err)
	return got
}

func TestReport_ARepeatedHourIsOneRowWithTheSum(t *testing.T) {
	t.Parallel()
	api := eastern{zone: zoneOf(t, "America/New_York")}
	got := api.read(t, true, longDay,
		media.Page{Rows: []media.Row{half(0, "a", 10_000, 1), half(1, "a", 20_000, 2), half(1, "b", 70_000, 7)}},
		media.Page{Rows: []media.Row{half(1, "a", 30_000, 3), half(2, "a", 40_000, 4)}})
	require.Empty(t, got.note)
	sum := half(1, "a", 50_000, 5)
	sum.JSON, sum.Faults = json.RawMessage(`[{"cost":2},{"cost":3}]`), nil
	for i := range got.rows {
		if len(got.rows[i].Faults) == 0 {
			got.rows[i].Faults = nil
		}
	}
	require.Equal(t, []media.Row{half(0, "a", 10_000, 1), sum, half(1, "b", 70_000, 7), half(2, "a", 40_000, 4)}, got.rows)
	require.Equal(t, 5, got.count(), "the platform's total counts both")
}

func TestReport_OtherRowsOfOneKeyMeanThatPagesDisagree(t *testing.T) {
	t.Parallel()
	one := func(hour int) []media.Page {
		return []media.Page{{Rows: []media.Row{half(hour, "a", 20_000, 2)}}, {Rows: []media.Row{half(hour, "a", 30_000, 3)}}}
	}
	onDay := func(d day.Day, pages []media.Page) []media.Page {
		for i := range pages {
			pages[i].Rows[0].Day = d
		}
		return pages
	}
	for _, c := range []struct {
		name    string
		zone    string
		repeats bool
		day     day.Day
		pages   []media.Page
		note    string
	}{
		{"another hour of the day", "America/New_York", true, longDay, one(2), "row 2026-11-01 02 a came twice"},
		{"another day", "America/New_York", true, nextDay, onDay(nextDay, one(1)), "row 2026-11-02 01 a came twice"},
		{"another zone", "Asia/Tokyo", true, longDay, one(1), "row 2026-11-01 01 a came twice"},
		{"a platform with one row", "America/New_York", false, longDay, one(1), "row 2026-11-01 01 a came twice"},
		{"a third row", "America/New_York", true, longDay, append(one(1), one(1)[0]), "row 2026-11-01 01 a came twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := eastern{zone: zoneOf(t, c.zone)}.read(t, c.repeats, c.day, c.pages...)
			require.Equal(t, c.note, got.note)
		})
	}
}

func TestFile_ARepeatedHourIsOneRowWithTheSum(t *testing.T) {
	t.Parallel()
	read := func(page *media.Page, line json.RawMessage) {
		r := wire.Open(line)
		page.Rows = append(page.Rows, half(r.KeyInt("hour", 0, 23), "a", r.Int("cost").Value, 1))
	}
	report := media.Report{Name: "report_hourly", Hourly: true, RepeatsHours: true, Files: &media.Files{
		Columns: func(media.ReportQuery) []string { return []string{"hour", "cost"} }, Read: read,
		Open: func(context.Context, media.FileAPI, media.Job) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("hour,cost\n0,10000\n1,20000\n1,30000\n")), nil
		},
	}}
	f := filing{report: report, api: eastern{zone: zoneOf(t, "America/New_York")},
		puller: &puller{metrics: newMetrics(prometheus.NewRegistry())},
		pull:   filePull{Pieces: []filePiece{{From: longDay, To: longDay}}}}
	got, err := f.read(t.Context(), 0, media.Job{Size: -1, Rows: 3})
	require.NoError(t, err)
	require.Empty(t, got.note)
	require.Len(t, got.rows, 2)
	cost, _ := got.rows[1].Metrics.Get(metric.Cost)
	require.EqualValues(t, 50_000, cost)
}

// A sum without a part would look complete.
func TestAddUp_LeavesUnsetWhatOneRowLacks(t *testing.T) {
	t.Parallel()
	a, b := half(1, "a", 20_000, 2), half(1, "a", 30_000, 3)
	b.Raw, b.Metrics = []any{nil}, metric.Values{}
	b.Metrics.Set(metric.Index("clicks"), 3)
	b.Faults = []wire.Fault{{Field: "cost", Kind: wire.FigureFault, Metric: "cost"}}
	for _, sum := range []media.Row{addUp(a, b), addUp(b, a)} {
		_, hasCost := sum.Metrics.Get(metric.Cost)
		require.False(t, hasCost)
		clicks, _ := sum.Metrics.Get(metric.Index("clicks"))
		require.EqualValues(t, 5, clicks)
		require.Equal(t, []any{nil}, sum.Raw)
		require.Equal(t, b.Faults, sum.Faults)
	}
	require.Equal(t, []any{int64(2)}, a.Raw, "the rows themselves stay")
}
