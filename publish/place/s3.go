package place

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// The metadata of a file that was delivered.
const (
	metaPart   = "adsync-part"   // the size of its parts in bytes
	metaSHA256 = "adsync-sha256" // its sum in hex
)

// bucket is the Place of an S3 bucket.
type bucket struct {
	config    Config
	client    *s3.Client
	transport *http.Transport
	name      string
	prefix    string
	pace      *pace
	// opaque is set once the server has used ETags that are not MD5 sums, as with SSE-KMS.
	opaque atomic.Bool

	mu     sync.Mutex
	tokens map[delivery]string // the uploads that this Place has seen
}

// missing reports whether a server has no such object or upload.
func missing(err error) bool { return statusOf(err) == http.StatusNotFound && !Refused(err) }

// delivery identifies a delivery of a file.
type delivery struct {
	name string
	id   int64
}

var _ Place = (*bucket)(nil)

func newBucket(c Config) *bucket {
	endpoint, name, _ := c.bucket() // Validate has parsed it.
	transport := newTransport(c)
	return &bucket{
		config: c, client: newS3Client(c, endpoint, transport), transport: transport, name: name,
		prefix: strings.TrimSuffix(c.Prefix, "/"), pace: &pace{perSecond: c.Options.BytesPerSecond},
		tokens: map[delivery]string{},
	}
}

// key returns the key of a name.
func (b *bucket) key(name string) *string { return aws.String(path.Join(b.prefix, name)) }

// failed wraps the error of a step with what was done to which object.
func (b *bucket) failed(step, name string, err error) error {
	return fmt.Errorf("%s s3://%s/%s: %w", step, b.name, path.Join(b.prefix, name), err)
}

// note remembers the token of a delivery, and returns the one before.
func (b *bucket) note(f File, token string) (before string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := delivery{f.Name, f.Delivery}
	before = b.tokens[at]
	b.tokens[at] = token
	return before
}

// forget drops the token of a delivery that is visible.
func (b *bucket) forget(f File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tokens, delivery{f.Name, f.Delivery})
}

// Upload implements Place.
func (b *bucket) Upload(ctx context.Context, f File, keep func(token string) error) (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	size := partSize(f.Size, b.config.Options.PartMiB)
	created, err := send(ctx, b, func(ctx context.Context) (*s3.CreateMultipartUploadOutput, error) {
		return b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &b.name, Key: b.key(f.Name),
			Metadata: map[string]string{
				metaPart: strconv.FormatInt(size, 10), metaSHA256: hex.EncodeToString(f.SHA256[:]),
			}})
	})
	if err != nil {
		return "", b.failed("begin the upload of", f.Name, err)
	}
	token := aws.ToString(created.UploadId)
	if err := keep(token); err != nil {
		return "", errors.Join(fmt.Errorf("record the upload of %q: %w", f.Name, err), b.abort(ctx, f.Name, token))
	}
	if before := b.note(f, token); before != "" {
		if err := b.abort(ctx, f.Name, before); err != nil {
			return "", err
		}
	}
	sum := sha256.New()
	err = eachPart(ctx, f, size, sum, func(p part) error { return b.uploadPart(ctx, f, token, p) })
	if err != nil {
		return "", err
	}
	if [32]byte(sum.Sum(nil)) != f.SHA256 {
		return "", fmt.Errorf("upload %q: the file to upload has changed: its SHA-256 is not the one that was given",
			f.Name)
	}
	return token, nil
}

