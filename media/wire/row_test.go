package wire_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/media/wire"
)

func kinds(faults []wire.Fault) map[string]wire.FaultKind {
	all := map[string]wire.FaultKind{}
	for _, f := range faults {
		all[f.Field] = f.Kind
	}
	return all
}

func TestRow_LeavesUnusableValuesUnsetAndNamesThem(t *testing.T) {
	t.Parallel()
	r := wire.Open(
		[]byte(`{"id":7,"name":5,"bid":"many","big":1e19,"budget":"x","created":1795000000000,"old":-5,"deleted":"yes",
		"far":1795000000000000,
		"at":"0000-00-00 00:00:00","year":"0001-01-01 00:00:00","setting":{"budget":[]},"flat":"no object","list":{},` +
			`"other":1.5,"nul":"a\u0000b"}`))
	parse := func(text string) (time.Time, error) { return time.ParseInLocation(time.DateTime, text, time.UTC) }
	require.Equal(t, "7", r.Key("id"))
	require.Empty(t, r.Text("name"))
	require.Nil(t, r.Int("bid").Column())
	require.Nil(t, r.Int("big").Column())
	require.Nil(t, r.Scaled("budget", 2))
	for _, field := range []string{"created", "old"} {
		require.True(t, r.Unix(field).IsZero(), field)
	}
	require.True(t, r.UnixMilli("far").IsZero())
	require.Equal(t, time.Date(2026, 11, 18, 11, 6, 40, 0, time.UTC), r.UnixMilli("created"))
	require.False(t, r.Bool("deleted"))
	for _, field := range []string{"at", "year"} {
		require.True(t, r.Time(field, parse).IsZero(), field)
	}
	require.Nil(t, r.In("setting").Scaled("budget", 2))
	require.Empty(t, r.In("flat").Text("x"))
	require.Nil(t, r.List("list"))
	require.Empty(t, r.ID("other"))
	require.Equal(t, "a\uFFFDb", r.Text("nul"), "text is repaired, not lost")
	require.False(t, r.Lost())
	want := map[string]wire.FaultKind{}
	for _, field := range []string{"name", "bid", "big", "budget", "created", "old", "far", "deleted", "at", "year",
		"setting.budget", "flat", "list", "other", "nul"} {
		want[field] = wire.AttributeFault
	}
	delete(want, "year") // Year 1 is Go's zero time.
	require.Equal(t, want, kinds(r.Faults()))
}

func TestRow_WordsForNoValueAreNoFaults(t *testing.T) {
	t.Parallel()
	for _, word := range []string{`null`, `""`, `"-"`, `"--"`} {
		r := wire.Open([]byte(`{"n":` + word + `}`))
		require.Nil(t, r.Int("n").Column(), word)
		require.Nil(t, r.Scaled("n", 2), word)
		require.Empty(t, r.ID("n"), word)
		require.True(t, r.Unix("n").IsZero(), word)
		require.True(t, r.UnixMilli("n").IsZero(), word)
		require.Nil(t, r.Truth("n"), word)
		require.Empty(t, r.Text("n"), word)
		require.Empty(t, r.Exact("n"), word)
		require.Empty(t, wire.String(r.Fields()["n"]), word)
		require.Nil(t, r.List("n"), word)
		require.Empty(t, r.In("n").Fields(), word)
		require.True(t, r.Time("n", func(string) (time.Time, error) { panic("nothing to read") }).IsZero(), word)
		raw, values, bad := wire.Figures{{Field: "n", Metric: "clicks"}}.Read(r.Fields())
		require.Equal(t, []any{nil}, raw, word)
		require.Zero(t, values, word)
		require.Empty(t, bad, word)
		require.Empty(t, r.Faults(), word)
	}
}

func TestText_IsNullWithoutAValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "-", "--"} {
		require.Nil(t, wire.Text(text), text)
	}
	require.Equal(t, "---", wire.Text("---"))
}

