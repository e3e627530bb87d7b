package pull

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRemember_ParsesTheParamsOfATaskOnce(t *testing.T) {
	t.Parallel()
	parsed := map[string]int{}
	parse := remember(func(raw json.RawMessage) (string, error) {
		parsed[string(raw)]++
		if string(raw) == "bad" {
			return "", errors.New("refused")
		}
		return "of " + string(raw), nil
	})
	for range 2 {
		for _, raw := range []string{"a", "b"} {
			value, err := parse(json.RawMessage(raw))
			require.NoError(t, err)
			require.Equal(t, "of "+raw, value)
		}
		_, err := parse(json.RawMessage("bad"))
		require.EqualError(t, err, "refused")
	}
	require.Equal(t, map[string]int{"a": 1, "b": 1, "bad": 2}, parsed, "what was refused is asked again")
	for i := range rememberedMax {
		_, err := parse(json.RawMessage(fmt.Sprint(i)))
		require.NoError(t, err)
	}
	_, err := parse(json.RawMessage("a"))
	require.NoError(t, err)
	require.Equal(t, 2, parsed["a"], "the memory is bounded")
}
