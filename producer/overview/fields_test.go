package overview_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/client"
	"adsync/producer/overview"
)

// An added field that the platform refuses is a note with the platform's error until it is dropped.
func TestRead_NamesFieldsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	field := settings.ReportField{Media: "tulip", Report: "report_daily", Level: "adgroup", Field: "ordr_pv",
		State: settings.FieldAsked}
	require.NoError(t, s.PutReportField(t.Context(), "otto", field))
	read := func() (client.Attention, bool) {
		a, there := kinds(overview.NewReader(options(s)).Read(t.Context()))["field"]
		return a, there
	}
	_, there := read()
	require.False(t, there, "it is not refused yet")
	field.Reason = "bug error 12009: unknown field ordr_pv"
	_, err := s.RefuseReportField(t.Context(), field)
	require.NoError(t, err)
	a, there := read()
	require.True(t, there)
	require.Equal(t, overview.Note, a.Severity)
	require.Contains(t, a.Title, "ordr_pv")
	require.Contains(t, a.Cause, "12009: unknown field ordr_pv")
	require.Equal(t, "adsync fields drop tulip ordr_pv --report report_daily --level adgroup", a.Command)
	field.State = settings.FieldOff
	require.NoError(t, s.PutReportField(t.Context(), "otto", field))
	_, there = read()
	require.False(t, there)
}
