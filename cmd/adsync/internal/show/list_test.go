package show

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type kind string

type row struct {
	Name  string    `json:"name"`
	Kind  kind      `json:"kind"`
	Calls *int64    `json:"calls"`
	At    time.Time `json:"at"`
}

func TestList_PrintsARowForEachValue(t *testing.T) {
	t.Parallel()
	rows := List[row]{Rows: "rows", none: "There are none.", more: "There are more.", columns: columns[row]{
		{"NAME", func(r *row) any { return r.Name }},
		{"KIND", func(r *row) any { return r.Kind }},
		{"CALLS", func(r *row) any { return r.Calls }},
		{"AT", func(r *row) any { return r.At }},
	}}
	for answer, want := range map[string]string{
		`{"rows": [{"name": "a\tb", "kind": "good", "calls": 7, "at": "2026-11-21T18:30:00.5+08:00"}, {}],
  "next": "x"}`: `NAME  KIND  CALLS    AT
a b   good  7        2026-11-21T10:30:00Z
-     -     unknown  -
There are more.
`,
		`{"rows": [{"name": "a", "kind": "good", "calls": 0}], "next": ""}`: `NAME  KIND  CALLS  AT
a     good  0      -
`,
		`{"rows": [{"name": "a", "calls": 0}]}`: `NAME  KIND  CALLS  AT
a     -     0      -
`,
		`{"rows": [], "next": ""}`: "There are none.\n",
		`{}`:                       "There are none.\n",
	} {
		var values map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(answer), &values))
		var out strings.Builder
		require.NoError(t, rows.Print(&out, &values))
		require.Equal(t, want, out.String(), answer)
	}
	err := rows.Print(&strings.Builder{}, &map[string]json.RawMessage{"rows": []byte(`{}`)})
	require.ErrorContains(t, err, `read "rows" of the answer: `)
}

func TestColumns_AreBlankWhereARowContinues(t *testing.T) {
	t.Parallel()
	of := append(columns[row]{{"NAME", func(r *row) any { return r.Name }}}.blankIf(
		func(r *row) bool { return r.Kind == "again" }),
		column[row]{"KIND", func(r *row) any { return r.Kind }})
	var out strings.Builder
	require.NoError(t, of.print(&out, []row{{Name: "a", Kind: "first"}, {Name: "a", Kind: "again"}}))
	require.Equal(t, "NAME  KIND\na     first\n      again\n", out.String())
}
