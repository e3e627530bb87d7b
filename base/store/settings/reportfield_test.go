package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

// fieldStates returns the rows of a media as "report/level: state".
func fieldStates(t *testing.T, s *store.Store, media string) []string {
	t.Helper()
	rows, err := s.ReportFields(t.Context(), media)
	require.NoError(t, err)
	var states []string
	for _, r := range rows {
		require.False(t, r.UpdatedAt.IsZero())
		require.Equal(t, r.State == settings.FieldRetired, !r.RetiredAt.IsZero(), "%+v", r)
		states = append(states, r.Field+" "+r.Report+"/"+r.Level+": "+string(r.State))
	}
	return states
}

func TestRetireReportField_IsFirstOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	retire := func(report, field string) bool {
		first, err := s.RetireReportField(t.Context(), settings.ReportField{Media: "m", Report: report, Level: "account",
			Field: field, Reason: "40000 unknown", ChangedBy: "adsync"})
		require.NoError(t, err)
		return first
	}
	put := func(report, level, field string, state settings.FieldState) {
		require.NoError(t, s.PutReportField(t.Context(), "otto",
			settings.ReportField{Media: "m", Report: report, Level: level, Field: field, State: state, Reason: "why",
				ChangedBy: "otto"}))
	}
	put("report_hourly", "account", "b", settings.FieldAsked)
	put("report_daily", "account", "c", settings.FieldOff)
	require.True(t, retire("report_daily", "a"))
	require.False(t, retire("report_daily", "a"), "another consumer has met it")
	require.True(t, retire("report_hourly", "b"), "a requested field")
	require.False(t, retire("report_hourly", "b"))
	require.False(t, retire("report_daily", "c"), "a field that is switched off")
	require.Equal(t, []string{
		"a report_daily/account: retired", "b report_hourly/account: retired", "c report_daily/account: off",
	}, fieldStates(t, s, "m"))
	rows, err := s.ReportFields(t.Context(), "m")
	require.NoError(t, err)
	require.Equal(t, []string{"40000 unknown", "adsync"}, []string{rows[1].Reason, rows[1].ChangedBy})
}

func TestPutReportField_OfTheSameRowsChangesNothing(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	audits := func() (n int) {
		require.NoError(t, s.Config.Writer(t.Context()).Raw("SELECT COUNT(*) FROM audit_log").Row().Scan(&n))
		return n
	}
	put := func(by string, state settings.FieldState, accepted bool) {
		t.Helper()
		require.NoError(t, s.PutReportField(t.Context(), by,
			settings.ReportField{Media: "tulip", Field: "a", State: state, ChangedBy: by, Accepted: accepted}))
	}
	for _, state := range []settings.FieldState{settings.FieldOff, settings.FieldAsked} {
		put("otto", state, true)
		before := audits()
		put("vera", state, true)
		require.Equal(t, before, audits(), state)
	}
	rows, err := s.ReportFields(t.Context(), "tulip")
	require.NoError(t, err)
	require.Equal(t, "otto", rows[0].ChangedBy, "who changed it")

	put("otto", settings.FieldAsked, false)
	before := audits()
	put("vera", settings.FieldAsked, false)
	require.Equal(t, before+1, audits(), "it is tried again")
}

func TestPutReportField_ReplacesTheRowsThatItCovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report, level string
		want          []string
	}{
		"everything": {"", "", []string{"a /: asked"}},
		"a report": {"report_daily", "", []string{"a /: off", "a /account: off", "a report_daily/: asked",
			"a report_hourly/account: off"}},
		"a level": {"", "account", []string{"a /: off", "a /account: asked", "a report_daily/: off",
			"a report_daily/adgroup: off"}},
		"a level of report": {"report_daily", "adgroup",
			[]string{"a /: off", "a /account: off", "a report_daily/: off", "a report_daily/adgroup: asked",
				"a report_hourly/account: off"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t)
			put := func(media, report, level string, state settings.FieldState) {
				require.NoError(t, s.PutReportField(t.Context(), "otto",
					settings.ReportField{Media: media, Report: report, Level: level, Field: "a", State: state}))
			}
			put("other", "", "", settings.FieldOff)
			for _, r := range [][2]string{{"", ""}, {"", "account"}, {"report_daily", ""}, {"report_daily", "adgroup"},
				{"report_hourly", "account"}} {
				put("m", r[0], r[1], settings.FieldOff)
			}
			put("m", c.report, c.level, settings.FieldAsked)
			require.Equal(t, c.want, fieldStates(t, s, "m"))
			require.Len(t, fieldStates(t, s, "other"), 1)
			require.Len(t, fieldStates(t, s, ""), 1+len(c.want))
		})
	}
}

// Fields that pulls requested before trials existed are still requested.
func TestMigrateUp_AcceptsRequestedFields(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	db := s.Config.Writer(t.Context())
	for db.Migrator().HasColumn("report_field", "accepted_at") {
		require.NoError(t, s.MigrateDown(t.Context()))
	}
	require.NoError(t,
		db.Exec(
			"INSERT INTO report_field (media, field, state, updated_at)"+
				" VALUES ('m', 'a', 'asked', '2026-11-20 10:00:00'), ('m', 'b', 'off', '2026-11-20 10:00:00')").Error)
	require.NoError(t, s.MigrateUp(t.Context()))
	rows, err := s.ReportFields(t.Context(), "m")
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, []bool{rows[0].Accepted, rows[1].Accepted})
	require.False(t, rows[0].Trying())
	require.Equal(t, "2026-11-20 10:00:00", rows[0].UpdatedAt.UTC().Format(time.DateTime),
		"the row's time of change stays")

	require.NoError(t, db.Exec("INSERT INTO report_field (media, field, state) VALUES ('m', 'c', 'asked')").Error)
	rows, err = s.ReportFields(t.Context(), "m")
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, []bool{rows[2].Trying(), rows[2].TrialDue}, "a row written by SQL is tried")
}

// One process tries a field at a time, and a claim expires.
func TestClaimFieldTrial_HasOneHolder(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	f := settings.ReportField{Media: "m", Field: "a", State: settings.FieldAsked}
	claim := func(lasts time.Duration) bool {
		claimed, err := s.ClaimFieldTrial(t.Context(), f, lasts)
		require.NoError(t, err)
		return claimed
	}
	require.False(t, claim(time.Minute), "there is no such row")
	require.NoError(t, s.PutReportField(t.Context(), "otto", f))
	require.True(t, claim(-time.Second))
	require.True(t, claim(time.Minute), "the first has ended")
	require.False(t, claim(time.Minute))
	require.NoError(t, s.PostponeFieldTrial(t.Context(), f, -time.Second, "no answer"))
	require.True(t, claim(time.Minute))
	require.NoError(t, s.AcceptReportField(t.Context(), f))
	require.False(t, claim(time.Minute), "it is accepted")
	first, err := s.RetireReportField(t.Context(), f)
	require.NoError(t, err)
	require.True(t, first)
	require.NoError(t,
		s.Config.Writer(t.Context()).Exec("UPDATE report_field SET state = 'asked' WHERE field = 'a'").Error)
	rows, err := s.ReportFields(t.Context(), "m")
	require.NoError(t, err)
	require.True(t, rows[0].Trying(), "a retired field is tried again, also after an edit by SQL")
}
