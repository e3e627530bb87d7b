package openapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/client"
)

const description = `
paths:
  /runs/{id}:
    post:
      operationId: cancel
      x-role: operator
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {$ref: "#/components/parameters/Limit"}
        - {name: state, in: query, schema: {type: array, minItems: 1, items: {$ref: "#/components/schemas/State"}}}
        - {name: part, in: query, required: true, schema: {type: string, minLength: 1, x-want: the part of a subtask}}
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Request"}}}}
      responses: {default: {description: whatever}}
    get:
      operationId: show
      x-role: viewer
components:
  parameters:
    Limit: {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 500, default: 50}}
  schemas:
    ID: {type: string, pattern: "^[0-9]{1,3}$"}
    State: {type: string, enum: [good, bad]}
    Count: {type: integer, minimum: 0}
    Request:
      type: object
      required: [state, reason]
      additionalProperties: false
      properties:
        state: {$ref: "#/components/schemas/State"}
        reason: {type: string, minLength: 1, maxLength: 5, description: Why.}
        run: {allOf: [{$ref: "#/components/schemas/ID"}], x-want: the id of a run}
        id: {$ref: "#/components/schemas/ID"}
        day: {type: string, format: date}
        at: {type: string, format: date-time}
        scope: {type: string, enum: [all]}
        note: {type: string}
        n: {allOf: [{$ref: "#/components/schemas/Count"}]}
        rate: {type: integer, minimum: 1, maximum: 9}
        backlog: {type: integer, maximum: 9007199254740992}
        accounts: {type: array, minItems: 1, maxItems: 2, items: {type: string, maxLength: 3}}
        params: {type: [object, "null"], x-anything: true}
`

func operations(t *testing.T) (show, cancel Operation) {
	t.Helper()
	all, err := Operations([]byte(description))
	require.NoError(t, err)
	require.Len(t, all, 2)
	return all[0], all[1]
}

func TestOperations_AreAsTheyAreDescribed(t *testing.T) {
	t.Parallel()
	show, cancel := operations(t)
	require.Equal(t, Operation{ID: "show", Method: "GET", Path: "/runs/{id}", Role: "viewer"}, show)
	require.Equal(t, []string{"cancel", "POST", "/runs/{id}", "operator"},
		[]string{cancel.ID, cancel.Method, cancel.Path, cancel.Role})
	var names []string
	for _, p := range cancel.Query {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"limit", "state", "part"}, names)
	require.Equal(t, "50", cancel.Query[0].Schema.Fallback())
}

func TestOperations_RefuseWhatIsNotChecked(t *testing.T) {
	t.Parallel()
	for was, is := range map[string]string{
		"maxLength: 5":                        "multipleOf: 5",
		`id: {$ref: "#/components/schemas/ID`: `id: {$ref: "#/components/schemas/None`,
		`pattern: "^[0-9]{1,3}$"`:             `pattern: "["`,
		"paths:":                              "paths: [",
		"note: {type: string}":                "note: {}",
	} {
		_, err := Operations([]byte(strings.ReplaceAll(description, was, is)))
		require.Error(t, err, is)
	}
}

