package place

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// S3 requests that fail on the network or with a status from 500 are sent up to 4 times, at most 5 seconds apart.
const (
	s3Attempts   = 4
	s3BackoffMax = 5 * time.Second
)

// newTransport returns the connections to an S3 server.
func newTransport(c Config) *http.Transport {
	timeout := c.Options.timeout()
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: timeout}).DialContext,
		TLSClientConfig:     c.tls(""),
		TLSHandshakeTimeout: timeout,
		IdleConnTimeout:     time.Minute,
	}
}

// newS3Client returns the client of an S3 server.
func newS3Client(c Config, endpoint string, transport http.RoundTripper) *s3.Client {
	o := s3.Options{
		Region:       cmp.Or(c.Options.Region, "us-east-1"),
		UsePathStyle: c.Options.PathStyle,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: c.User, SecretAccessKey: c.Password.Reveal()}, nil
		}),
		// Many S3 servers other than AWS do not know the checksums in trailers that are the default.
		RequestChecksumCalculation:                aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation:                aws.ResponseChecksumValidationWhenRequired,
		DisableLogOutputChecksumValidationSkipped: true,
		HTTPClient: &http.Client{
			Transport:     touching{transport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.MaxBackoff = s3Attempts, s3BackoffMax
		}),
	}
	if endpoint != "" {
		o.BaseEndpoint = &endpoint
	}
	return s3.New(o)
}

// touching notes the bytes of requests and responses as the progress of their operations.
type touching struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t touching) RoundTrip(r *http.Request) (*http.Response, error) {
	w, _ := r.Context().Value(watchKey{}).(*watch)
	if r.Body != nil && r.Body != http.NoBody {
		body := r.Body
		r = r.Clone(r.Context())
		r.Body = touchingBody{body, w}
	}
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = touchingBody{response.Body, w}
	}
	return response, err
}

type touchingBody struct {
	io.ReadCloser
	watch *watch
}

// Read implements io.Reader.
func (b touchingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.touch()
	}
	return n, err
}

// s3Error is a server's negative answer.
type s3Error struct {
	status        int
	code, message string
}

func (e *s3Error) Error() string {
	text := fmt.Sprintf("the server replied %s (HTTP %d)", e.code, e.status)
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// statusOf returns the HTTP status of an *s3Error, 0 for another error.
func statusOf(err error) int {
	if reply, ok := errors.AsType[*s3Error](err); ok {
		return reply.status
	}
	return 0
}

// send runs a request under a watch, and returns a negative answer as an *s3Error, marked if it stays.
func send[T any](ctx context.Context, b *bucket, request func(context.Context) (T, error)) (T, error) {
	ctx, _, stop := watched(ctx, b.config.Options.timeout())
	defer stop()
	out, err := request(ctx)
	return out, b.classify(why(ctx, err))
}

// classify returns a negative answer as an *s3Error without the secret key, and marks the errors that stay.
func (b *bucket) classify(err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return refuse(fmt.Errorf("%w: set ca to the certificate that signed the server's", err))
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	reply := &s3Error{code: api.ErrorCode(), message: api.ErrorMessage()}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		reply.status = response.HTTPStatusCode()
	}
	if key := b.config.Password.Reveal(); key != "" {
		reply.message = strings.ReplaceAll(reply.message, key, b.config.Password.String())
	}
	if reply.stays() {
		return refuse(reply)
	}
	return reply
}

// stays reports whether the answer remains the same until someone changes something.
func (e *s3Error) stays() bool {
	// Some servers answer a full quota, and all a wrong clock, with status 403.
	if slices.Contains([]string{"RequestTimeTooSkewed", "QuotaExceeded"}, e.code) {
		return false
	}
	switch e.status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return slices.Contains([]string{"NoSuchBucket", "InvalidBucketName", "AuthorizationHeaderMalformed",
		"KeyTooLongError", "EntityTooLarge"}, e.code)
}
