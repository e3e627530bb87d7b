package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/storetest"
)

// fieldStates are the rows of a media as "report/level: state".
func fieldStates(t *testing.T, s *store.Store, media string) []string {
	t.Helper()
	rows, err := s.ReportFields(t.Context(), media)
	require.NoError(t, err)
	var states []string
	for _, r := range rows {
		require.False(t, r.UpdatedAt.IsZero())
		require.Equal(t, r.State == store.FieldRetired, !r.RetiredAt.IsZero(), "%+v", r)
		states = append(states, r.Field+" "+r.Report+"/"+r.Level+": "+string(r.State))
	}
	return states
}

func TestRetireReportField_IsFirstOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	retire := func(report, field string) bool {
		first, err := s.RetireReportField(t.Context(), store.ReportField{Media: "m", Report: report, Level: "account", Field: field, Reason: "40000 unknown", ChangedBy: "adsync"})
		require.NoError(t, err)
		return first
	}
	put := func(report, level, field string, state store.FieldState) {
		require.NoError(t, s.PutReportField(t.Context(), "otto", store.ReportField{Media: "m", Report: report, Level: level, Field: field, State: state, Reason: "why", ChangedBy: "otto"}))
	}
	put("report_hourly", "account", "b", store.FieldAsked)
	put("report_daily", "account", "c", store.FieldOff)
	require.True(t, retire("report_daily", "a"))
	require.False(t, retire("report_daily", "a"), "another consumer has met it")
	require.True(t, retire("report_hourly", "b"), "one that was asked for")
	require.False(t, retire("report_hourly", "b"))
	require.False(t, retire("report_daily", "c"), "one that nobody wants")
	require.Equal(t, []string{
		"a report_daily/account: retired", "b report_hourly/account: retired", "c report_daily/account: off",
	}, fieldStates(t, s, "m"))
	rows, err := s.ReportFields(t.Context(), "m")
	require.NoError(t, err)
	require.Equal(t, []string{"40000 unknown", "adsync"}, []string{rows[1].Reason, rows[1].ChangedBy})
}

func TestPutReportField_TakesThePlaceOfWhatItCovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report, level string
		want          []string
	}{
		"everything":        {"", "", []string{"a /: asked"}},
		"a report":          {"report_daily", "", []string{"a /: off", "a /account: off", "a report_daily/: asked", "a report_hourly/account: off"}},
		"a level":           {"", "account", []string{"a /: off", "a /account: asked", "a report_daily/: off", "a report_daily/adgroup: off"}},
		"a level of report": {"report_daily", "adgroup", []string{"a /: off", "a /account: off", "a report_daily/: off", "a report_daily/adgroup: asked", "a report_hourly/account: off"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t)
			put := func(media, report, level string, state store.FieldState) {
				require.NoError(t, s.PutReportField(t.Context(), "otto", store.ReportField{Media: media, Report: report, Level: level, Field: "a", State: state}))
			}
			put("other", "", "", store.FieldOff)
			for _, r := range [][2]string{{"", ""}, {"", "account"}, {"report_daily", ""}, {"report_daily", "adgroup"}, {"report_hourly", "account"}} {
				put("m", r[0], r[1], store.FieldOff)
			}
			put("m", c.report, c.level, store.FieldAsked)
			require.Equal(t, c.want, fieldStates(t, s, "m"))
			require.Len(t, fieldStates(t, s, "other"), 1)
			require.Len(t, fieldStates(t, s, ""), 1+len(c.want))
		})
	}
}
