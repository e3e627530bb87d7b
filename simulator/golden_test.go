package simulator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The samples here are copied from the platforms' documents. They check each unit: fen as integers, yuan as numbers
// and as strings, ids of 19 digits as numbers and as strings, times as seconds and as China's wall time.

func TestGolden_ErrorEnvelopes(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	w := s.do(s.tencentRequest("00000000000000000000000000000000", "adgroups/get", query("account_id", "1")))
	require.Equal(t, 200, w.Code)
	v := decoded(t, w)
	require.Equal(t, w.Header().Get("X-TSA-Trace-Id"), v["trace_id"])
	require.Regexp(t, `^[0-9a-f]{32}$`, v["trace_id"])
	require.Equal(t, "BusinessException", v["code_type"])
	require.NotContains(t, v, "data")
	require.Equal(t, "application/json;charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, "Sun, 15 Nov 2026 04:34:56 GMT", w.Header().Get("Date"), "the world's time")

	w = s.do(s.oceanRequest("x", "v3.0/promotion/list/", query("advertiser_id", "1")))
	require.Equal(t, 200, w.Code)
	v = decoded(t, w)
	require.Contains(t, v, "request_id")
	require.NotContains(t, v, "data")
	require.Equal(t, 40104, code(t, w))
}