func TestFaults_NameTheFieldAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	_, cancel := operations(t)
	const good = `"state": "good", "reason": "r"`
	for body, want := range map[string][]client.FieldError{
		`{` + good + `}`: nil,
		`{` + good + `, "run": "12", "id": "7", "day": "2026-11-21", "at": "2026-11-21T10:30:00+08:00", "scope": "all",
		  "note": " ", "n": 0, "rate": 9, "accounts": ["a", ""], "params": null}`: nil,
		`{` + good + `, "params": {"x": 1}}`:          nil,
		`{` + good + `, "backlog": 9007199254740992}`: nil,
		// As floating-point numbers these two are equal.
		`{` + good + `, "backlog": 9007199254740993}`: {
			{Field: "backlog", Detail: "9007199254740993 is refused: want a whole number up to 9007199254740992"},
		},
		`{}`: {
			{Field: "state", Detail: "is missing: want one of good, bad"},
			{Field: "reason", Detail: "is missing: want a value"},
		},
		`{"state": "", "reason": " \t"}`: {
			{Field: "state", Detail: "is missing: want one of good, bad"},
			{Field: "reason", Detail: "is missing: want a value"},
		},
		`{"state": "other", "reason": "漢字漢字漢字"}`: {
			{Field: "state", Detail: `"other" is refused: want one of good, bad`},
			{Field: "reason", Detail: "has 6 characters: want up to 5"},
		},
		`{` + good + `, "run": "x", "id": "1234", "day": "today", "at": "2026-11-21", "scope": "some", "n": -1, "rate": 10,
		  "accounts": ["a", "abcd"]}`: {
			{Field: "run", Detail: `"x" is refused: want the id of a run`},
			{Field: "id", Detail: `"1234" is refused: want text of the form ^[0-9]{1,3}$`},
			{Field: "day", Detail: `"today" is refused: want a day such as 2026-11-21`},
			{Field: "at", Detail: `"2026-11-21" is refused: want a time such as 2026-11-21T10:30:00Z`},
			{Field: "scope", Detail: `"some" is refused: want all`},
			{Field: "n", Detail: "-1 is refused: want 0 or more"},
			{Field: "rate", Detail: "10 is refused: want 1 to 9"},
			{Field: "accounts", Detail: "item 2 has 4 characters: want up to 3"},
		},
		`{` + good + `, "run": "", "day": " ", "at": "", "scope": "", "rate": 0.5, "accounts": []}`: {
			{Field: "run", Detail: "is empty: want a value, or leave it out"},
			{Field: "day", Detail: "is empty: want a value, or leave it out"},
			{Field: "at", Detail: "is empty: want a value, or leave it out"},
			{Field: "scope", Detail: "is empty: want a value, or leave it out"},
			{Field: "rate", Detail: "0.5 is refused: want 1 to 9"},
			{Field: "accounts", Detail: "is empty: want a value, or leave it out"},
		},
		`{` + good + `, "at": 7, "note": [null], "n": {}, "accounts": ["a", "b", "c"]}`: {
			{Field: "at", Detail: "is of a wrong type: want a string"},
			{Field: "note", Detail: "is of a wrong type: want a string"},
			{Field: "n", Detail: "is of a wrong type: want a number"},
			{Field: "accounts", Detail: "3 are too many: want up to 2"},
		},
	} {
		var object map[string]any
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&object), body)
		require.Equal(t, want, cancel.Body.Faults(object), body)
	}
}

func TestFault_OfAParameter(t *testing.T) {
	t.Parallel()
	_, cancel := operations(t)
	limit, state, part := &cancel.Query[0], &cancel.Query[1], &cancel.Query[2]
	require.Empty(t, limit.Fault("", false))
	require.Empty(t, limit.Fault("500", true))
	require.Equal(t, `"501" is refused: want 1 to 500`, limit.Fault("501", true))
	require.Equal(t, `"+" is refused: want 1 to 500`, limit.Fault("+", true))
	require.Equal(t, "is empty: want a value, or leave it out", limit.Fault("", true))
	require.Empty(t, state.Fault("good,bad", true))
	require.Equal(t, `"ill" is refused: want one of good, bad, or several with commas between them`,
		state.Fault("good,ill", true))
	require.Equal(t, "is empty: want a value, or leave it out", state.Fault(" ", true))
	require.Equal(t, "is missing: want the part of a subtask", part.Fault("", false))
	require.Equal(t, "is missing: want the part of a subtask", part.Fault("", true))
}

func TestParseTime_RefusesWhatNoDatabaseHolds(t *testing.T) {
	t.Parallel()
	at, err := ParseTime("2026-11-21T18:30:00.1239+08:00")
	require.NoError(t, err)
	require.Equal(t, "2026-11-21T10:30:00.123Z", at.Format("2006-01-02T15:04:05.999Z07:00"))
	for _, text := range []string{"", "soon", "2026-11-21", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z"} {
		_, err := ParseTime(text)
		require.Error(t, err, text)
	}
}
