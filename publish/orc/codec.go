package orc

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compression is the kind of a file's compression, with the numbers of the format.
type compression uint64

const (
	none       compression = 0
	zlibKind   compression = 1
	snappyKind compression = 2
	lzoKind    compression = 3
	lz4Kind    compression = 4
	zstdKind   compression = 5
)

// errChunk means that a chunk has more bytes than the file's compression block.
var errChunk = errors.New("the chunk is larger than the file's compression block")

// check returns an error if the kind of compression is not supported.
func (k compression) check() error {
	switch k {
	case none, zlibKind, snappyKind, lz4Kind, zstdKind:
		return nil
	case lzoKind:
		return errors.New("compression lzo: want none, zlib, snappy, lz4 or zstd")
	default:
		return fmt.Errorf("compression number %d: want 0 (none), 1 (zlib), 2 (snappy), 4 (lz4) or 5 (zstd)", uint64(k))
	}
}

// decompress writes the bytes of a compressed chunk to the start of dst and returns their number. It fails if dst is
// too small.
type decompress func(dst, chunk []byte) (int, error)

// newDecompress returns the function of a supported kind, and nil for none. It is for one goroutine.
func newDecompress(kind compression) (decompress, error) {
	switch kind {
	case zlibKind:
		return newInflate(), nil
	case snappyKind:
		return unsnappy, nil
	case lz4Kind:
		return lz4Uncompress, nil
	case zstdKind:
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, fmt.Errorf("make a zstd decoder: %w", err)
		}
		return func(dst, chunk []byte) (int, error) {
			out, err := d.DecodeAll(chunk, dst[:0:len(dst)])
			if errors.Is(err, zstd.ErrDecoderSizeExceeded) || len(out) > len(dst) {
				return 0, errChunk
			}
			return len(out), err
		}, nil
	default:
		return nil, kind.check()
	}
}

func newInflate() decompress {
	var in bytes.Reader
	from := flate.NewReader(&in)
	return func(dst, chunk []byte) (int, error) {
		in.Reset(chunk)
		if err := from.(flate.Resetter).Reset(&in, nil); err != nil {
			return 0, err
		}
		n := 0
		for n < len(dst) {
			m, err := from.Read(dst[n:])
			n += m
			if errors.Is(err, io.EOF) {
				return n, nil
			}
			if err != nil {
				return 0, err
			}
		}
		var more [1]byte
		if m, err := from.Read(more[:]); m > 0 || !errors.Is(err, io.EOF) {
			return 0, errChunk
		}
		return n, nil
	}
}

func unsnappy(dst, chunk []byte) (int, error) {
	n, err := snappy.DecodedLen(chunk)
	if err != nil {
		return 0, err
	}
	if n > len(dst) {
		return 0, errChunk
	}
	_, err = snappy.Decode(dst[:n], chunk)
	return n, err
}

func lz4Uncompress(dst, chunk []byte) (int, error) {
	n, err := lz4.UncompressBlock(chunk, dst)
	if err != nil {
		return 0, fmt.Errorf("damaged, or %w", errChunk)
	}
	return n, nil
}