func TestRow_TruthMayBeANumberOrText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`true`: true, `"true"`: true, `"TRUE"`: true, `1`: true, `"1"`: true,
		`false`: false, `"False"`: false, `0`: false, `"0"`: false} {
		r := wire.Open([]byte(`{"b":` + text + `}`))
		require.Equal(t, &want, r.Truth("b"), text)
		require.Equal(t, want, r.Bool("b"), text)
		require.Empty(t, r.Faults(), text)
	}
	for _, text := range []string{`2`, `"yes"`, `1.5`, `{}`, `[]`} {
		r := wire.Open([]byte(`{"b":` + text + `}`))
		require.Nil(t, r.Truth("b"), text)
		require.Len(t, r.Faults(), 1, text)
	}
}

func TestRow_AnUnusableKeyLosesTheRow(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(r *wire.Row){
		"an id that is not set":       func(r *wire.Row) { r.Key("none") },
		"an invalid id":               func(r *wire.Row) { r.Key("bad") },
		"an object as id":             func(r *wire.Row) { r.TextKey("object") },
		"an hour beyond the day":      func(r *wire.Row) { r.KeyInt("hour", 0, 23) },
		"an hour that is not set":     func(r *wire.Row) { r.KeyInt("none", 0, 23) },
		"a day that does not exist":   func(r *wire.Row) { r.KeyDay("day") },
		"a day of another type":       func(r *wire.Row) { r.KeyDay("object") },
		"milliseconds as seconds":     func(r *wire.Row) { r.KeyUnix("ms") },
		"a text of another JSON type": func(r *wire.Row) { r.KeyText("object") },
	} {
		r := wire.Open([]byte(`{"bad":1.5,"object":{},"hour":24,"day":"2026-02-30","ms":1795000000000}`))
		read(r)
		require.True(t, r.Lost(), name)
		require.Len(t, r.Faults(), 1, name)
		require.Equal(t, wire.KeyFault, r.Faults()[0].Kind, name)
	}
	for _, raw := range []string{`null`, `5`, `[]`, `"x"`} {
		r := wire.Open([]byte(raw))
		require.Empty(t, r.Key("id"))
		require.True(t, r.Lost(), raw)
	}
	r := wire.Open([]byte(`{"id":1,"hour":0,"day":"2026-02-28","s":1795000000}`))
	require.Equal(t, "1", r.Key("id"))
	require.Zero(t, r.KeyInt("hour", 0, 23))
	require.Equal(t, day.Day("2026-02-28"), r.KeyDay("day"))
	require.EqualValues(t, 1_795_000_000, r.KeyUnix("s").Unix())
	require.False(t, r.Lost())
}

func TestRow_RepairsTextThatIsCutInsideACharacter(t *testing.T) {
	t.Parallel()
	r := wire.Open([]byte("{\"id\":1,\"name\":\"广\xe5\xb9\",\"more\":{\"x\":\"\xff\"}}"))
	require.Equal(t, "广\uFFFD", r.Text("name"))
	require.Equal(t, "1", r.Key("id"))
	require.True(t, utf8.Valid(r.JSON()))
	require.Equal(t, map[string]wire.FaultKind{"name": wire.AttributeFault, "more": wire.AttributeFault},
		kinds(r.Faults()))
	require.False(t, r.Lost())
}

// Every decoder replaces half of an escaped character: the fault is recorded, and databases accept the repaired JSON.
func TestRow_RepairsEscapesOfHalfACharacter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`a\ud83d`: "a\uFFFD", `\uD83Db`: "\uFFFDb", `\ude00`: "\uFFFD", `\ude00\ud83d`: "\uFFFD\uFFFD",
		`\ud83d\ud83d\ude00`: "\uFFFD😀", `\ud83d\\ude00`: "\uFFFD\\ude00", `\ud83d\n`: "\uFFFD\n",
	} {
		r := wire.Open([]byte(`{"id":1,"name":"` + text + `","in":{"name":"` + text + `"},"good":"\ud83d\ude00"}`))
		require.Equal(t, want, r.Text("name"), text)
		require.Equal(t, want, r.In("in").Text("name"), text)
		require.Empty(t, r.Exact("name"), text)
		require.Equal(t, "😀", r.Text("good"))
		require.Equal(t, "1", r.Key("id"))
		require.Equal(t, map[string]wire.FaultKind{"name": wire.AttributeFault, "in": wire.AttributeFault}, kinds(r.Faults()),
			text)
		again := wire.Open(r.JSON())
		require.Empty(t, again.Faults(), "%s: row_json is whole", text)
		require.Equal(t, want, again.Text("name"), text)
	}
	for _, text := range []string{`😀`, `\ud83d\ude00`, `\\ud83d`, `\u00e9\"`, `\uffff`} {
		raw := `{"name":"` + text + `"}`
		r := wire.Open([]byte(raw))
		require.NotEmpty(t, r.Text("name"), text)
		require.Empty(t, r.Faults(), text)
		require.Equal(t, raw, string(r.JSON()), text)
	}
}

