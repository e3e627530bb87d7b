package place

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"adsync/base/clock"
)

// source reads the content of a file once, from its start, at the pace of the destination. It fails if the content
// ends early, and when ctx ends.
type source struct {
	ctx  context.Context // io.Reader has no parameter for it; a source lives as long as one call
	file File
	pace *pace
	hash hash.Hash
	off  int64
}

func newSource(ctx context.Context, f File, p *pace) *source {
	return &source{ctx: ctx, file: f, pace: p, hash: sha256.New()}
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.sent() {
		return 0, io.EOF
	}
	p = p[:s.pace.chunk(min(int64(len(p)), s.file.Size-s.off))]
	if err := s.pace.wait(s.ctx, len(p)); err != nil {
		return 0, err
	}
	n, err := s.file.Content.ReadAt(p, s.off)
	_, _ = s.hash.Write(p[:n])
	s.off += int64(n)
	switch {
	case n == len(p):
		return n, nil
	case err == nil || errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return n, fmt.Errorf("read the file to upload at byte %d of %d: %w", s.off, s.file.Size, err)
}

// sent reports whether all bytes were read.
func (s *source) sent() bool { return s.off == s.file.Size }

// check refuses content other than the file's description. It is called after all bytes were read.
func (s *source) check() error {
	if !s.sent() {
		return fmt.Errorf("upload %q: %d of %d bytes were written", s.file.Name, s.off, s.file.Size)
	}
	if [32]byte(s.hash.Sum(nil)) != s.file.SHA256 {
		return fmt.Errorf("upload %q: the file to upload has changed: its SHA-256 is not the one that was given",
			s.file.Name)
	}
	return nil
}

// pace limits how many bytes per second all readers together pass. It is safe for concurrent use.
type pace struct {
	perSecond int64 // 0 means no limit

	mu   sync.Mutex
	free time.Time // when the next bytes may pass
}

// chunk returns how many of n bytes to read at a time, so that the waits between reads are short.
func (p *pace) chunk(n int64) int64 {
	if p.perSecond == 0 {
		return n
	}
	return min(n, max(p.perSecond/10, 1))
}

// wait returns when n bytes may pass, or ctx ended.
func (p *pace) wait(ctx context.Context, n int) error {
	if p.perSecond == 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	p.free = clock.Later(p.free, clock.Mark())
	left := clock.Until(p.free)
	p.free = p.free.Add(time.Duration(n) * time.Second / time.Duration(p.perSecond))
	p.mu.Unlock()
	return clock.Sleep(ctx, left)
}
