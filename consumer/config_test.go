package consumer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
)

func TestConfig_Default(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	require.Less(t, DefaultConfig().DrainTimeout, broker.DefaultConfig().DrainTimeout,
		"what ends just in time is still written and committed within the broker's drain")
}

func TestConfig_RefusesAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	err := Config{Subscriptions: []string{"*:*", "acme"}, DrainTimeout: -1, OutcomeInterval: -1}.Validate()
	for _, want := range []string{
		`subscriptions[1]: "acme" is refused: want media:lane`, "pool_reload:", "drain_timeout:", "backoff_cap:",
		"outcome_batch:", "outcome_interval:",
	} {
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, Config{}.Validate(), "subscriptions: want at least one")
}

func TestConfig_Subscribed(t *testing.T) {
	t.Parallel()
	cfg := Config{Subscriptions: []string{"acme:important", "*:offline", "system:*"}}
	for _, tt := range []struct {
		media, lane string
		want        bool
	}{
		{"acme", "important", true},
		{"acme", "normal", false},
		{"globe", "important", false},
		{"globe", "offline", true},
		{"system", "normal", true},
	} {
		require.Equal(t, tt.want, cfg.subscribed(tt.media, tt.lane), "%s:%s", tt.media, tt.lane)
	}
}
