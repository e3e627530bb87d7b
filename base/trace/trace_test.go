package trace

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTracer_ThatIsOffCostsNothing(t *testing.T) { //nolint:paralleltest // Other tests' allocations would count.
	tracer, err := New(t.Context(), DefaultConfig(), "consumer", "n1", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Nil(t, tracer)
	ctx, failed := t.Context(), errors.New("it failed")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		span := tracer.Send(ctx, "m.h")
		if span.On() || span.Traceparent() != "" {
			panic("it is on")
		}
		span.End(nil)
		ctx, span := tracer.Receive(ctx, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "work")
		ctx, call := Call(ctx, "GET", "reports")
		_, write := Start(ctx, "write", "table")
		write.Number("rows", 1)
		write.End(failed)
		call.Text("media", "tulip")
		call.End(failed)
		span.End(failed)
	}))
	require.NoError(t, tracer.Start(ctx))
	tracer.Stop()
}

func TestTracer_TracesTheConfiguredPart(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	open := func(ratio float64) *Tracer {
		tracer, err := New(t.Context(), Config{Endpoint: server.URL, Ratio: ratio}, "producer", "n1",
			slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		return tracer
	}
	none := open(0)
	for range 100 {
		require.False(t, none.Send(t.Context(), "m.h").On())
	}
	all := open(1)
	sent := all.Send(t.Context(), "m.h")
	require.True(t, sent.On())
	require.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`, sent.Traceparent())

	// A consumer continues whatever its producer traces, whatever its own ratio, and nothing else.
	ctx, work := none.Receive(t.Context(), sent.Traceparent(), "work")
	require.True(t, work.On())
	_, call := Call(ctx, "GET", "reports")
	require.True(t, call.On())
	for _, other := range []string{"", "garbage", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"} {
		ctx, span := all.Receive(t.Context(), other, "work")
		require.False(t, span.On(), other)
		_, span = Start(ctx, "write", "table")
		require.False(t, span.On(), other)
	}
	call.End(nil)
	work.End(nil)
	sent.End(nil)
	all.Stop()
	none.Stop()
	all.Stop()
	require.EqualValues(t, 2, requests.Load(), "a stop sends the rest")
}

func TestTracer_AnUnreachableReceiverDelaysNothing(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	tracer, err := New(context.Background(), Config{Endpoint: server.URL, Ratio: 1}, "producer", "n1",
		slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for range 10_000 { // More than are kept.
		tracer.Send(t.Context(), "m.h").End(nil)
	}
	tracer.Stop()
}

func TestConfig_RefusesInvalidSettings(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	require.NoError(t, Config{Endpoint: "https://otel.example.com/v1/traces", Ratio: 1}.Validate())
	for _, endpoint := range []string{"otel:4318", "grpc://otel:4317", "http://", "http://user:hunter2@otel:4318",
		"http://otel:4318?key=hunter2"} {
		err := Config{Endpoint: endpoint}.Validate()
		require.ErrorContains(t, err, "endpoint: want an address such as http://otel-collector:4318", endpoint)
		require.NotContains(t, err.Error(), "hunter2")
	}
	for _, ratio := range []float64{-0.1, 1.1, math.NaN()} {
		require.ErrorContains(t, Config{Ratio: ratio}.Validate(), "ratio")
	}
}
