package field_test

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/field"
	"adsync/media/mediatest/invented"
)

// reports is a platform's API that answers every report without rows, and counts how often each requests a field.
type reports struct {
	media.API

	field string
	// answer returns a report's error, with or without the field; nil is success.
	answer func(report string, with bool) error

	mu   sync.Mutex
	with []string // the reports that requested the field
}

func (r *reports) Account() media.Account {
	return media.Account{ID: 7, Media: invented.Tulip, ExternalID: "9001", Zone: time.UTC}
}

func (r *reports) Get(ctx context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	report := endpoint + " " + query.Get("level")
	var asked []string
	if err := json.Unmarshal([]byte(query.Get("fields")), &asked); err != nil {
		return nil, err
	}
	with := slices.Contains(asked, r.field)
	if with {
		r.mu.Lock()
		r.with = append(r.with, report)
		r.mu.Unlock()
	}
	if r.answer != nil {
		if err := r.answer(report, with); err != nil {
			return nil, err
		}
	}
	return json.RawMessage(`{"list": [], "page_info": {"page": 1, "page_size": 100, "total_number": 0, "total_page": 0}}`),
		nil
}

// times returns how often any report requested the field.
func (r *reports) times() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.with)
}

// unknown returns a platform's refusal that names a field.
func unknown(name string) error {
	return &media.Error{Class: media.Bug, Code: "4009", Message: "An unknown field is requested. " + name}
}

// add puts a row in the way of the API.
func (b *bench) add(report, level, name string) {
	b.t.Helper()
	have, err := b.store.ReportFields(b.t.Context(), invented.Tulip)
	require.NoError(b.t, err)
	row, more := field.Rows(invented.New(), have, settings.ReportField{Media: invented.Tulip, Report: report, Level: level,
		Field: name, State: settings.FieldAsked, ChangedBy: "otto"})
	require.NoError(b.t, b.store.PutReportField(b.t.Context(), "otto", row, more...))
}

// states returns the rows of a field as "report/level: state".
func (b *bench) states(name string) (states []string) {
	b.t.Helper()
	rows, err := b.store.ReportFields(b.t.Context(), invented.Tulip)
	require.NoError(b.t, err)
	for _, r := range rows {
		if r.Field != name {
			continue
		}
		state := string(r.State)
		if r.Trying() {
			state = "trying"
		}
		states = append(states, r.Report+"/"+r.Level+": "+state)
	}
	return states
}

func (b *bench) row(name string) settings.ReportField {
	b.t.Helper()
	rows, err := b.store.ReportFields(b.t.Context(), invented.Tulip)
	require.NoError(b.t, err)
	return rows[slices.IndexFunc(rows, func(r settings.ReportField) bool { return r.Field == name })]
}

// A field that does not exist costs one call, however many pulls and processes run.
func TestTry_AnInventedNameCostsOneCall(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	b.add("", "", "invented")
	api := &reports{field: "invented", answer: func(_ string, with bool) error {
		if with {
			return unknown("invented")
		}
		return nil
	}}
	processes := []*bench{b, setup(t, b.store), setup(t, b.store)}
	for _, process := range processes {
		extra, _ := process.asked("report_hourly", "account")
		require.Empty(t, extra, "no pull requests it")
	}
	var pulls sync.WaitGroup
	for _, process := range processes {
		for range 5 {
			pulls.Go(func() { process.keeper.Try(t.Context(), api) })
		}
	}
	pulls.Wait()
	require.Equal(t, 1, api.times())
	refused := b.row("invented")
	require.Equal(t, []string{"/: refused"}, b.states("invented"))
	require.Equal(t,
		"report_daily at level account, account 9001: bug error 4009: An unknown field is requested. invented",
		refused.Reason)
	require.Equal(t, "adsync", refused.ChangedBy)
	for _, process := range processes {
		process.keeper.Try(t.Context(), api)
		extra, _ := process.asked("report_hourly", "account")
		require.Empty(t, extra)
	}
	require.Equal(t, 1, api.times())

	// A field that is put again is tried again.
	b.add("", "", "invented")
	later := setup(t, b.store)
	api.answer = nil
	later.keeper.Try(t.Context(), api)
	require.Equal(t, []string{"/: asked"}, b.states("invented"))
	extra, _ := later.asked("report_hourly", "account")
	require.Equal(t, []string{"invented"}, extra)
}

func TestTry_EachReportOfTheRowIsTriedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	b.put("report_daily", "creative", "orders", settings.FieldOff)
	api := &reports{field: "orders"}
	require.NoError(t, b.store.PutReportField(t.Context(), "otto",
		settings.ReportField{Media: invented.Tulip, Report: "report_hourly", Field: "orders", State: settings.FieldAsked}))
	require.NoError(t, b.store.PutReportField(t.Context(), "otto",
		settings.ReportField{Media: invented.Tulip, Level: "account", Report: "report_daily", Field: "orders",
			State: settings.FieldAsked}))
	api.answer = func(report string, with bool) error {
		if with && strings.HasSuffix(report, " adgroup") {
			return unknown("orders")
		}
		return nil
	}
	for range 2 {
		b.keeper.Try(t.Context(), api)
	}
	require.Equal(t, []string{"report_daily/account: asked", "report_daily/creative: off", "report_hourly/: asked",
		"report_hourly/adgroup: refused"}, b.states("orders"))
	require.Equal(t, 1+3, api.times())
	b.keeper.Try(t.Context(), api)
	require.Equal(t, 1+3, api.times())
}

// A passing failure decides nothing: the field is tried again after a rest.
func TestTry_APassingFailureIsNoRefusal(t *testing.T) {
	t.Parallel()
	always := func(err error) func(string, bool) error { return func(string, bool) error { return err } }
	for name, answer := range map[string]func(string, bool) error{
		"no answer":          always(&media.Error{Class: media.Transient, Message: "no answer"}),
		"a limit":            always(&media.DeferError{After: time.Minute, Reason: "its limit is used up"}),
		"a token that ended": always(&media.Error{Class: media.Auth, Code: "11000", Message: "token"}),
		"an account that was closed": always(&media.Error{Class: media.Invalid, Code: "11009", Message: "closed",
			Parks: media.Frozen}),
		"a report without permission": always(&media.Error{Class: media.Bug, Code: "11002", Message: "no permission"}),
		"a field that is needed": func(_ string, with bool) error {
			if with {
				return unknown("cost")
			}
			return nil
		},
		"no answer with the field alone": func(_ string, with bool) error {
			if with {
				return &media.Error{Class: media.Transient, Message: "no answer"}
			}
			return nil
		},
		"no answer without the field": func(_ string, with bool) error {
			if with {
				return &media.Error{Class: media.Bug, Code: "40000", Message: "parameters"}
			}
			return &media.Error{Class: media.Transient, Message: "no answer"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, storetest.NewSQLite(t))
				b.add("report_daily", "account", "orders")
				api := &reports{field: "orders", answer: answer}
				for range 3 {
					b.keeper.Try(t.Context(), api)
				}
				require.Equal(t, 1, api.times(), "it rests")
				require.Equal(t, []string{"report_daily/account: trying"}, b.states("orders"))
				require.Contains(t, b.row("orders").TrialNote, "report_daily at level account, account 9001: ")
				require.Empty(t, b.log.String())
			})
		})
	}
}

// A refusal that names no field refuses the tried field if the same query without it is answered.
func TestTry_AfterARefusalWithoutANameTheQueryIsRepeatedWithoutTheField(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	b.add("", "", "orders")
	api := &reports{field: "orders", answer: func(_ string, with bool) error {
		if with {
			return &media.Error{Class: media.Invalid, Code: "40000", Message: "illegal parameters"}
		}
		return nil
	}}
	b.keeper.Try(t.Context(), api)
	require.Equal(t, 1, api.times())
	require.Equal(t, []string{"/: refused"}, b.states("orders"))
	require.Contains(t, b.row("orders").Reason, "illegal parameters")
}

