package upkeep_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/upkeep"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func setup(t *testing.T) (*store.Store, *media.Registry) {
	t.Helper()
	s := storetest.New(t)
	handlers := upkeep.Handlers(upkeep.Deps{Store: s, Marks: s.Data, Clock: clock.NewScaled(now, 1, true),
		Logger: slog.New(slog.DiscardHandler), Platforms: invented.Both()})
	return s, media.NewRegistry(handlers...)
}

func run(t *testing.T, r *media.Registry, name, part, params string) media.Result {
	t.Helper()
	h, ok := r.Get(name)
	require.True(t, ok)
	work := media.Work{Params: json.RawMessage(params)}
	work.Part = part
	result, err := h.Run(t.Context(), work)
	require.NoError(t, err)
	return result
}

func TestTables_AreMadeAheadAndDroppedAfterTheirRetention(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, r := setup(t)
	for _, d := range []day.Day{"2026-11-10", "2026-11-18", "2026-11-19"} {
		require.NoError(t, s.EnsureLogTable(ctx, d))
	}
	run(t, r, "system.tables", "tables", `{"keep_days":2}`)
	days, err := s.LogDays(ctx)
	require.NoError(t, err)
	require.Equal(t, []day.Day{"2026-11-19", "2026-11-21", "2026-11-22", "2026-11-23"}, days)
	run(t, r, "system.tables", "tables", `{"keep_days":2}`)
}

func TestSummary_RebuildsWhatIsMarked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, r := setup(t)
	raw := rawtable.Table{Name: "tulip_report_daily", Shape: rawtable.DailyRows}
	require.NoError(t, s.EnsureRawTables(ctx, []rawtable.Table{raw}))
	claim, _, err := s.BeginPull(ctx, results.Scope{AccountID: 1, Media: "tulip", Report: "report_daily", Level: "account",
		Days: []day.Day{"2026-11-20"}}, "p", 1)
	require.NoError(t, err)
	row := results.ReportRow{Day: "2026-11-20", JSON: "{}"}
	row.Metrics.Set(metric.Index("cost"), 42)
	_, err = s.WriteReport(ctx, results.ReportWrite{Claim: claim, Raw: raw, Currency: "CNY", Zone: "Asia/Shanghai",
		Rows: []results.ReportRow{row}, Whole: true, DirtySummary: true})
	require.NoError(t, err)

	require.Zero(t, run(t, r, "system.summary", "orchid", "").Rows, "another platform's marks are not this part's")
	require.Equal(t, 1, run(t, r, "system.summary", "tulip", "").Rows)
	require.Zero(t, run(t, r, "system.summary", "tulip", "").Rows, "a mark is worked off once")
	var cost int64
	require.NoError(t,
		s.Data.Writer(ctx).Raw("SELECT cost FROM summary_daily WHERE day = '2026-11-20' AND game = 'unassigned'").Row().Scan(
			&cost))
	require.EqualValues(t, 42, cost)
}

func TestHandlers_RefuseWhatTheyCannotDo(t *testing.T) {
	t.Parallel()
	_, r := setup(t)
	tables, _ := r.Get("system.tables")
	require.ErrorContains(t, tables.Check(json.RawMessage(`{"keep_days":-1}`)), "params.keep_days: -1 is refused")
	summary, _ := r.Get("system.summary")
	require.ErrorContains(t, summary.Check(json.RawMessage(`{"media":"tulip"}`)), "params.media: there is no such field")
	_, err := summary.Parts(media.Plan{From: "2026-11-01", To: "2026-11-02"})
	require.ErrorContains(t, err, "no days")
	parts, err := summary.Parts(media.Plan{})
	require.NoError(t, err)
	require.Equal(t, []string{"tulip", "orchid"}, parts)
}
