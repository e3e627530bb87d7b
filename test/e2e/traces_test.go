package e2e

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"adsync/client/outcomes"
	"adsync/simulator"
)

// receiver receives traces as a collector does.
type receiver struct {
	address string

	mu    sync.Mutex
	spans []span
	raw   bytes.Buffer
}

type span struct {
	*tracepb.Span
	process map[string]string // attributes of the process
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw.Write(body)
		for _, process := range request.ResourceSpans {
			attributes := texts(process.Resource.Attributes)
			for _, scope := range process.ScopeSpans {
				for _, s := range scope.Spans {
					r.spans = append(r.spans, span{s, attributes})
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	r.address = server.URL
	return r
}

func texts(list []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range list {
		m[a.Key] = a.Value.GetStringValue()
	}
	return m
}

// under returns the direct children of a span.
func (r *receiver) under(parent span) []span {
	var all []span
	for _, s := range r.spans {
		if bytes.Equal(s.ParentSpanId, parent.SpanId) && bytes.Equal(s.TraceId, parent.TraceId) {
			all = append(all, s)
		}
	}
	return all
}

func (r *receiver) names(list []span) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// A subtask is followed from the producer through Kafka to the consumer's calls and its write, and its end to the
// task's application.
func TestDeployment_ASubtaskIsTracedFromTheSendToTheWrite(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := newWorld(t, 10, 171)
	d := deploy(t, w, func(_ services, settings map[string]any) {
		settings["trace"] = map[string]any{"endpoint": r.address, "ratio": 1}
	})
	var account string
	bound := "SELECT external_id FROM media_account WHERE media = ? AND bound = 1 AND parked = '' ORDER BY id LIMIT 1"
	require.NoError(t, d.store.Config.Writer(t.Context()).Raw(bound, onePlatform).Row().Scan(&account))
	d.setApplication(t, onePlatform+".report_daily.account", "shop")
	runs := d.await(t,
		[]int64{d.order(t, onePlatform+".report_daily.account", map[string]any{"accounts": []string{account}})})
	d.requireSucceeded(t, runs)
	ends := d.follow(t, "shop", int(runs[0].Succeeded))
	d.stop(t) // The process sends its remaining spans when it stops.

	r.mu.Lock()
	defer r.mu.Unlock()
	producer, consumer := d.roles[0], d.roles[len(d.roles)-1]
	var followed int
	var traces []string
	for _, sent := range r.spans {
		if sent.Name != "send "+onePlatform+".report_daily" {
			continue
		}
		require.Empty(t, sent.ParentSpanId, "each subtask has a trace of its own")
		require.Equal(t, tracepb.Span_SPAN_KIND_PRODUCER, sent.Kind)
		require.Equal(t, "adsync", sent.process["service.name"])
		require.Equal(t, producer, sent.process["adsync.role"])
		require.Equal(t, onePlatform+".report_daily.account", texts(sent.Attributes)["adsync.task"])
		worked := r.under(sent)
		require.Equal(t, []string{onePlatform + ".report_daily"}, r.names(worked))
		require.Equal(t, consumer, worked[0].process["adsync.role"])
		require.Equal(t, tracepb.Span_SPAN_KIND_CONSUMER, worked[0].Kind)
		within := r.names(r.under(worked[0]))
		require.Contains(t, within, "wait for limits")
		require.Condition(t, func() bool {
			return slices.ContainsFunc(within, func(name string) bool {
				return strings.HasPrefix(name, "GET "+
					simulator.Nights()[0].DailyReports)
			})
		}, "the call is among %v", within)
		require.Contains(t, within, "write "+onePlatform+"_report_daily")
		followed++
		traces = append(traces, hex.EncodeToString(sent.TraceId))
	}
	require.Positive(t, followed, r.names(r.spans))
	require.Len(t, ends, followed)
	for i, o := range ends {
		require.Equal(t, int64(i+1), o.Seq)
		require.Equal(t, account, o.Account)
		require.Equal(t, outcomes.Succeeded, o.State)
		require.Contains(t, traces, o.TraceID)
	}

	for _, s := range r.spans {
		for key, value := range texts(s.Attributes) {
			require.NotContains(t, value, "://", "%s of %s has no address", key, s.Name)
		}
	}
	seen := r.raw.String()
	for _, secret := range w.secrets(t) {
		require.NotContains(t, seen, secret)
	}
}

// secrets returns the secrets that the platforms gave to the deployment.
func (w *world) secrets(t *testing.T) []string {
	t.Helper()
	status, body := call(t, http.MethodGet, w.address+"/_sim/credentials", nil)
	require.Equal(t, http.StatusOK, status)
	var all []string
	for _, found := range regexp.MustCompile(`"(?:secret|access_token|refresh_token)": ?"([^"]+)"`).FindAllSubmatch(body,
		-1) {
		all = append(all, string(found[1]))
	}
	require.NotEmpty(t, all)
	return all
}
