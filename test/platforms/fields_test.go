package platforms_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/field"
	"adsync/media/mediatest"
	"adsync/media/pull"
	"adsync/standalone/verify"
)

// fieldsBench pulls one account's report, with new handlers each time.
type fieldsBench struct {
	*life
	log bytes.Buffer
}

// pull pulls yesterday's figures of the largest account.
func (b *fieldsBench) pull() error {
	b.t.Helper()
	o := b.options()
	log := slog.New(slog.NewTextHandler(&b.log, nil))
	handlers := pull.Handlers(b.platform, pull.Deps{
		Store: b.Store, Accounts: b.life, Caller: b.Client, Clock: o.Clock, Logger: log, Registerer: o.Registerer,
		Fields: field.New(field.Options{Platform: b.platform, Store: b.Store, Clock: clock.System{}, Logger: log}),
	})
	h, ok := media.NewRegistry(handlers...).Get(b.platform.Name() + ".report_daily")
	require.True(b.t, ok)
	key := task.Key{RunID: 1, AccountID: b.id(), Part: b.Server.Today.Add(-1).String()}
	_, err := h.Run(b.t.Context(), media.Work{Key: key, PlannedAt: b.at, Params: json.RawMessage(`{"level":"adgroup"}`)})
	return err
}

func (b *fieldsBench) id() int64 {
	b.t.Helper()
	for id, external := range b.accounts("") {
		if external == b.Server.Accounts[0] {
			return id
		}
	}
	b.t.Fatal("the account is missing")
	return 0
}

// row returns the JSON, registrations and clicks of a row, always of the same one.
func (b *fieldsBench) row() (fields map[string]any, registrations, clicks *int64) {
	b.t.Helper()
	var text string
	db := b.Store.Data.Writer(b.t.Context())
	require.NoError(b.t, db.Raw("SELECT row_json FROM "+b.platform.Name()+
		"_report_daily ORDER BY object_id LIMIT 1").Row().Scan(&text))
	require.NoError(b.t, json.Unmarshal([]byte(text), &fields))
	if metrics, nested := fields["metrics"].(map[string]any); nested {
		fields = metrics
	}
	require.NoError(b.t, db.Raw("SELECT registrations, clicks FROM report_daily ORDER BY object_id LIMIT 1").
		Row().Scan(&registrations, &clicks))
	return fields, registrations, clicks
}

// returnsAll reports whether a row has fields that were not requested.
func (b *fieldsBench) returnsAll(row map[string]any) bool {
	report := b.platform.Reports()[0]
	requested := append(report.Figures.Fields(), report.Keys...)
	for name := range row {
		if !slices.Contains(requested, name) && !strings.HasSuffix(name, "_id") {
			return true
		}
	}
	return false
}

func TestFields_TheReportContinues(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		b := &fieldsBench{life: newLife(t, platform, server)}
		retired := verify.Field(platform.Name(), "registrations")
		ask := func(name string) { // as the API does
			have, err := b.Store.ReportFields(t.Context(), platform.Name())
			require.NoError(t, err)
			row, more := field.Rows(platform, have, settings.ReportField{Media: platform.Name(), Field: name,
				State: settings.FieldAsked})
			require.NoError(t, b.Store.PutReportField(t.Context(), "otto", row, more...))
		}
		// A field that the platform adds after this program was written.
		b.world.Order(t, "faults", map[string]any{"kind": "add_field", "media": platform.Name(), "field": "brand_new"})
		require.NoError(t, b.pull())
		fields, registrations, clicks := b.row()
		if b.returnsAll(fields) {
			t.Skip("the platform returns all fields, whatever is requested")
		}
		require.NotContains(t, fields, "brand_new")
		require.NotNil(t, registrations)
		ask("brand_new")
		require.NoError(t, b.pull())
		fields, _, _ = b.row()
		require.NotContains(t, fields, "brand_new", "the pull before succeeded, so this one tries it")
		require.Contains(t, b.log.String(), "the platform accepts an added field")
		require.NoError(t, b.pull())
		fields, _, _ = b.row()
		value, err := json.Marshal(fields["brand_new"])
		require.NoError(t, err)
		require.Equal(t, *clicks, number(t, value), "the next pull after it was accepted has it")

		// A field that the platform removes, and one that it never had.
		b.world.Order(t, "faults", map[string]any{"kind": "retire_field", "media": platform.Name(), "field": retired})
		ask("misspelt")
		require.NoError(t, b.pull(), "the report continues")
		fields, registrations, again := b.row()
		require.NotContains(t, fields, retired)
		require.Nil(t, registrations, "NULL, and not 0")
		require.Equal(t, clicks, again)
		require.Contains(t, fields, "brand_new")
		require.Equal(t, 1, bytes.Count(b.log.Bytes(), []byte("the platform has retired a field")), b.log.String())
		require.Equal(t, 1, bytes.Count(b.log.Bytes(), []byte("the platform refuses an added field")), b.log.String())
		rows, err := b.Store.ReportFields(t.Context(), platform.Name())
		require.NoError(t, err)
		states := map[string]settings.FieldState{}
		for _, r := range rows {
			states[r.Field+" "+r.Report+" "+r.Level] = r.State
		}
		require.Equal(t, map[string]settings.FieldState{
			"brand_new  ": settings.FieldAsked, "misspelt  ": settings.FieldRefused, retired +
				" report_daily adgroup": settings.FieldRetired,
		}, states)

		// It comes back.
		b.world.Send(t, "DELETE", "faults", nil)
		b.world.Order(t, "faults", map[string]any{"kind": "add_field", "media": platform.Name(), "field": "brand_new"})
		ask(retired)
		require.NoError(t, b.pull(), "it is tried")
		require.NoError(t, b.pull())
		_, registrations, _ = b.row()
		require.NotNil(t, registrations)

		// A report without its cost fails: other figures are worth nothing without it.
		needed := verify.Field(platform.Name(), "cost")
		b.world.Order(t, "faults", map[string]any{"kind": "retire_field", "media": platform.Name(), "field": needed})
		require.ErrorContains(t, b.pull(), needed)
	})
}

// number reads a figure, which one platform writes as text.
func number(t *testing.T, raw []byte) int64 {
	t.Helper()
	var n json.Number
	require.NoError(t, json.Unmarshal(bytes.Trim(raw, `"`), &n))
	value, err := n.Int64()
	require.NoError(t, err)
	return value
}
