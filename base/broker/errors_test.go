package broker

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
)

func TestRefused_DistinguishesSettingsFromABrokerThatIsAway(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		fmt.Errorf("create topic: %w", kafka.InvalidReplicationFactor), kafka.TopicAuthorizationFailed,
		kafka.SASLAuthenticationFailed,
	} {
		require.True(t, Refused(err), "%v", err)
	}
	for _, err := range []error{
		kafka.LeaderNotAvailable, kafka.GroupCoordinatorNotAvailable, kafka.UnknownTopicOrPartition, kafka.BrokerNotAvailable,
		io.EOF, context.DeadlineExceeded,
	} {
		require.False(t, Refused(err), "%v", err)
	}
}
