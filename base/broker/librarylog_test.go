package broker

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"

	"adsync/base/telemetry"
)

func TestLibraryLog_TakesTheFormatAsTheCause(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := libraryLog{telemetry.NewCauseLog(slog.New(slog.NewTextHandler(&out, nil)))}
	for offset := range 50 {
		l.Printf("failed at offset %d", offset)
		l.Printf("failed to join as %d", offset)
	}
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), "failed at offset 0")
	l.Printf("unknown error reading partition %d: %s", 1, os.ErrDeadlineExceeded)
	require.Equal(t, 2, strings.Count(out.String(), "\n"), "a timeout on an idle partition is not logged")
	l.Printf("Failed to sync group %s: %v", "g", kafka.RebalanceInProgress)
	require.Equal(t, 2, strings.Count(out.String(), "\n"), "nor is another member that joins")
}
