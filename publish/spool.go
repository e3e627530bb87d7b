package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"adsync/base/clock"
)

// errSpoolFull means that this machine has no room for another part file now.
var errSpoolFull = errors.New("the directory for part files is full")

const (
	// spoolKept is how long a part file stays that nobody uses: its try has ended, and a later one may use it.
	spoolKept = 24 * time.Hour
	tmpSuffix = ".tmp"
	partEnd   = ".part"
)

// Spool is the directory of part files: files that were rendered and are not delivered yet. It is safe for concurrent
// use by one process.
type Spool struct {
	dir string
	max int64 // bytes

	mu   sync.Mutex
	used int64
}

// OpenSpool opens a directory for at most max bytes, creates it if it is missing, and deletes files that were never
// completed.
func OpenSpool(dir string, max int64) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for part files: %w", err)
	}
	s := &Spool{dir: dir, max: max}
	for _, e := range s.entries() {
		if strings.HasSuffix(e.Name(), tmpSuffix) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	for _, e := range s.entries() {
		s.used += size(e)
	}
	return s, nil
}

func (s *Spool) entries() []fs.DirEntry {
	all, _ := os.ReadDir(s.dir) // A directory that cannot be read has no files that could be used.
	return all
}

func size(e fs.DirEntry) int64 {
	if info, err := e.Info(); err == nil {
		return info.Size()
	}
	return 0
}

// Usage returns how many bytes part files have, and how many they may have.
func (s *Spool) Usage() (used, most int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.max
}

// partFile is a part file that is being written.
type partFile struct {
	spool *Spool
	file  *os.File
	id    int64
	hash  hash.Hash
	size  int64
}

// create begins the part file of a publication.
func (s *Spool) create(id int64) (*partFile, error) {
	s.tidy()
	if used, most := s.Usage(); used >= most {
		return nil, errSpoolFull
	}
	f, err := os.CreateTemp(s.dir, strconv.FormatInt(id, 10)+"-*"+tmpSuffix)
	if err != nil {
		return nil, fmt.Errorf("make a part file: %w", err)
	}
	return &partFile{spool: s, file: f, id: id, hash: sha256.New()}, nil
}

// Write implements io.Writer. Its error is errSpoolFull when there is no room for more.
func (p *partFile) Write(b []byte) (int, error) {
	if !p.spool.take(int64(len(b))) {
		return 0, errSpoolFull
	}
	p.size += int64(len(b))
	_, _ = p.hash.Write(b) // It never fails.
	return p.file.Write(b)
}

func (s *Spool) take(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > s.max {
		return false
	}
	s.used += n
	return true
}

func (s *Spool) giveBack(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// complete makes the part file one that open finds, and returns its SHA-256 in hex.
func (p *partFile) complete() (sum string, err error) {
	sum = p.sum()
	err = errors.Join(p.file.Sync(), p.file.Close())
	if err == nil {
		p.spool.Remove(p.id) // an earlier rendering
		err = os.Rename(p.file.Name(), filepath.Join(p.spool.dir, partName(p.id, sum)))
	}
	if err != nil {
		p.drop()
		return "", fmt.Errorf("complete a part file: %w", err)
	}
	return sum, nil
}

// sum returns the SHA-256 of what was written, in hex.
func (p *partFile) sum() string { return hex.EncodeToString(p.hash.Sum(nil)) }

// drop deletes a part file that was not completed.
func (p *partFile) drop() {
	_ = p.file.Close()
	if os.Remove(p.file.Name()) == nil {
		p.spool.giveBack(p.size)
	}
}

func partName(id int64, sum string) string { return strconv.FormatInt(id, 10) + "-" + sum + partEnd }

// open opens the part file of a publication with a hash and a size, or returns nil if it is not here.
func (s *Spool) open(id int64, sum string, bytes int64) *os.File {
	f, err := os.Open(filepath.Join(s.dir, partName(id, sum)))
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Size() != bytes {
		_ = f.Close()
		return nil
	}
	return f
}

// Remove deletes the part files of a publication.
func (s *Spool) Remove(id int64) {
	prefix := strconv.FormatInt(id, 10) + "-"
	for _, e := range s.entries() {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), partEnd) {
			s.delete(e)
		}
	}
}

func (s *Spool) delete(e fs.DirEntry) {
	n := size(e)
	if os.Remove(filepath.Join(s.dir, e.Name())) == nil {
		s.giveBack(n)
	}
}

// tidy deletes part files that nobody has used for spoolKept.
func (s *Spool) tidy() {
	for _, e := range s.entries() {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), partEnd) && clock.Mark().Sub(info.ModTime()) > spoolKept {
			s.delete(e)
		}
	}
}
