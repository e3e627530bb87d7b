// Package trace reports to an OpenTelemetry receiver what single subtasks do: how a producer sends one, how a
// consumer works on it, what it calls and what it writes. It is off unless an address is configured, and then costs
// nothing: a nil Tracer begins no trace, and without a trace there are no spans.
//
// No secret is ever part of a span: names and our ids are, addresses and their parameters are not.
package trace

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"adsync/base/service"
	"adsync/base/task"
	"adsync/base/telemetry"
)

const (
	// pathDefault is the path on which receivers of OTLP over HTTP accept traces.
	pathDefault = "/v1/traces"
	// stopTimeout bounds how long the last spans may delay a stop: they are worth less than anything else in a stop.
	stopTimeout = time.Second
)

// Tracer begins the spans of a process. A nil Tracer begins none.
type Tracer struct {
	ratio    float64
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
	stopOnce sync.Once
}

var _ service.Service = (*Tracer)(nil)

// New returns the Tracer of a process with a role and a name; nil if nothing is traced. It contacts no server.
func New(ctx context.Context, cfg Config, role, node string, logger *slog.Logger) (*Tracer, error) {
	if cfg.Endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("trace.endpoint: %w", err)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = pathDefault
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, fmt.Errorf("set up traces: %w", err)
	}
	// The library has one error handler per process, and prints errors without one.
	causes := telemetry.NewCauseLog(logger)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		causes.Report(slog.LevelWarn, "traces", "some traces are lost", telemetry.OneCause(err))
	}))
	t := &Tracer{ratio: cfg.Ratio}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "adsync"), attribute.String("service.version", telemetry.ReadBuild().Version),
			attribute.String("service.instance.id", node), attribute.String("adsync.role", role),
		)),
	)
	t.tracer = t.provider.Tracer("adsync")
	return t, nil
}

// Start implements service.Service.
func (*Tracer) Start(context.Context) error { return nil }

// Stop sends the remaining spans.
func (t *Tracer) Stop() {
	if t == nil {
		return
	}
	t.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		_ = t.provider.Shutdown(ctx) // The error handler reports losses.
	})
}

// Send begins a trace with the span of a sent message, for the traced part of the messages.
func (t *Tracer) Send(ctx context.Context, handler string) Span {
	if t == nil || rand.Float64() >= t.ratio {
		return Span{}
	}
	_, span := t.tracer.Start(ctx, "send "+handler, oteltrace.WithNewRoot(),
		oteltrace.WithSpanKind(oteltrace.SpanKindProducer))
	return Span{span}
}

// Receive continues the trace of a message, given its traceparent. A message without one is not traced.
func (t *Tracer) Receive(ctx context.Context, traceparent, handler string) (context.Context, Span) {
	if t == nil || traceparent == "" {
		return ctx, Span{}
	}
	parent := propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparentName: traceparent})
	if !oteltrace.SpanContextFromContext(parent).IsSampled() { // Another program's, or broken.
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(parent, handler, oteltrace.WithSpanKind(oteltrace.SpanKindConsumer))
	return ctx, Span{span}
}

// traceparentName is the field of the W3C's trace context.
const traceparentName = "traceparent"

// Start begins a span within that of ctx, such as "write" "report_daily"; none if ctx is not traced.
func Start(ctx context.Context, verb, what string) (context.Context, Span) {
	return start(ctx, verb, what, oteltrace.SpanKindInternal)
}

// Call is Start for a request to another system, such as "GET" "daily_reports/get".
func Call(ctx context.Context, verb, what string) (context.Context, Span) {
	return start(ctx, verb, what, oteltrace.SpanKindClient)
}

func start(ctx context.Context, verb, what string, kind oteltrace.SpanKind) (context.Context, Span) {
	parent := oteltrace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer("adsync").Start(ctx, verb+" "+what, oteltrace.WithSpanKind(kind))
	return ctx, Span{span}
}

// ID returns the trace's id of a traceparent; "" if that is empty.
func ID(traceparent string) string {
	_, rest, _ := strings.Cut(traceparent, "-") // "00-<trace>-<span>-01"
	id, _, _ := strings.Cut(rest, "-")
	return id
}

// Span is an operation with a duration. The zero Span is not traced.
type Span struct{ span oteltrace.Span }

// On reports whether the span is traced. Costly attributes need not be computed otherwise.
func (s Span) On() bool { return s.span != nil }

// Text adds an attribute to the span. It must not contain a secret.
func (s Span) Text(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number adds an attribute to the span.
func (s Span) Number(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// Subtask adds the delivery and the subtask of the span.
func (s Span) Subtask(e task.Envelope) {
	if s.span != nil {
		s.span.SetAttributes(
			attribute.Int64("adsync.run_id", e.RunID), attribute.Int64("adsync.account_id", e.AccountID),
			attribute.String("adsync.part", e.Part),
			attribute.String("adsync.task", e.TaskName), attribute.String("adsync.media", e.Media),
			attribute.String("adsync.lane", e.Lane),
			attribute.Int("adsync.delivery", e.Delivery), attribute.Int("adsync.attempt", e.Attempt),
		)
	}
}

// Traceparent returns what a message carries so that its receiver continues the trace; "" if it is not traced.
func (s Span) Traceparent() string {
	if s.span == nil {
		return ""
	}
	c := s.span.SpanContext()
	// In the form of W3C Trace Context.
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// End ends the span, with an error if there was one. The error's text must be free of secrets.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}