// A repaired or cut signature matches no file.
func TestRow_AnExactTextIsUnsetIfItWouldBeChanged(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`"9f86"`: "9f86", `"签"`: "签"} {
		r := wire.Open([]byte(`{"s":` + text + `}`))
		require.Equal(t, want, r.Exact("s"), text)
		require.Empty(t, r.Faults(), text)
	}
	for _, text := range []string{"\"9f\xe5\"", `"9f\u0000"`, `"9f\ufffd"`, `"` + strings.Repeat("9", 256) + `"`, `7`,
		`{}`, `true`} {
		r := wire.Open([]byte(`{"s":` + text + `}`))
		require.Empty(t, r.Exact("s"), text)
		require.Equal(t, map[string]wire.FaultKind{"s": wire.AttributeFault}, kinds(r.Faults()), text)
		require.Len(t, r.Faults(), 1, text)
	}
}

func TestRow_SecondsAreADurationInAnyCase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		`7200`: 2 * time.Hour, `"7200"`: 2 * time.Hour, `-1`: 0, `null`: 0, `"soon"`: 0,
		`9223372036854775807`: 10 * 365 * 24 * time.Hour,
	} {
		require.Equal(t, want, wire.Open([]byte(`{"s":`+text+`}`)).Seconds("s"), text)
	}
}

func TestFigures_AnUnusableFigureIsUnsetAndNamed(t *testing.T) {
	t.Parallel()
	figures := wire.Figures{{Field: "cost", Metric: "cost", Unit: wire.Yuan}, {Field: "clicks", Metric: "clicks"}}
	for _, bad := range []string{`"many"`, `1e30`, `{}`, `true`, `"1,000"`, `9223372036854775807`, `20000000000`,
		`-20000000000`, `1e400`} {
		raw, values, faults := figures.Read(wire.Open([]byte(`{"cost":` + bad + `,"clicks":7}`)).Fields())
		require.Equal(t, []any{nil, int64(7)}, raw, bad)
		_, set := values.Get(0)
		require.False(t, set, bad)
		require.Len(t, faults, 1, bad)
		require.Equal(t, "cost", faults[0].Field)
		require.Equal(t, wire.FigureFault, faults[0].Kind)
		require.Equal(t, "cost", faults[0].Metric)
	}
}

func FuzzRow(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":"x","c":{"d":[]}}`))
	f.Add([]byte("{\"a\":\"\xe5\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := wire.Open(raw)
		for field := range r.Fields() {
			text := r.Text(field)
			require.True(t, utf8.ValidString(text) && !strings.ContainsRune(text, 0))
			require.True(t, utf8.ValidString(string(r.ID(field))))
			for _, at := range []time.Time{r.Unix(field), r.UnixMilli(field)} {
				require.True(t, at.IsZero() || at.Year() >= 1970 && at.Year() <= 9999)
			}
			_, _, _ = r.Bool(field), r.List(field), r.In(field).Scaled("d", 2)
			_, _ = r.Seconds(field), r.KeyDay(field)
			for _, unit := range []wire.Unit{wire.Fen, wire.Li, wire.MilliFen, wire.Yuan, wire.Major} {
				_ = r.Money(field, unit)
				kept, _, bad := wire.Figures{{Field: field, Metric: "cost", Unit: unit}}.Read(r.Fields())
				require.True(t, kept[0] == nil || len(bad) == 0, "a fault leaves the column unset")
			}
		}
		if !r.Lost() {
			require.True(t, utf8.Valid(r.JSON()))
		}
	})
}
