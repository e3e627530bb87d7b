package external_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/metric"
	"adsync/base/strictjson"
	"adsync/media/external"
	"adsync/media/wire"
)

var daily = external.Form{Level: "adgroup", Day: "2026-11-20", Columns: 2}

func TestRead_FiguresAreExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		`"12.34"`: 12_340_000, `"0.000001"`: 1, `"-3"`: -3_000_000, `"1e3"`: 1_000_000_000, `"0.10000000"`: 100_000,
		`"99999999999.999999"`: 99_999_999_999_999_999,
	} {
		row, err := daily.Read(json.RawMessage(`{"id":"7","cost":` + text + `}`))
		require.NoError(t, err)
		got, set := row.Metrics.Get(metric.Cost)
		require.True(t, set, text)
		require.Equal(t, want, got, text)
		require.Empty(t, row.Faults)
		require.Len(t, row.Raw, 2)
	}
	for _, text := range []string{`null`, `""`, `"-"`, `"--"`} {
		row, err := daily.Read(json.RawMessage(`{"id":"7","cost":` + text + `}`))
		require.NoError(t, err)
		_, set := row.Metrics.Get(metric.Cost)
		require.False(t, set, text)
		require.Empty(t, row.Faults, text)
	}
	for field, text := range map[string]string{"cost": `"1.0000001"`, "clicks": `1.5`, "pays": `"many"`,
		"pay_amount": `"1000000000000000"`} {
		row, err := daily.Read(json.RawMessage(fmt.Sprintf(`{"id":"7","impressions":9,%q:%s}`, field, text)))
		require.NoError(t, err)
		require.Len(t, row.Faults, 1, field)
		require.Equal(t, []any{field, wire.FigureFault, field, false},
			[]any{row.Faults[0].Field, row.Faults[0].Kind, row.Faults[0].Metric, row.Lost})
		_, set := row.Metrics.Get(metric.Index(field))
		require.False(t, set, "it costs only itself")
		n, _ := row.Metrics.Get(metric.Index("impressions"))
		require.Equal(t, int64(9), n)
	}
}

func TestRead_MicrosAndCountsComeBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want metric.Values
		fields := map[string]any{"id": "7"}
		for i, m := range metric.All {
			if !rapid.Bool().Draw(t, "set "+m.Name) {
				continue
			}
			v := rapid.Int64Range(0, 1e17).Draw(t, m.Name)
			want.Set(i, v)
			fields[m.Name] = v
			if m.Unit == metric.Micros {
				fields[m.Name] = fmt.Sprintf("%d.%06d", v/1_000_000, v%1_000_000)
			}
		}
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		row, err := daily.Read(text)
		require.NoError(t, err)
		require.Empty(t, row.Faults)
		require.Equal(t, want, row.Metrics)
		require.JSONEq(t, string(text), string(row.JSON))
	})
}

func TestRead_AnUnusableKeyLosesTheRow(t *testing.T) {
	t.Parallel()
	hourly := external.Form{Level: "creative", Hourly: true, Day: "2026-11-20"}
	for text, field := range map[string]string{
		`{"hour":1}`: "id", `{"id":"","hour":1}`: "id", `{"id":"a b","hour":1}`: "id", `{"id":{},"hour":1}`: "id",
		`{"id":"1"}`: "hour", `{"id":"1","hour":24}`: "hour", `{"id":"1","hour":-1}`: "hour", `{"id":"1","hour":"3"}`: "hour",
		`{"id":"1","hour":3.0}`: "hour",
	} {
		row, err := hourly.Read(json.RawMessage(text))
		require.NoError(t, err)
		require.True(t, row.Lost, text)
		require.Equal(t, field, row.Faults[0].Field, text)
		require.Equal(t, wire.KeyFault, row.Faults[0].Kind)
	}
	row, err := hourly.Read(json.RawMessage(`{"id":12345678901234567890,"hour":23,"name":"Ä"}`))
	require.NoError(t, err)
	require.Equal(t, []any{"12345678901234567890", 23, "Ä", false}, []any{row.Object, row.Hour, row.Name, row.Lost})
}

func TestRead_RefusesOtherShapesByName(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`{"id":"1","clics":1}`: "clics", `{"id":"1","cost":1.5}`: "cost", `{"id":"1","cost":1}`: "cost",
		`{"id":"1","hour":1}`:    "hour",
		`{"id":"1","clicks":[]}`: "clicks", `{"id":"1","name":5}`: "name", `{"id":"1","extra":"x"}`: "extra", `[]`: "",
	} {
		_, err := daily.Read(json.RawMessage(text))
		wrong, is := err.(*strictjson.Error) //nolint:errorlint // It is returned as it is.
		require.True(t, is, text)
		require.Equal(t, field, wrong.Field, text)
	}
}
