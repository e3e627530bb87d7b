package upkeep_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/upkeep"
)

func TestWide_IsBuiltForWhatIsMarked(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, r, _, p := setupPartner(t)
	require.NoError(t, s.EnsureRawTables(ctx, media.Tables(invented.New())))
	found, err := s.FindAccounts(ctx, "tulip", []string{"900"})
	require.NoError(t, err)
	id := found["900"].ID
	pull := func(report, level string, on day.Day) results.Claim {
		claim, _, err := s.BeginPull(ctx, results.Scope{AccountID: id, Media: "tulip", Report: report, Level: level,
			Days: []day.Day{on}}, "p", 1)
		require.NoError(t, err)
		return claim
	}
	creatives := results.ObjectWrite{Claim: pull("creative", "creative", day.Epoch), Raw: invented.New().Lists()[1].Table}
	creatives.Rows = []results.ObjectRow{{Object: "c1", Name: "One", Raw: []any{"One", "a1", nil, nil, nil, nil},
		JSON: "{}"}}
	_, err = s.WriteObjects(ctx, creatives)
	require.NoError(t, err)
	report := results.ReportWrite{Claim: pull("report_daily", "creative", "2026-11-20"),
		Raw: invented.New().Reports()[2].Table, Currency: "CNY", Zone: "Asia/Shanghai", Whole: true}
	report.Rows = []results.ReportRow{{Day: "2026-11-20", Object: "c1", Raw: make([]any, len(report.Raw.Columns)),
		JSON: "{}"}}
	_, err = s.WriteReport(ctx, report)
	require.NoError(t, err)
	p.put(1, time.Minute, 10)
	p.exec("UPDATE partner_daily SET level = 'creative', object_id = 'c1'")

	require.Equal(t, 1, run(t, r, "system.wide", "tulip", "").Rows, "what the platform tells")
	require.Equal(t, 1, run(t, r, upkeep.CopyName, "partner", "").Rows)
	require.Equal(t, 3, run(t, r, "system.wide", "tulip", "").Rows, "and then what the partner does")
	require.Zero(t, run(t, r, "system.wide", "tulip", "").Rows, "a mark is worked off once")
	var adgroup, name string
	var users int64
	require.NoError(t,
		s.Data.Writer(ctx).Raw(
			"SELECT adgroup_id, creative_name, partner_new_users FROM wide_daily_creative WHERE object_id = 'c1'").Row().Scan(
			&adgroup, &name, &users))
	require.Equal(t, []any{"a1", "One", int64(10)}, []any{adgroup, name, users})

	// A rename without figures.
	creatives.Claim, creatives.Rows[0].Name, creatives.Rows[0].JSON = pull("creative", "creative", day.Epoch), "Two",
		`{"v":2}`
	_, err = s.WriteObjects(ctx, creatives)
	require.NoError(t, err)
	require.Equal(t, 1, run(t, r, "system.wide", "tulip", "").Rows, "in one run")
}
