package publishing

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"adsync/test/chaos/proxy"
)

// faults are what a destination does wrong. They can change while it runs.
type faults struct {
	readOnly  atomic.Bool // refuses every change
	full      atomic.Bool // has no space for any byte
	halves    atomic.Bool // confirms every upload and stores half of it
	zeroes    atomic.Bool // confirms every upload, and stores zeroes instead of its second half
	losesTail atomic.Bool // confirms every upload, and stores all but its last bytes
	cutUpload atomic.Bool // cuts the connection in the middle of the next upload
	cutRename atomic.Bool // renames the next file, and cuts the connection instead of an answer
	struck    atomic.Int64
	proxy     *proxy.Proxy
}

// cutAfter is how many bytes of an upload arrive before its connection is cut, and tail how many are lost with the end
// of a TLS connection.
const (
	cutAfter = 32 << 10
	tail     = 100
)

// strike reports whether a fault that stays is on, and counts it.
func (f *faults) strike(on *atomic.Bool) bool {
	if on.Load() {
		f.struck.Add(1)
		return true
	}
	return false
}

// once reports whether a fault of one time is on, counts it, and ends it.
func (f *faults) once(on *atomic.Bool) bool {
	if on.Swap(false) {
		f.struck.Add(1)
		return true
	}
	return false
}

func (f *faults) mayChange() error {
	if f.strike(&f.readOnly) {
		return syscall.EACCES
	}
	return nil
}

// received is called for the bytes of an upload before they are stored. total counts them.
func (f *faults) received(total int64) error {
	if f.strike(&f.full) {
		return syscall.ENOSPC
	}
	if total > cutAfter && f.once(&f.cutUpload) {
		f.proxy.Break()
		return net.ErrClosed
	}
	return nil
}

// spoil returns what is stored of an upload.
func (f *faults) spoil(content []byte) []byte {
	switch {
	case f.strike(&f.halves):
		return content[:len(content)/2]
	case f.strike(&f.zeroes):
		clear(content[len(content)/2:])
	case f.strike(&f.losesTail):
		return content[:max(0, len(content)-tail)]
	}
	return content
}

// stored spoils a file that was received.
func (f *faults) stored(path string) error {
	if !f.halves.Load() && !f.zeroes.Load() && !f.losesTail.Load() {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, f.spoil(content), 0o644)
}

// rename renames a file. Without replaces a file of the name is an error, as for many servers.
func (f *faults) rename(from, to string, replaces bool) error {
	if err := f.mayChange(); err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil && !replaces {
		return errors.New("the file exists")
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if f.once(&f.cutRename) {
		f.proxy.Break()
	}
	return nil
}

// end ends all faults.
func (f *faults) end() {
	for _, on := range []*atomic.Bool{&f.readOnly, &f.full, &f.halves, &f.zeroes, &f.losesTail, &f.cutUpload,
		&f.cutRename} {
		on.Store(false)
	}
	if f.proxy != nil {
		f.proxy.Pass()
	}
}
