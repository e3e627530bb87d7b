package place

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// store is a tree of files on a disk or a server. Paths are relative to the destination's prefix. The error for a
// missing file is an fs.ErrNotExist; errors that will not go away are marked by refuse. Errors do not name the
// operation or the path: the caller does.
type store interface {
	// full returns a path as people know it.
	full(path string) string
	// mkdir creates a directory and those above it. One that exists is no error.
	mkdir(ctx context.Context, dir string) error
	// write creates the file, which does not exist, with the content.
	write(ctx context.Context, path string, content *source) error
	// read writes the first n bytes of a file into the hash, or all of a shorter one.
	read(ctx context.Context, path string, n int64, into *tally) error
	// size returns the size of a file.
	size(ctx context.Context, path string) (int64, error)
	// rename moves a file. Without replace it returns ErrExists if it finds another file at the target.
	rename(ctx context.Context, from, to string, replace bool) error
	// remove deletes a file. A missing one is no error.
	remove(ctx context.Context, path string) error
	// list returns the entries of a directory without "." and "..", none if it does not exist.
	list(ctx context.Context, dir string) ([]entry, error)
	close() error
}

// entry is a file or a directory of a listing. Links and devices are neither.
type entry struct {
	name      string
	file, dir bool
	size      int64
}

// errNoFile means that something else than a file has the name.
var errNoFile = errors.New("it is a directory, a link or a device: want a file or nothing")

// files is the Place of a store: it uploads to temporary files and renames them.
type files struct {
	store store
	pace  *pace
}

var _ Place = (*files)(nil)

func newFiles(s store, c Config) *files {
	return &files{store: s, pace: &pace{perSecond: c.Options.BytesPerSecond}}
}

// failed wraps the error of a step with what was done to which path.
func (p *files) failed(step, name string, err error) error {
	return fmt.Errorf("%s %s: %w", step, p.store.full(name), err)
}

// Upload implements Place.
func (p *files) Upload(ctx context.Context, f File, keep func(token string) error) (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	temp := temporary(f.Name, f.Delivery)
	if err := keep(temp); err != nil {
		return "", fmt.Errorf("record the upload of %q: %w", f.Name, err)
	}
	if err := p.store.mkdir(ctx, path.Dir(f.Name)); err != nil {
		return "", p.failed("create the directory", path.Dir(f.Name), err)
	}
	// A new file, instead of the same one made empty: a paused process may still write to the old one.
	if err := p.store.remove(ctx, temp); err != nil {
		return "", p.failed("delete the old temporary file", temp, err)
	}
	content := newSource(ctx, f, p.pace)
	if err := p.store.write(ctx, temp, content); err != nil {
		return "", p.failed("write", temp, err)
	}
	return temp, content.check()
}

// uploaded returns the temporary file of a delivery, after a check of its size.
func (p *files) uploaded(ctx context.Context, f File, token string) (temp string, err error) {
	if err := f.check(); err != nil {
		return "", err
	}
	temp = temporary(f.Name, f.Delivery)
	if token != temp {
		return "", fmt.Errorf("file %q: token %q is refused: want that of Upload, %q", f.Name, token, temp)
	}
	size, err := p.store.size(ctx, temp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return temp, fmt.Errorf("the temporary file %s is missing: %w", p.store.full(temp), ErrNotWhole)
	case err != nil:
		return temp, p.failed("read the size of", temp, err)
	case size != f.Size:
		return temp, fmt.Errorf("%s has %d of %d bytes: %w", p.store.full(temp), size, f.Size, ErrNotWhole)
	}
	return temp, nil
}

// Verify implements Place.
func (p *files) Verify(ctx context.Context, f File, token string, readback bool) error {
	temp, err := p.uploaded(ctx, f, token)
	if err != nil || !readback {
		return err
	}
	same, err := p.equal(ctx, temp, f)
	if err == nil && !same {
		err = fmt.Errorf("%s has other bytes than were uploaded: %w", p.store.full(temp), ErrNotWhole)
	}
	return err
}