// A field that the platform has removed, and that no pull has noticed yet, does not prevent the trial of another.
func TestTry_LeavesOutOtherRetiredFields(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	b.add("report_daily", "account", "orders")
	gone := map[int]string{1: "signups", 2: "views"}
	api := &reports{field: "orders"}
	api.answer = func(string, bool) error {
		if name := gone[api.times()]; name != "" {
			return unknown(name)
		}
		return nil
	}
	b.keeper.Try(t.Context(), api)
	require.Equal(t, 3, api.times())
	require.Equal(t, []string{"report_daily/account: asked"}, b.states("orders"))
}

// A process that dies or stops in the middle of a trial only delays the trial.
func TestTry_IsRepeatedAfterAProcessHasDied(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	b.add("", "", "orders")
	died, err := b.store.ClaimFieldTrial(t.Context(), b.row("orders"), 2*time.Minute)
	require.NoError(t, err)
	require.True(t, died)
	api := &reports{field: "orders"}
	b.keeper.Try(t.Context(), api)
	require.Zero(t, api.times(), "the claim holds")
	b.passTrial("orders")

	ended, cancel := context.WithCancel(t.Context())
	other := setup(t, b.store)
	other.keeper.Try(ended, &reports{field: "orders",
		answer: func(string, bool) error { cancel(); return context.Canceled }})
	require.Equal(t, []string{"/: trying"}, b.states("orders"))
	require.Contains(t, b.row("orders").TrialNote, "context canceled")
	b.passTrial("orders")

	setup(t, b.store).keeper.Try(t.Context(), api)
	require.Equal(t, []string{"/: asked"}, b.states("orders"))
}

// passTrial ends the time in which no process tries the field.
func (b *bench) passTrial(name string) {
	b.t.Helper()
	require.False(b.t, b.row(name).TrialDue)
	require.NoError(b.t,
		b.store.Config.Writer(b.t.Context()).Exec(
			"UPDATE report_field SET trial_at = '2026-01-01 00:00:00.000' WHERE field = ?", name).Error)
	require.True(b.t, b.row(name).TrialDue)
}

// A row that was deleted during its trial stays deleted.
func TestTry_ARowDeletedMeanwhileStaysDeleted(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"accepted": nil, "refused": unknown("orders")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.New(t))
			b.add("", "", "orders")
			b.keeper.Try(t.Context(), &reports{field: "orders", answer: func(string, bool) error {
				b.put("", "", "orders", settings.FieldOff)
				return err
			}})
			require.Equal(t, []string{"/: off"}, b.states("orders"))
		})
	}
}

// Putting a field that is requested already removes it from no pull. Where it was not requested it is tried.
func TestRows_KeepRequestedFields(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.New(t))
	b.put("report_daily", "adgroup", "signups", settings.FieldRetired)
	b.add("", "", "signups")
	require.Equal(t, []string{"/: asked", "report_daily/adgroup: trying"}, b.states("signups"))
	_, without := b.asked("report_hourly", "adgroup")
	require.Empty(t, without)
	_, without = b.asked("report_daily", "adgroup")
	require.Equal(t, []string{"signups"}, without)
	api := &reports{field: "signups"}
	b.keeper.Try(t.Context(), api)
	require.Equal(t, 1, api.times())
	require.Equal(t, []string{"/: asked", "report_daily/adgroup: asked"}, b.states("signups"))

	b.put("", "", "signups", settings.FieldOff)
	b.add("report_daily", "", "signups")
	require.Equal(t, []string{"/: off", "report_daily/: trying"}, b.states("signups"))
	b.put("", "", "orders", settings.FieldAsked)
	b.add("", "", "orders")
	require.Equal(t, []string{"/: asked"}, b.states("orders"))
}
