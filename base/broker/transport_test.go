package broker

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
)

// A replaced pool closes when its last request ends, and no request opens it again.
func TestTransport_ClosesWhatItReplaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done() // A broker that does not answer.
			return nil, ctx.Err()
		}
		tr := newTransport(func(topics []string) *kafka.Transport {
			return &kafka.Transport{Dial: dial, MetadataTopics: topics}
		})
		client := kafka.Client{Addr: kafka.TCP("127.0.0.1:1"), Transport: tr}
		var calls sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 5 {
			calls.Go(func() { _, _ = client.ApiVersions(ctx, &kafka.ApiVersionsRequest{}) })
			synctest.Wait()
			old := tr.pool
			tr.watch([]string{"a", "b"})
			tr.forget()
			require.NotSame(t, old, tr.pool)
		}
		same := tr.pool
		tr.watch([]string{"b"})
		tr.refresh()
		require.Same(t, same, tr.pool, "nothing new, and too young to be refreshed")
		time.Sleep(2 * poolAgeMin)
		tr.refresh()
		require.NotSame(t, same, tr.pool)
		calls.Wait()
		// Requests and replacements are concurrent.
		now, cancelNow := context.WithCancel(t.Context())
		cancelNow()
		for range 300 {
			calls.Go(func() { _, _ = client.ApiVersions(now, &kafka.ApiVersionsRequest{}) })
			calls.Go(tr.forget)
		}
		calls.Wait()
		tr.close()
		_, err := client.ApiVersions(t.Context(), &kafka.ApiVersionsRequest{})
		require.ErrorIs(t, err, errClosed)
		// The bubble ends only when all goroutines of all pools have ended.
	})
}