// equal reads a file of f.Size bytes back and compares it with f.
func (p *files) equal(ctx context.Context, name string, f File) (bool, error) {
	read := &tally{hash: sha256.New()}
	if err := p.store.read(ctx, name, f.Size, read); err != nil {
		return false, p.failed("read back", name, err)
	}
	return read.n == f.Size && [32]byte(read.hash.Sum(nil)) == f.SHA256, nil
}

// Reveal implements Place.
func (p *files) Reveal(ctx context.Context, f File, token string, replace bool) error {
	temp, err := p.uploaded(ctx, f, token)
	if err != nil && !errors.Is(err, ErrNotWhole) {
		return err
	}
	if err != nil || !replace {
		same, exists, wrong := p.Visible(ctx, f)
		switch {
		case wrong != nil:
			return wrong
		case same && err == nil:
			return p.dropTemporary(ctx, temp)
		case same: // An earlier call has renamed it.
			return nil
		case err != nil:
			return err
		case exists:
			return p.failed("rename to", f.Name, ErrExists)
		}
	}
	if err = p.store.rename(ctx, temp, f.Name, replace); err == nil {
		return nil
	}
	err = fmt.Errorf("rename %s to %s: %w", p.store.full(temp), p.store.full(f.Name), err)
	if ctx.Err() != nil {
		return err
	}
	return p.settle(ctx, f, token, replace, err)
}

// settle returns the outcome of a rename that failed with err: the answer may be lost after the server did it.
func (p *files) settle(ctx context.Context, f File, token string, replace bool, err error) error {
	same, exists, wrong := p.Visible(ctx, f)
	switch {
	case wrong != nil:
		return err
	case same:
		return p.dropTemporary(ctx, token)
	case exists && !replace && !errors.Is(err, ErrExists):
		return fmt.Errorf("%w: %w", err, ErrExists)
	}
	if _, gone := p.uploaded(ctx, f, token); errors.Is(gone, ErrNotWhole) {
		return gone
	}
	return err
}

func (p *files) dropTemporary(ctx context.Context, temp string) error {
	if err := p.store.remove(ctx, temp); err != nil {
		return p.failed("delete the temporary file", temp, err)
	}
	return nil
}

// Visible implements Place.
func (p *files) Visible(ctx context.Context, f File) (same, exists bool, err error) {
	if err := f.check(); err != nil {
		return false, false, err
	}
	size, err := p.store.size(ctx, f.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, false, nil
	case err != nil:
		return false, false, p.failed("read the size of", f.Name, err)
	case size != f.Size:
		return false, true, nil
	}
	same, err = p.equal(ctx, f.Name, f)
	return same, true, err
}

// Discard implements Place.
func (p *files) Discard(ctx context.Context, name string, but int64) error {
	if err := CheckName(name); err != nil {
		return err
	}
	dir, base := path.Dir(name), path.Base(name)
	entries, err := p.store.list(ctx, dir)
	if err != nil {
		return p.failed("list", dir, err)
	}
	for _, e := range entries {
		if of, delivery, ok := parseTemporary(e.name); !ok || e.dir || of != base || delivery == but {
			continue
		}
		if err := p.dropTemporary(ctx, path.Join(dir, e.name)); err != nil {
			return err
		}
	}
	return nil
}

// Sweep implements Place.
func (p *files) Sweep(ctx context.Context, open func(name string, delivery int64) bool) (int, error) {
	swept := 0
	for dirs := []string{"."}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := p.store.list(ctx, dir)
		if err != nil {
			return swept, p.failed("list", dir, err)
		}
		for _, e := range entries {
			base, delivery, ok := parseTemporary(e.name)
			switch {
			case e.dir:
				dirs = append(dirs, path.Join(dir, e.name))
			case ok && e.file && !strings.HasPrefix(base, probePrefix) && !open(path.Join(dir, base), delivery):
				if err := p.dropTemporary(ctx, path.Join(dir, e.name)); err != nil {
					return swept, err
				}
				swept++
			}
		}
	}
	return swept, nil
}

// Delete implements Place.
func (p *files) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := p.store.remove(ctx, name); err != nil {
		return p.failed("delete", name, err)
	}
	return nil
}

// Probe implements Place.
func (p *files) Probe(ctx context.Context) error { return probe(ctx, p) }

// Close implements Place.
func (p *files) Close() error { return p.store.close() }
