package publish

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/store/publishing"
)

const hookSecret = "0123456789abcdef"

// receiver is a program that is called. It checks signatures as docs/publishing.md says.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	events []publishedEvent
	faults []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		var event publishedEvent
		switch {
		case err != nil || json.Unmarshal(body, &event) != nil:
			r.faults = append(r.faults, "not JSON")
		case !genuine(request.Header.Get(signatureHeader), body):
			r.faults = append(r.faults, "not genuine: "+request.Header.Get(signatureHeader))
		}
		r.events = append(r.events, event)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

// genuine is the check of docs/publishing.md.
func genuine(header string, body []byte) bool {
	fields := map[string]string{}
	for field := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	mac := hmac.New(sha256.New, []byte(hookSecret))
	fmt.Fprintf(mac, "%s.%s", fields["t"], body)
	seconds, err := strconv.ParseInt(fields["t"], 10, 64)
	age := time.Since(time.Unix(seconds, 0))
	return err == nil && hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(fields["v1"])) &&
		age > -5*time.Minute && age < 5*time.Minute
}

func (r *receiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// calls returns what was sent, and requires that all of it was genuine.
func (r *receiver) calls(t *testing.T) []publishedEvent {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.faults)
	return slices.Clone(r.events)
}

// hooked returns a rig whose file of 20 November is published, and whose webhook is called at the next look at it.
func hooked(t *testing.T, address string) *rig {
	t.Helper()
	r := newRig(t, nil)
	r.deps.LocalWebhooks = true
	r.pull("2026-11-20", 12_340_000, settled)
	sealed, err := SealWebhook(r.deps.Box, "sales", hookSecret)
	require.NoError(t, err)
	row := sales()
	row.Since, row.Webhook, row.WebhookSecret = now.AddDate(0, 0, -1), address, sealed
	r.put(&row)
	r.plan()
	require.NoError(t, r.run(part))
	p := r.file(1)
	require.Equal(t, publishing.Published, p.State, p.ErrorText)
	require.Equal(t, p.PublishedAt, p.WebhookAt, "it is written with the state")
	require.Equal(t, p.PublishedAt, p.RevisitAt)
	return r
}

func TestWebhook_IsCalledOnceForEachPublication(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	r := hooked(t, to.URL+"/hook?token=hush")
	require.Empty(t, to.calls(t), "a delivery does not wait for it")
	orders := len(r.orders())
	r.plan()
	require.Len(t, r.orders(), orders+1, "the planning orders the call")
	require.NoError(t, r.run(part))
	require.NoError(t, r.run(part), "the subtask was delivered twice")
	p := r.file(1)
	require.Equal(t, []publishedEvent{{
		Event: "file.published", ID: strconv.FormatInt(p.ID, 10), Subscription: "sales", Destination: "shelf",
		Name: "2026-11-20/sales.csv", From: "2026-11-20", To: "2026-11-20", Revision: 1, Rows: p.RowCount,
		Columns: p.ColumnCount, Bytes: p.ByteSize, SHA256: p.SHA256, PublishedAt: p.PublishedAt.UTC(),
	}}, to.calls(t))
	require.True(t, p.WebhookAt.IsZero())
	require.Equal(t, p.CheckAt, p.RevisitAt)

	r.clock.add(time.Hour)
	_, err := r.store.ReopenFile(t.Context(), p.ID, r.clock.Now())
	require.NoError(t, err)
	require.True(t, r.file(1).WebhookAt.IsZero())
	require.NoError(t, r.run(part))
	require.NoError(t, r.run(part))
	require.Len(t, to.calls(t), 2, "it was delivered again")
}

func TestWebhook_IsRepeatedForADay(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	to := newReceiver(t)
	r := hooked(t, to.URL+"/hook?token=hush")
	r.deps.Registerer = registry
	for _, status := range []int{http.StatusInternalServerError, http.StatusMovedPermanently} {
		to.answers(status)
		calls := len(to.calls(t))
		r.clock.add(time.Hour)
		require.NoError(t, r.run(part), "the subtask does not fail")
		require.Len(t, to.calls(t), calls+1, "redirects are not followed")
		require.Equal(t, fmt.Sprintf("the webhook answered with the status %d", status), r.file(1).WebhookError)
		require.NoError(t, r.run(part))
		require.Len(t, to.calls(t), calls+1, "it is not due")
	}
	to.Close()
	var waits []time.Duration
	for range 100 {
		p := r.file(1)
		require.Equal(t, publishing.Published, p.State)
		if p.WebhookAt.IsZero() {
			break
		}
		waits = append(waits, p.WebhookAt.Sub(r.clock.Now()).Round(time.Second))
		r.clock.add(p.WebhookAt.Sub(r.clock.Now()))
		require.NoError(t, r.run(part))
	}
	p := r.file(1)
	require.True(t, p.WebhookAt.IsZero(), "it ends")
	require.Contains(t, p.WebhookError, "call the webhook: dial tcp")
	require.NotContains(t, p.WebhookError, "hush")
	require.InDelta(t, 22, len(waits), 2)
	require.Equal(t, time.Hour, waits[len(waits)-1])
	require.LessOrEqual(t, r.clock.Now().Sub(p.PublishedAt), webhookTries)
}

