package ratelimit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConfig_Validate(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	err := Config{ArrivalSpread: time.Millisecond, Members: 0, RedisTimeout: time.Hour}.Validate()
	require.EqualError(t, err, `arrival_spread: "1ms" is refused: want 50ms to 10s
members: "0" is refused: want 1 to 1000
redis_timeout: "1h0m0s" is refused: want 10ms to 10s`)
}
