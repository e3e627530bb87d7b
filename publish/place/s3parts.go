package place

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // S3 defines its ETags by it.
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// s3PartsMax is how many parts an upload has at most.
const s3PartsMax = 10_000

// partSize returns the size of all parts but the last one. An empty file has one empty part.
func partSize(size int64, mib int) int64 {
	const MiB = 1 << 20
	least := (size + s3PartsMax - 1) / s3PartsMax
	return max(int64(cmp.Or(mib, PartMiBDefault))*MiB, (least+MiB-1)/MiB*MiB)
}

// partCount returns how many parts a file has.
func partCount(size, part int64) int64 { return max((size+part-1)/part, 1) }

// part is a section of a file that is uploaded.
type part struct {
	number   int32
	off, len int64
	md5      [md5.Size]byte
}

// eachPart reads the parts of a file in order and calls do with each and its MD5 sum.
func eachPart(ctx context.Context, f File, size int64, also io.Writer, do func(part) error) error {
	for i := range partCount(f.Size, size) {
		p := part{number: int32(i + 1), off: i * size}
		p.len = min(size, f.Size-p.off)
		sum := md5.New() //nolint:gosec // S3 defines its ETags by it.
		n, err := io.Copy(io.MultiWriter(sum, also), untilDone{ctx, io.NewSectionReader(f.Content, p.off, p.len)})
		if err == nil && n < p.len {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("read the file to upload at byte %d of %d: %w", p.off+n, f.Size, err)
		}
		p.md5 = [md5.Size]byte(sum.Sum(nil))
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// bare returns an ETag without its quotes.
func bare(etag *string) string {
	if etag == nil {
		return ""
	}
	return strings.Trim(*etag, `"`)
}

// wholeETag returns the ETag of a file with these parts: the MD5 sum of their MD5 sums and their number.
func wholeETag(sums [][]byte) string {
	all := md5.New() //nolint:gosec // S3 defines its ETags by it.
	for _, sum := range sums {
		_, _ = all.Write(sum)
	}
	return hex.EncodeToString(all.Sum(nil)) + "-" + strconv.Itoa(len(sums))
}

// etagOf returns the ETag of a file with parts of a size, computed from its content.
func etagOf(ctx context.Context, f File, size int64) (string, error) {
	var sums [][]byte
	err := eachPart(ctx, f, size, io.Discard, func(p part) error {
		sums = append(sums, p.md5[:])
		return nil
	})
	return wholeETag(sums), err
}

// etagOfParts returns the ETag of a file with the parts that a server has, "" if their ETags are not MD5 sums.
func etagOfParts(parts []types.Part) string {
	var sums [][]byte
	for _, p := range parts {
		sum, err := hex.DecodeString(bare(p.ETag))
		if err != nil || len(sum) != md5.Size {
			return ""
		}
		sums = append(sums, sum)
	}
	return wholeETag(sums)
}

// checkParts returns an ErrNotWhole unless the server has all parts of a file with their sizes.
func checkParts(f File, size int64, parts []types.Part) error {
	if want := partCount(f.Size, size); int64(len(parts)) != want {
		return fmt.Errorf("the upload has %d of %d parts: %w", len(parts), want, ErrNotWhole)
	}
	for i, p := range parts {
		want := min(size, f.Size-int64(i)*size)
		if p.PartNumber == nil || int(*p.PartNumber) != i+1 || p.Size == nil || *p.Size != want {
			return fmt.Errorf("part %d of the upload has not its %d bytes: %w", i+1, want, ErrNotWhole)
		}
	}
	return nil
}

// partBody is the body of a part's request.
type partBody struct {
	ctx  context.Context // io.Reader has no parameter for it; it lives as long as one call
	pace *pace
	*io.SectionReader
}

// Read implements io.Reader.
func (b *partBody) Read(p []byte) (int, error) {
	p = p[:b.pace.chunk(int64(len(p)))]
	n, err := b.SectionReader.Read(p)
	if err == nil {
		err = b.pace.wait(b.ctx, n)
	}
	return n, err
}