func TestWebhook_WaitsLongerAfterEachFailure(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	to.answers(http.StatusServiceUnavailable)
	r := hooked(t, to.URL)
	var waits []time.Duration
	for range 9 {
		require.NoError(t, r.run(part))
		wait := r.file(1).WebhookAt.Sub(r.clock.Now())
		waits = append(waits, wait)
		r.clock.add(wait)
	}
	m := time.Minute
	require.Equal(t, []time.Duration{m, m, 2 * m, 4 * m, 8 * m, 16 * m, 32 * m, 60 * m, 60 * m}, waits)
	to.answers(http.StatusOK)
	require.NoError(t, r.run(part))
	p := r.file(1)
	require.True(t, p.WebhookAt.IsZero())
	require.Empty(t, p.WebhookError, "a success ends the error")
}

// The second look may fail: its next try must not call again.
func TestWebhook_IsRecordedBeforeTheSecondLook(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	r := hooked(t, to.URL)
	r.clock.add(r.file(1).CheckAt.Sub(r.clock.Now()))
	r.exec("UPDATE destination SET credentials = 'of another key'")
	require.Error(t, r.run(part))
	require.Error(t, r.run(part))
	require.Len(t, to.calls(t), 1)
	require.False(t, r.file(1).CheckAt.IsZero())
}

func TestWebhook_CallsNoAddressOfItsMachine(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	r := hooked(t, to.URL)
	r.deps.LocalWebhooks = false
	require.NoError(t, r.run(part))
	require.Empty(t, to.calls(t))
	require.Contains(t, r.file(1).WebhookError, "127.0.0.1 is an address of this machine")
	for address, allowed := range map[string]bool{
		"127.0.0.1:443": false, "[::1]:443": false, "0.0.0.0:443": false, "[::]:443": false, "169.254.169.254:80": false,
		"[fe80::1]:443": false, "[::ffff:127.0.0.1]:443": false, "100.100.100.200:80": false, "224.0.0.1:443": false,
		"[::ffff:169.254.169.254]:80": false, "[fd00:ec2::254]:80": false, "10.0.0.7:443": true, "203.0.113.5:443": true,
		"[2001:db8::1]:443": true, "[::ffff:100.100.100.200]:80": false, "[fd00:ec2::254%eth0]:80": false,
	} {
		require.Equal(t, allowed, allowedAddress(address) == nil, address)
	}
}

func TestWebhook_OfADeletedSubscriptionIsNotCalled(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	r := hooked(t, to.URL)
	r.exec("DELETE FROM subscription")
	require.NoError(t, r.run(part))
	require.Empty(t, to.calls(t))
	require.True(t, r.file(1).WebhookAt.IsZero())
}

func TestCheck_OfAWebhook(t *testing.T) {
	t.Parallel()
	for address, field := range map[string]string{
		"https://reports.example.com/adsync?x=1": "", "http://127.0.0.1:8080/": "", "http://localhost/": "", "": "",
		"http://reports.example.com/": "webhook", "https://": "webhook", "ftp://127.0.0.1/": "webhook",
		"https://ada:hush@reports.example.com/": "webhook", "reports.example.com": "webhook",
		"https://reports.example.com/#a": "webhook", "https://reports.example.com/" + strings.Repeat("x", 500): "webhook",
	} {
		row := sales()
		row.Webhook, row.WebhookSecret = address, "sealed"
		_, err := Check(row)
		if field == "" {
			require.NoError(t, err, address)
		} else {
			require.ErrorContains(t, err, field+": ", address)
		}
	}
	row := sales()
	row.Webhook = "https://reports.example.com/"
	_, err := Check(row)
	require.ErrorContains(t, err, "webhook_secret")
	r := newRig(t, nil)
	for _, plain := range []string{"short", strings.Repeat("x", secretMax+1)} {
		_, err := SealWebhook(r.deps.Box, "sales", plain)
		require.ErrorContains(t, err, "16 to 256 bytes")
		require.NotContains(t, err.Error(), plain)
	}
}
