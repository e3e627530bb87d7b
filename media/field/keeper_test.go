package field_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/field"
	"adsync/media/mediatest/invented"
)

// bench is a keeper of Tulip's fields.
type bench struct {
	t      *testing.T
	store  *store.Store
	keeper *field.Keeper
	log    bytes.Buffer
}

func setup(t *testing.T, s *store.Store) *bench {
	t.Helper()
	b := &bench{t: t, store: s}
	b.keeper = field.New(field.Options{
		Platform: invented.New(), Store: s, Clock: clock.System{}, Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
	})
	return b
}

// put writes a row. A field with state asked needs no trial.
func (b *bench) put(report, level, name string, state settings.FieldState) {
	b.t.Helper()
	require.NoError(b.t, b.store.PutReportField(b.t.Context(), "otto",
		settings.ReportField{Media: invented.Tulip, Report: report, Level: level, Field: name, State: state,
			Accepted: state == settings.FieldAsked}))
}

func report(t *testing.T, name, level string) media.Report {
	t.Helper()
	for _, r := range invented.New().Reports() {
		if r.Name == name && r.Level == level {
			return r
		}
	}
	require.Fail(t, "no such report")
	return media.Report{}
}

// asked returns a report's extra fields and the fields that it leaves out.
func (b *bench) asked(name, level string) (extra, without []string) {
	b.t.Helper()
	err := b.keeper.Ask(b.t.Context(), report(b.t, name, level), media.ReportQuery{},
		func(_ media.Report, q media.ReportQuery) error {
			extra, without = q.Extra, q.Without
			return nil
		})
	require.NoError(b.t, err)
	return extra, without
}

// platform refuses some fields, and answers queries without them.
type platform struct {
	refuses []string
	asked   [][]string
	then    error // the error of a query without refused fields
	pages   int   // how many pages are answered before that
}

func (p *platform) do(r media.Report, q media.ReportQuery) error {
	fields := q.Fields([]string{"cost", "views", "signups"})
	p.asked = append(p.asked, fields)
	for _, name := range p.refuses {
		if slices.Contains(fields, name) {
			return &media.Error{Class: media.Bug, Code: "4009", Message: "unknown field " + name, Field: name}
		}
	}
	for range p.pages {
		if _, err := r.Page(context.Background(), nil, q, ""); err != nil {
			return err
		}
	}
	return p.then
}

func TestAsk_TheMostSpecificRowApplies(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	b.put("", "", "orders", settings.FieldAsked)
	b.put("", "", "signups", settings.FieldOff)
	b.put("", "account", "signups", settings.FieldAsked)
	b.put("report_daily", "", "orders", settings.FieldOff)
	b.put("report_daily", "adgroup", "orders", settings.FieldRetired)
	b.put("report_daily", "adgroup", "views", settings.FieldRetired)
	for _, c := range []struct {
		report, level  string
		extra, without []string
	}{
		{"report_hourly", "adgroup", []string{"orders"}, []string{"signups"}},
		{"report_hourly", "account", []string{"orders"}, nil},
		{"report_daily", "account", nil, nil},
		{"report_daily", "creative", nil, []string{"signups"}},
		{"report_daily", "adgroup", nil, []string{"signups", "views"}},
	} {
		extra, without := b.asked(c.report, c.level)
		require.Equal(t, c.extra, extra, "%s %s", c.report, c.level)
		require.Equal(t, c.without, without, "%s %s", c.report, c.level)
	}
}

func TestAsk_RetiresARefusedField(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	b.put("", "", "orders", settings.FieldAsked)
	p := &platform{refuses: []string{"orders", "signups"}}
	daily := report(t, "report_daily", "adgroup")
	require.NoError(t, b.keeper.Ask(t.Context(), daily, media.ReportQuery{}, p.do))
	require.Equal(t, [][]string{{"cost", "views", "signups", "orders"}, {"cost", "views", "signups"}, {"cost", "views"}},
		p.asked)

	p.asked = nil
	require.NoError(t, b.keeper.Ask(t.Context(), daily, media.ReportQuery{}, p.do))
	require.Equal(t, [][]string{{"cost", "views"}}, p.asked, "the field is not requested again")
	require.Equal(t, 2, strings.Count(b.log.String(), "level=ERROR"), b.log.String())
	require.Contains(t, b.log.String(),
		`report=report_daily level=adgroup field=signups err="bug error 4009: unknown field signups"`)
	rows, err := b.store.ReportFields(t.Context(), invented.Tulip)
	require.NoError(t, err)
	require.Equal(t, []string{"orders", "orders", "signups"}, []string{rows[0].Field, rows[1].Field, rows[2].Field})
	require.Equal(t, []string{"report_daily", "adgroup", "retired", "bug error 4009: unknown field signups"},
		[]string{rows[2].Report, rows[2].Level, string(rows[2].State), rows[2].Reason})

	// Another process that has read the rows before gets the same refusal and logs nothing.
	other := setup(t, b.store)
	other.put("", "", "signups", settings.FieldAsked)
	other.asked("report_daily", "adgroup")
	first, err := b.store.RetireReportField(t.Context(),
		settings.ReportField{Media: invented.Tulip, Report: "report_daily", Level: "adgroup", Field: "signups"})
	require.NoError(t, err)
	require.True(t, first)
	p.refuses = []string{"signups"}
	require.NoError(t, other.keeper.Ask(t.Context(), daily, media.ReportQuery{}, p.do))
	require.Empty(t, other.log.String())
}

