package place

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"adsync/base/clock"
)

// sweepAge is the age from which Sweep aborts uploads that this Place has not seen.
const sweepAge = 7 * 24 * time.Hour

// abort ends an upload. One that does not exist is no error.
func (b *bucket) abort(ctx context.Context, name, token string) error {
	_, err := send(ctx, b, func(ctx context.Context) (*s3.AbortMultipartUploadOutput, error) {
		return b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: b.key(name),
			UploadId: &token})
	})
	if err != nil && !missing(err) {
		return b.failed("abort an upload of", name, err)
	}
	return nil
}

// uploads calls do with the name, the token and the age of each upload whose key begins with the prefix.
func (b *bucket) uploads(ctx context.Context, prefix string,
	do func(name, token string, age time.Duration) error,
) error {
	pages := s3.NewListMultipartUploadsPaginator(b.client,
		&s3.ListMultipartUploadsInput{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := send(ctx, b, func(ctx context.Context) (*s3.ListMultipartUploadsOutput, error) {
			return pages.NextPage(ctx)
		})
		if missing(err) {
			return nil // Some servers answer this if there is no upload.
		}
		if err != nil {
			return fmt.Errorf("list the uploads of s3://%s/%s: %w", b.name, prefix, err)
		}
		for _, u := range page.Uploads {
			name := strings.TrimPrefix(strings.TrimPrefix(aws.ToString(u.Key), b.prefix), "/")
			if err := do(name, aws.ToString(u.UploadId), clock.Since(aws.ToTime(u.Initiated))); err != nil {
				return err
			}
		}
	}
	return nil
}

// Discard implements Place.
func (b *bucket) Discard(ctx context.Context, name string, but int64) error {
	if err := CheckName(name); err != nil {
		return err
	}
	b.mu.Lock()
	spared := b.tokens[delivery{name, but}]
	for at := range b.tokens {
		if at.name == name && at.id != but {
			delete(b.tokens, at)
		}
	}
	b.mu.Unlock()
	return b.uploads(ctx, *b.key(name), func(of, token string, _ time.Duration) error {
		if of != name || token == spared {
			return nil
		}
		return b.abort(ctx, name, token)
	})
}

// Sweep implements Place.
func (b *bucket) Sweep(ctx context.Context, open func(name string, delivery int64) bool) (int, error) {
	b.mu.Lock()
	seen := map[string]int64{}
	for at, token := range b.tokens {
		seen[token] = at.id
	}
	b.mu.Unlock()
	prefix := b.prefix
	if prefix != "" {
		prefix += "/"
	}
	swept := 0
	err := b.uploads(ctx, prefix, func(name, token string, age time.Duration) error {
		id := seen[token] // 0 for one that this Place has not seen
		ours := CheckName(name) == nil && (id != 0 || age >= sweepAge)
		if !ours || strings.HasPrefix(name, probePrefix) || open(name, id) {
			return nil
		}
		swept++
		return b.abort(ctx, name, token)
	})
	return swept, err
}
