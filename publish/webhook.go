package publish

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/localhost"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/publishing"
)

const (
	// signatureHeader is the header of a webhook's signature: t=SECONDS,v1=HEX, where HEX is the HMAC-SHA256 of the text
	// "SECONDS.BODY" under the subscription's secret, and SECONDS the Unix time of the call.
	signatureHeader = "Adsync-Signature"
	// webhookTimeout is how long one call may take.
	webhookTimeout = 10 * time.Second
	// A call that failed is repeated after as long as the file is published, at least webhookFirst and at most
	// webhookLast, until webhookTries after the publication.
	webhookFirst = time.Minute
	webhookLast  = time.Hour
	webhookTries = 24 * time.Hour
	// secretMin and secretMax bound the secret, in bytes.
	secretMin = 16
	secretMax = 256
)

// publishedEvent is the body of a webhook.
type publishedEvent struct {
	Event        string    `json:"event"`
	ID           string    `json:"id"` // of the publication
	Subscription string    `json:"subscription"`
	Customer     string    `json:"customer"`
	Destination  string    `json:"destination"`
	Name         string    `json:"name"` // below the destination's prefix
	From         string    `json:"from"`
	To           string    `json:"to"`
	Revision     int       `json:"revision"`
	Rows         *int64    `json:"rows"`
	Columns      *int      `json:"columns"`
	Bytes        *int64    `json:"bytes"`
	SHA256       string    `json:"sha256"`
	Incomplete   bool      `json:"incomplete"`
	PublishedAt  time.Time `json:"published_at"`
}

// SealWebhook seals the secret that signs the webhooks of a subscription; "" gives "".
func SealWebhook(box *secret.Box, subscription, plain string) (string, error) {
	if plain == "" {
		return "", nil
	}
	if len(plain) < secretMin || len(plain) > secretMax {
		return "", &config.FieldError{Key: "webhook_secret",
			Want: fmt.Sprintf("a text of %d to %d bytes, such as 32 random ones in hex", secretMin, secretMax)}
	}
	return box.Seal(plain, publishing.WebhookPlace(subscription))
}

// checkWebhook checks the columns webhook and webhook_secret.
func checkWebhook(row *publishing.Subscription) error {
	if row.Webhook == "" {
		return nil
	}
	u, err := url.Parse(row.Webhook)
	secure := err == nil && (u.Scheme == "https" || u.Scheme == "http" && localhost.Is(u.Hostname()))
	switch {
	case !secure, u.Hostname() == "", u.User != nil, u.Fragment != "", len(row.Webhook) > 512:
		// The address may have a password.
		return &config.FieldError{Key: "webhook",
			Want: "an https address of up to 512 bytes without a user and a fragment"}
	case row.WebhookSecret == "":
		return &config.FieldError{Key: "webhook_secret", Want: "a secret that signs the calls of the webhook"}
	}
	return nil
}

// newWebhookClient returns a client that follows no redirects. Unless local, it connects to no address of this machine,
// of its link, or of a cloud's metadata: the addresses of webhooks are settings of users.
func newWebhookClient(local bool) *http.Client {
	dialer := &net.Dialer{Timeout: webhookTimeout}
	if !local {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return allowedAddress(address) }
	}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: webhookTimeout,
			DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// metadata are the addresses where clouds serve credentials of machines and that are not link-local.
var metadata = []netip.Addr{netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("168.63.129.16")}

func allowedAddress(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() ||
		slices.Contains(metadata, ip) {
		return fmt.Errorf("%s is an address of this machine, of its link, or of a cloud's metadata: webhooks do not call it",
			ip)
	}
	return nil
}

// notify calls the webhook of a published file, and sets when it is called again, if it failed. It returns no error of
// the call: a webhook never stops a file.
func (f files) notify(ctx context.Context, p *publishing.Publication, now time.Time) error {
	row, err := f.Store.Subscription(ctx, p.Subscription)
	if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
		return err
	}
	p.WebhookAt, p.WebhookError, p.UpdatedAt = time.Time{}, "", now
	if err != nil || row.Webhook == "" {
		return f.Store.FileNotified(ctx, p, now.Add(revisitAgain))
	}
	result := "ok"
	if err := f.call(ctx, &row, p); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		result, p.WebhookError = "failed", err.Error()
		after := min(max(now.Sub(p.PublishedAt), webhookFirst), webhookLast)
		if p.WebhookAt = now.Add(after); p.WebhookAt.Sub(p.PublishedAt) > webhookTries {
			result, p.WebhookAt = "given_up", time.Time{}
			f.Logger.Warn("a webhook was not delivered", "file", p.Part(), "err", err)
		}
	}
	f.metrics.webhooks.WithLabelValues(p.Subscription, result).Inc()
	return f.Store.FileNotified(ctx, p, now.Add(revisitAgain))
}

// call sends one signed request. Its errors have neither the address, which may have a token, nor the answer.
func (f files) call(ctx context.Context, row *publishing.Subscription, p *publishing.Publication) error {
	key, err := f.Box.Open(row.WebhookSecret, publishing.WebhookPlace(row.Name))
	if err != nil {
		return fmt.Errorf("open the secret of the webhook: %w", err)
	}
	body, err := json.Marshal(publishedEvent{
		Event: "file.published", ID: strconv.FormatInt(p.ID, 10), Subscription: p.Subscription, Customer: p.Customer,
		Destination: p.Destination, Name: p.Name, From: string(p.FromDay), To: string(p.ToDay), Revision: p.Revision,
		Rows: p.RowCount, Columns: p.ColumnCount, Bytes: p.ByteSize, SHA256: p.SHA256, Incomplete: p.Incomplete,
		PublishedAt: p.PublishedAt.UTC(),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, row.Webhook, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the webhook cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "adsync")
	request.Header.Set(signatureHeader, sign(key, clock.Mark(), body))
	answer, err := f.webhooks.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("call the webhook: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, 1<<16) // A receiver may want its answer to be read.
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("the webhook answered with the status %d", answer.StatusCode)
	}
	return nil
}

// sign returns the value of signatureHeader.
func sign(key string, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write(append([]byte(seconds+"."), body...)) // It never fails.
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