func TestAsk_RetiresNothingWhenTheRestIsRefusedToo(t *testing.T) {
	t.Parallel()
	refusal := &media.Error{Class: media.Bug, Code: "40000", Message: "no such advertiser"}
	for name, p := range map[string]*platform{
		"for another reason":          {refuses: []string{"signups"}, then: refusal},
		"for what the report needs":   {refuses: []string{"signups", "cost"}},
		"at once, for another reason": {then: refusal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.New(t))
			err := b.keeper.Ask(t.Context(), report(t, "report_daily", "account"), media.ReportQuery{}, p.do)
			require.Error(t, err)
			if p.then != nil {
				require.ErrorIs(t, err, p.then)
			}
			rows, err := b.store.ReportFields(t.Context(), "")
			require.NoError(t, err)
			require.Empty(t, rows)
			require.Empty(t, b.log.String())
		})
	}
}

// A pull that fails after a refusal has retired the field: the next pull does not request it.
func TestAsk_RemembersRefusalsOfAPullThatFails(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]error{
		"no answer":                         &media.Error{Class: media.Transient, Message: "no answer"},
		"a limit":                           &media.DeferError{After: time.Minute, Reason: "its limit is used up"},
		"a token that ended":                &media.Error{Class: media.Auth, Code: "11000", Message: "token"},
		"the pull's time":                   context.DeadlineExceeded,
		"more rows than the platform gives": &media.Error{Class: media.Invalid, Message: "too many", Err: media.ErrRowCap},
		"a day without hours":               &media.Error{Class: media.Invalid, Message: "whole days", Err: media.ErrNoHours},
		"an account that was closed": &media.Error{Class: media.Invalid, Code: "11009", Message: "closed",
			Parks: media.Frozen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.New(t))
			ctx, cancel := context.WithCancel(t.Context())
			p := &platform{refuses: []string{"signups", "views"}, then: then}
			err := b.keeper.Ask(ctx, report(t, "report_daily", "account"), media.ReportQuery{},
				func(r media.Report, q media.ReportQuery) error {
					err := p.do(r, q)
					if errors.Is(err, then) {
						cancel() // A refusal is recorded even if the pull's context has ended.
					}
					return err
				})
			require.ErrorIs(t, err, then)
			require.Len(t, p.asked, 3)
			_, without := b.asked("report_daily", "account")
			require.Equal(t, []string{"signups", "views"}, without)
		})
	}
}

// If the first page of a query was answered, the fields that it leaves out did not cause the refusal of a later page.
func TestAsk_RemembersRefusalsOfAPullWhoseLaterPageIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	p := &platform{refuses: []string{"signups"}, pages: 1,
		then: &media.Error{Class: media.Bug, Code: "40000", Message: "no such page"}}
	daily := report(t, "report_daily", "account")
	daily.Page = func(context.Context, media.API, media.ReportQuery, string) (media.Page, error) {
		return media.Page{}, nil
	}
	require.ErrorIs(t, b.keeper.Ask(t.Context(), daily, media.ReportQuery{}, p.do), p.then)
	_, without := b.asked("report_daily", "account")
	require.Equal(t, []string{"signups"}, without)
}

func TestAsk_ReadsTheRowsHalfAMinuteLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, storetest.NewSQLite(t))
		extra, _ := b.asked("report_daily", "account")
		require.Empty(t, extra)
		b.put("", "", "orders", settings.FieldAsked)
		time.Sleep(29 * time.Second)
		extra, _ = b.asked("report_daily", "account")
		require.Empty(t, extra, "the rows are not read for each subtask")
		time.Sleep(time.Second)
		extra, _ = b.asked("report_daily", "account")
		require.Equal(t, []string{"orders"}, extra)

		rename := func(from, to string) {
			require.NoError(t, b.store.Config.Writer(t.Context()).Exec("ALTER TABLE "+from+" RENAME TO "+to).Error)
		}
		rename("report_field", "away")
		time.Sleep(time.Minute)
		extra, _ = b.asked("report_daily", "account")
		require.Equal(t, []string{"orders"}, extra, "the last rows apply while the table cannot be read")
		require.Contains(t, b.log.String(), "cannot read report_field")
		fresh := setup(t, b.store)
		err := fresh.keeper.Ask(t.Context(), report(t, "report_daily", "account"), media.ReportQuery{},
			func(media.Report, media.ReportQuery) error { return errors.New("asked") })
		require.ErrorContains(t, err, "report_field", "without any rows the fields are unknown")
		rename("away", "report_field")
		b.put("", "", "orders", settings.FieldOff)
		time.Sleep(5 * time.Second)
		extra, _ = b.asked("report_daily", "account")
		require.Empty(t, extra)
	})
}

func TestAsk_LogsInvalidRows(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	for _, row := range []string{
		"'', '', 'date', 'off'", "'', '', 'cost', 'off'", "'', '', 'a b', 'asked'", "'', '', 'x', 'maybe'",
		"'report_weekly', '', 'y', 'asked'", "'report_daily', 'site', 'z', 'asked'", "'', '', 'orders', 'asked'",
	} {
		require.NoError(t,
			b.store.Config.Writer(t.Context()).Exec(
				"INSERT INTO report_field (media, report, level, field, state) VALUES ('tulip', "+row+")").Error)
	}
	require.NoError(t, b.store.AcceptReportField(t.Context(),
		settings.ReportField{Media: invented.Tulip, Field: "orders"}))
	extra, without := b.asked("report_daily", "account")
	require.Equal(t, []string{"orders"}, extra)
	require.Empty(t, without)
	for _, why := range []string{
		`field \"date\" is refused: want a field that report_daily can do without`, `field \"cost\" is refused`,
		`field \"a b\" is refused`,
		`state \"maybe\" is refused: want asked, off, retired or refused`,
		`report \"report_weekly\" is refused: want one of report_daily, report_hourly, or none for all`,
		`level \"site\" is refused: want one of account, adgroup, creative, or none for all`,
	} {
		require.Contains(t, b.log.String(), why)
	}
}
