package publish

import "io"

// behind writes to another writer in a goroutine, so that the next rows are read while the bytes before them are hashed
// and written. It is not safe for concurrent use. Close ends its goroutine.
type behind struct {
	total int64  // bytes that were accepted
	buf   []byte // accepted and not yet passed to the goroutine
	full  chan []byte
	free  chan freed
}

// freed is a buffer that can be filled again, and the first error of the writer below.
type freed struct {
	buf []byte
	err error
}

// writeBehind returns a writer with two buffers of a size in bytes.
func writeBehind(to io.Writer, size int) *behind {
	b := &behind{buf: make([]byte, 0, size), full: make(chan []byte, 1), free: make(chan freed, 2)}
	b.free <- freed{buf: make([]byte, 0, size)}
	go b.run(to)
	return b
}

func (b *behind) run(to io.Writer) {
	defer close(b.free)
	var err error
	for buf := range b.full {
		if err == nil {
			_, err = to.Write(buf)
		}
		b.free <- freed{buf[:0], err}
	}
}

// Write implements io.Writer. Its error may be that of an earlier call's bytes.
func (b *behind) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if len(b.buf) == cap(b.buf) {
			b.full <- b.buf
			f := <-b.free
			if b.buf = f.buf; f.err != nil {
				return n, f.err
			}
		}
		add := p[n:min(len(p), n+cap(b.buf)-len(b.buf))]
		b.buf = append(b.buf, add...)
		b.total += int64(len(add))
		n += len(add)
	}
	return n, nil
}

// Close writes the rest, and returns the first error of the writer below. Call it once.
func (b *behind) Close() (err error) {
	b.full <- b.buf
	close(b.full)
	for f := range b.free {
		err = f.err
	}
	return err
}
