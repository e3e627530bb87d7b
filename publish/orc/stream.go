package orc

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	plainChunk = 64 << 10 // bytes that are read at a time from a file without compression
	chunkHead  = 3        // bytes before each compressed chunk
)

// errEnds means that a stream has fewer values than the stripe has rows.
var errEnds = errors.New("the stream ends too early")

// source reads the streams of a file. It is for one goroutine.
type source struct {
	r          io.ReaderAt
	decompress decompress // nil if the file is not compressed
	block      int
	free       int // bytes that may still be allocated

	head    [chunkHead]byte
	in, out []byte // a chunk before and after decompression
}

func newSource(r io.ReaderAt, kind compression, block, memory int) (*source, error) {
	s := &source{r: r, block: block, free: memory}
	var err error
	if kind == none {
		return s, nil
	}
	if err = s.take(2 * block); err != nil {
		return nil, err
	}
	s.decompress, err = newDecompress(kind)
	return s, err
}

// take counts n bytes that are about to be allocated.
func (s *source) take(n int) error {
	if n > s.free {
		return ErrMemory
	}
	s.free -= n
	return nil
}

// grow returns b with room for n more bytes.
func (s *source) grow(b []byte, n int) ([]byte, error) {
	if cap(b)-len(b) >= n {
		return b, nil
	}
	size := max(len(b)+n, min(2*cap(b), cap(b)+s.free))
	if err := s.take(size - cap(b)); err != nil {
		return nil, err
	}
	larger := make([]byte, len(b), size)
	copy(larger, b)
	return larger, nil
}

// readAt fills b with the file's bytes from offset on.
func (s *source) readAt(b []byte, offset int64) error { return readAt(s.r, b, offset) }

func readAt(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at %d: %w", len(b), offset, err)
}

// stream reads the decompressed bytes of a part of the file.
type stream struct {
	src    *source
	at     int64 // the offset of the next chunk
	end    int64
	data   []byte // the decompressed chunk
	rest   []byte // the bytes of data that were not read yet
	joined []byte // holds what bytes returns if it is in several chunks
}

// chunk reads the next chunk into data, which may then be empty.
func (s *stream) chunk() error {
	if s.src.decompress == nil {
		n := min(s.end-s.at, plainChunk)
		return s.fill(int(n))
	}
	if s.end-s.at < chunkHead {
		return fmt.Errorf("the chunk at %d is cut off", s.at)
	}
	head := s.src.head[:]
	if err := s.src.readAt(head, s.at); err != nil {
		return err
	}
	start := s.at
	s.at += chunkHead
	n := (int(head[0]) | int(head[1])<<8 | int(head[2])<<16) >> 1
	switch {
	case int64(n) > s.end-s.at:
		return fmt.Errorf("the chunk at %d is cut off", start)
	case n > s.src.block:
		return fmt.Errorf("the chunk at %d: %w", start, errChunk)
	case head[0]&1 == 1:
		return s.fill(n)
	}
	if s.src.in == nil {
		s.src.in, s.src.out = make([]byte, s.src.block), make([]byte, s.src.block)
	}
	if err := s.src.readAt(s.src.in[:n], s.at); err != nil {
		return err
	}
	s.at += int64(n)
	size, err := s.src.decompress(s.src.out, s.src.in[:n])
	if err != nil {
		return fmt.Errorf("decompress the chunk at %d: %w", start, err)
	}
	if s.data, err = s.src.grow(s.data[:0], size); err != nil {
		return err
	}
	s.data = append(s.data, s.src.out[:size]...)
	s.rest = s.data
	return nil
}

// fill reads n bytes of the file into data.
func (s *stream) fill(n int) error {
	data, err := s.src.grow(s.data[:0], n)
	if err != nil {
		return err
	}
	s.data = data[:n]
	if err := s.src.readAt(s.data, s.at); err != nil {
		return err
	}
	s.at += int64(n)
	s.rest = s.data
	return nil
}

// more makes rest not empty.
func (s *stream) more() error {
	for len(s.rest) == 0 {
		if s.at == s.end {
			return errEnds
		}
		if err := s.chunk(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) byte() (byte, error) {
	if len(s.rest) == 0 {
		if err := s.more(); err != nil {
			return 0, err
		}
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b, nil
}

// bytes returns the next n bytes, valid until the next call of a method. They are never nil.
func (s *stream) bytes(n uint64) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	if err := s.more(); err != nil {
		return nil, err
	}
	if n <= uint64(len(s.rest)) {
		b := s.rest[:n:n]
		s.rest = s.rest[n:]
		return b, nil
	}
	s.joined = s.joined[:0]
	for {
		part := s.rest[:min(n, uint64(len(s.rest)))]
		var err error
		if s.joined, err = s.src.grow(s.joined, len(part)); err != nil {
			return nil, err
		}
		s.joined, s.rest = append(s.joined, part...), s.rest[len(part):]
		if n -= uint64(len(part)); n == 0 {
			return s.joined, nil
		}
		if err := s.more(); err != nil {
			return nil, err
		}
	}
}

// all returns the rest of the stream, which may have at most so many bytes.
func (s *stream) all(most int) ([]byte, error) {
	var b []byte
	for {
		err := s.more()
		if errors.Is(err, errEnds) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b)+len(s.rest) > most {
			return nil, fmt.Errorf("it has more than %d bytes", most)
		}
		if b, err = s.src.grow(b, len(s.rest)); err != nil {
			return nil, err
		}
		b, s.rest = append(b, s.rest...), nil
	}
}

// bigEndian returns the integer of n bytes, up to 8, with the highest byte first.
func (s *stream) bigEndian(n int) (uint64, error) {
	var v uint64
	for range n {
		b, err := s.byte()
		if err != nil {
			return 0, err
		}
		v = v<<8 | uint64(b)
	}
	return v, nil
}

// littleEndian returns the integer of n bytes, up to 8, with the lowest byte first.
func (s *stream) littleEndian(n uint64) (uint64, error) {
	b, err := s.bytes(n)
	var v uint64
	for _, part := range slices.Backward(b) {
		v = v<<8 | uint64(part)
	}
	return v, err
}
