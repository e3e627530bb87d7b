package format

import (
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
)

// flushSize is how many bytes an encoder collects for a call of the io.Writer below. A longer row is collected whole.
const flushSize = 64 << 10

// lines collects the lines of a text file, and compresses them if wanted.
type lines struct {
	buf  []byte // not written yet
	out  io.Writer
	gzip *gzip.Writer // nil without compression
}

func newLines(w io.Writer, compress bool) lines {
	l := lines{buf: make([]byte, 0, flushSize+flushSize/2), out: w}
	if compress {
		l.gzip = gzip.NewWriter(w)
		l.gzip.ModTime = time.Unix(0, 0) // It means that the time is unknown.
		l.out = l.gzip
	}
	return l
}

// endLine writes what is collected if it is enough.
func (l *lines) endLine() error {
	if len(l.buf) < flushSize {
		return nil
	}
	return l.flush()
}

func (l *lines) flush() error {
	_, err := l.out.Write(l.buf)
	l.buf = l.buf[:0]
	return err
}

func (l *lines) close() error {
	if err := l.flush(); err != nil {
		return err
	}
	if l.gzip != nil {
		return l.gzip.Close()
	}
	return nil
}
