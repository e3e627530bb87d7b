package task_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/task"
)

func TestSerialKey_OfAccountPartAndParams(t *testing.T) {
	t.Parallel()
	k := task.Key{RunID: 1, AccountID: 7, Part: "2026-11-20"}
	external := `{"namespace":"dw","queue":"builds","ttr":60,"params":{"cube":"sales","queue":"inner","hot":true}}`
	long := strings.Repeat("ü", 100)
	for _, tt := range []struct{ template, params, want string }{
		{"", external, ""},
		{"{cube}", external, "sales"},
		{"warehouse-{cube}", external, "warehouse-sales"},
		{"{queue}", external, "builds"}, // the top level comes first
		{"{ttr}/{hot}", external, "60/true"},
		{"{account}:{part}:{cube}", external, "7:2026-11-20:sales"},
		{"{{{cube}}", external, "{sales}"},
		{"all", "", "all"},
		{"{cube}", `{"cube":"{account} {"}`, "{account} {"}, // a value is no template
		{"{cube}", `{"cube":""}`, "(empty)"},
		{"{n}", `{"n":1.50}`, "1.50"},
		{"{account}", `{"account":"mine"}`, "7"}, // those two are always adsync's own
	} {
		require.NoError(t, task.CheckSerialKey(tt.template, json.RawMessage(tt.params)), tt.template)
		filled := task.FillSerialKey(tt.template, json.RawMessage(tt.params))
		require.Equal(t, tt.want, task.Envelope{Key: k, SerialKey: filled}.SerialName(), tt.template)
	}
	cut := task.SerialKeyOf(long, k)
	require.LessOrEqual(t, len(cut), 128)
	require.True(t, strings.HasPrefix(cut, strings.Repeat("ü", 40)))
	require.NotEqual(t, cut, task.SerialKeyOf(long+"x", k), "keys that differ only at their ends stay apart")
}

func TestCheckSerialKey_NamesTheFieldThatItRefuses(t *testing.T) {
	t.Parallel()
	params := `{"cube":null,"list":[1],"params":{"deep":{"a":1}}}`
	for template, want := range map[string]string{
		"{cub}":                  `{cub}: the params have no field "cub", nor does their object params`,
		"{cube}":                 `{cube}: the field "cube" of the params is no text, number or boolean`,
		"{list}":                 `{list}: the field "list" of the params is no text, number or boolean`,
		"{deep}":                 `{deep}: the field "deep" of the params is no text, number or boolean`,
		"{params}":               `{params}: the field "params" of the params is no text, number or boolean`,
		"a{cube":                 "{cube: the field has no end: want {name}, or {{ for a brace",
		"{}":                     "{}: the field has no name: want {name}, or {{ for a brace",
		strings.Repeat("x", 201): "has 201 characters: want up to 200",
	} {
		require.EqualError(t, task.CheckSerialKey(template, json.RawMessage(params)), want)
	}
	require.ErrorContains(t, task.CheckSerialKey("{cube}", nil), `no field "cube"`)
	require.Equal(t, "a(b)", task.SerialKeyOf(task.FillSerialKey("a{cub}(b)", json.RawMessage(params)), task.Key{}),
		"a run whose params lost a field keeps the rest of its key")
}

// Whatever the values of the params hold, they are in the key as they are.
func TestFillSerialKey_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOfN(rapid.RuneFrom([]rune("{}ab7ü\"\\")), 1, 20, -1).Draw(t, "value")
		params, err := json.Marshal(map[string]string{"v": value})
		require.NoError(t, err)
		got := task.SerialKeyOf(task.FillSerialKey("<{v}>{account}", params), task.Key{AccountID: 5})
		require.Equal(t, "<"+value+">5", got)
	})
}

func TestIsOutside(t *testing.T) {
	t.Parallel()
	require.True(t, task.IsOutside("job:dw/17"))
	for _, ref := range []string{"", task.PauseRef(1), task.ParkedRef(1), "jobs"} {
		require.False(t, task.IsOutside(ref), ref)
	}
}
