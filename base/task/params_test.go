package task_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
)

func TestMergeParams(t *testing.T) {
	t.Parallel()
	// The first rows are from appendix A of RFC 7396.
	for _, c := range []struct{ params, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{``, `{"cube":"sales"}`, `{"cube":"sales"}`},
		{`{"cube":"sales"}`, ``, `{"cube":"sales"}`},
		{`{"n":1}`, `{"n":9007199254740993}`, `{"n":9007199254740993}`},
		{`{"n":9007199254740993}`, `{"m":1.10}`, `{"m":1.10,"n":9007199254740993}`},
	} {
		got, err := task.MergeParams(json.RawMessage(c.params), json.RawMessage(c.patch))
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%s with %s", c.params, c.patch)
	}
	for _, bad := range []string{`{"a":`, `{} {}`, `cube`} {
		_, err := task.MergeParams(json.RawMessage(`{}`), json.RawMessage(bad))
		require.ErrorContains(t, err, "is not JSON")
		_, err = task.MergeParams(json.RawMessage(bad), json.RawMessage(`{}`))
		require.ErrorContains(t, err, "is not JSON")
	}
}

func TestOrder_OwnParams(t *testing.T) {
	t.Parallel()
	print := func(params string) string {
		return (&task.Order{Params: json.RawMessage(params)}).OwnParams()
	}
	require.Empty(t, (*task.Order)(nil).OwnParams())
	require.Empty(t, print(""))
	require.Len(t, print(`{"a":1}`), 32)
	require.Equal(t, print(`{"a":1,"b":2}`), print(`{ "b": 2, "a": 1 }`), "the same changes in another order")
	require.NotEqual(t, print(`{"a":1}`), print(`{"a":2}`))
}