// uploadPart uploads a part with its MD5 sum, which the server checks.
func (b *bucket) uploadPart(ctx context.Context, f File, token string, p part) error {
	step := fmt.Sprintf("upload part %d of", p.number)
	out, err := send(ctx, b, func(ctx context.Context) (*s3.UploadPartOutput, error) {
		return b.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &b.name, Key: b.key(f.Name), UploadId: &token, PartNumber: &p.number,
			ContentLength: &p.len, ContentMD5: aws.String(base64.StdEncoding.EncodeToString(p.md5[:])),
			Body: &partBody{ctx: ctx, pace: b.pace, SectionReader: io.NewSectionReader(f.Content, p.off, p.len)},
		}, s3.WithAPIOptions(v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware))
	})
	if missing(err) {
		return b.failed(step, f.Name, fmt.Errorf("the upload was aborted: %w", ErrNotWhole))
	}
	if err != nil {
		return b.failed(step, f.Name, err)
	}
	etag := bare(out.ETag)
	if etag == hex.EncodeToString(p.md5[:]) {
		return nil
	}
	if sum, err := hex.DecodeString(etag); err == nil && len(sum) == len(p.md5) && out.SSECustomerAlgorithm == nil &&
		out.ServerSideEncryption != types.ServerSideEncryptionAwsKms &&
		out.ServerSideEncryption != types.ServerSideEncryptionAwsKmsDsse {
		return b.failed(step, f.Name, fmt.Errorf("the server has other bytes than were sent: %w", ErrNotWhole))
	}
	b.opaque.Store(true)
	return nil
}

// parts returns the parts of an upload in order. The error is an ErrNotWhole if there is no such upload.
func (b *bucket) parts(ctx context.Context, f File, token string) ([]types.Part, error) {
	var parts []types.Part
	pages := s3.NewListPartsPaginator(b.client,
		&s3.ListPartsInput{Bucket: &b.name, Key: b.key(f.Name), UploadId: &token})
	for pages.HasMorePages() {
		page, err := send(ctx, b, func(ctx context.Context) (*s3.ListPartsOutput, error) { return pages.NextPage(ctx) })
		if missing(err) {
			err = fmt.Errorf("there is no such upload: %w", ErrNotWhole)
		}
		if err != nil {
			return nil, b.failed("list the uploaded parts of", f.Name, err)
		}
		parts = append(parts, page.Parts...)
	}
	if err := checkParts(f, partSize(f.Size, b.config.Options.PartMiB), parts); err != nil {
		return nil, b.failed("list the uploaded parts of", f.Name, err)
	}
	return parts, nil
}

// Verify implements Place.
func (b *bucket) Verify(ctx context.Context, f File, token string, _ bool) error {
	if err := f.check(); err != nil {
		return err
	}
	b.note(f, token)
	parts, err := b.parts(ctx, f, token)
	if err != nil || b.opaque.Load() {
		return err
	}
	return eachPart(ctx, f, partSize(f.Size, b.config.Options.PartMiB), io.Discard, func(p part) error {
		if bare(parts[p.number-1].ETag) != hex.EncodeToString(p.md5[:]) {
			return b.failed(fmt.Sprintf("compare part %d of", p.number), f.Name,
				fmt.Errorf("the server has other bytes than were sent: %w", ErrNotWhole))
		}
		return nil
	})
}

// Reveal implements Place.
func (b *bucket) Reveal(ctx context.Context, f File, token string, replace bool) error {
	if err := f.check(); err != nil {
		return err
	}
	b.note(f, token)
	parts, err := b.parts(ctx, f, token)
	if err != nil && !errors.Is(err, ErrNotWhole) {
		return err
	}
	if err != nil || !replace {
		same, exists, wrong := b.Visible(ctx, f)
		switch {
		case wrong != nil:
			return wrong
		case same: // An earlier call has completed it, or it was there before.
			b.forget(f)
			return b.abort(ctx, f.Name, token)
		case err != nil:
			return err
		case exists:
			return b.failed("complete the upload of", f.Name, ErrExists)
		}
	}
	etag, err := b.complete(ctx, f.Name, token, parts, replace)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil || etag == "" || etag != etagOfParts(parts) {
		err = b.settle(ctx, f, token, err)
	}
	if err == nil {
		b.forget(f)
	}
	return err
}

// settle returns the outcome of a completion that failed with err, or whose answer proves nothing.
func (b *bucket) settle(ctx context.Context, f File, token string, err error) error {
	same, exists, wrong := b.Visible(ctx, f)
	switch {
	case wrong != nil && err == nil:
		return wrong
	case wrong != nil:
		return err
	case same:
		return b.abort(ctx, f.Name, token)
	case err == nil:
		return b.failed("read back", f.Name, fmt.Errorf("the visible file has other bytes: %w", ErrNotWhole))
	case exists && statusOf(err) == http.StatusPreconditionFailed:
		return b.failed("complete the upload of", f.Name, ErrExists)
	case missing(err):
		return b.failed("complete the upload of", f.Name, fmt.Errorf("there is no such upload: %w", ErrNotWhole))
	}
	return err
}

// complete makes an upload visible and returns the ETag.
func (b *bucket) complete(ctx context.Context, name, token string, parts []types.Part, replace bool) (string, error) {
	completed := make([]types.CompletedPart, len(parts))
	for i, p := range parts {
		completed[i] = types.CompletedPart{PartNumber: p.PartNumber, ETag: p.ETag}
	}
	input := &s3.CompleteMultipartUploadInput{Bucket: &b.name, Key: b.key(name), UploadId: &token,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: completed}}
	if !replace {
		input.IfNoneMatch = aws.String("*")
	}
	request := func(ctx context.Context) (*s3.CompleteMultipartUploadOutput, error) {
		return b.client.CompleteMultipartUpload(ctx, input)
	}
	out, err := send(ctx, b, request)
	if status := statusOf(err); !replace && (status == http.StatusNotImplemented || status == http.StatusBadRequest) {
		// The server does not know the condition. Reveal has looked for the name just now.
		input.IfNoneMatch = nil
		out, err = send(ctx, b, request)
	}
	if err != nil {
		return "", b.failed("complete the upload of", name, err)
	}
	return bare(out.ETag), nil
}

// Visible implements Place.
func (b *bucket) Visible(ctx context.Context, f File) (same, exists bool, err error) {
	if err := f.check(); err != nil {
		return false, false, err
	}
	head, err := send(ctx, b, func(ctx context.Context) (*s3.HeadObjectOutput, error) {
		return b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: b.key(f.Name)})
	})
	switch {
	case statusOf(err) == http.StatusNotFound:
		return false, false, nil
	case err != nil:
		return false, false, b.failed("read the size of", f.Name, err)
	case aws.ToInt64(head.ContentLength) != f.Size:
		return false, true, nil
	}
	if same, err = b.proven(ctx, f, head); err != nil || same {
		return same, true, err
	}
	same, err = b.equal(ctx, f)
	return same, true, err
}

// proven reports whether the ETag of an object proves that it is equal to f.
func (b *bucket) proven(ctx context.Context, f File, head *s3.HeadObjectOutput) (bool, error) {
	size, _ := strconv.ParseInt(head.Metadata[metaPart], 10, 64)
	if size <= 0 || partCount(f.Size, size) > s3PartsMax || f.Content == nil {
		return false, nil
	}
	if !strings.HasSuffix(bare(head.ETag), "-"+strconv.FormatInt(partCount(f.Size, size), 10)) {
		return false, nil
	}
	etag, err := etagOf(ctx, f, size)
	return err == nil && etag == bare(head.ETag), err
}

// equal reads an object back and compares it with f.
func (b *bucket) equal(ctx context.Context, f File) (bool, error) {
	read := &tally{hash: sha256.New()}
	_, err := send(ctx, b, func(ctx context.Context) (*s3.GetObjectOutput, error) {
		out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: b.key(f.Name)})
		if err == nil {
			defer out.Body.Close()
			_, err = io.Copy(read, out.Body)
		}
		return out, err
	})
	if err != nil {
		return false, b.failed("read back", f.Name, err)
	}
	return read.n == f.Size && [32]byte(read.hash.Sum(nil)) == f.SHA256, nil
}

// Delete implements Place.
func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	_, err := send(ctx, b, func(ctx context.Context) (*s3.DeleteObjectOutput, error) {
		return b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: b.key(name)})
	})
	if err != nil && !missing(err) {
		return b.failed("delete", name, err)
	}
	return nil
}

// Probe implements Place.
func (b *bucket) Probe(ctx context.Context) error { return probe(ctx, b) }

// Close implements Place.
func (b *bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}
