package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// disk is the store of a local directory. Links that lead out of the directory are not followed.
//
// A call returns soon after its context ends, except while the operating system waits for a device or a network file
// system.
type disk struct {
	dir    string // absolute
	prefix string
}

var _ store = disk{}

func newDisk(c Config) disk { return disk{dir: c.Address, prefix: path.Clean(c.Prefix)} }

func (d disk) full(name string) string { return filepath.Join(d.dir, d.prefix, name) }

// within calls do with the directory, which is opened each time: a file system may have been mounted there since.
func (d disk) within(ctx context.Context, do func(root *os.Root) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := os.OpenRoot(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(fmt.Errorf("the directory %s does not exist: create it, or mount what belongs there", d.dir))
	}
	if err == nil {
		defer func() { _ = root.Close() }()
		err = do(root)
	}
	return d.classify(err)
}

// classify marks the errors that stay.
func (disk) classify(err error) error {
	for _, stays := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR,
		syscall.ENAMETOOLONG, syscall.ELOOP} {
		if errors.Is(err, stays) {
			return refuse(err)
		}
	}
	return err
}

func (d disk) mkdir(ctx context.Context, dir string) error {
	return d.within(ctx, func(root *os.Root) error { return root.MkdirAll(path.Join(d.prefix, dir), 0o755) })
}

func (d disk) write(ctx context.Context, name string, content *source) error {
	return d.within(ctx, func(root *os.Root) error {
		file, err := root.OpenFile(path.Join(d.prefix, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		if _, err := io.Copy(file, content); err != nil {
			return err
		}
		// The file must not become visible before its bytes are on the disk.
		if err := file.Sync(); err != nil {
			return err
		}
		return file.Close()
	})
}

func (d disk) read(ctx context.Context, name string, n int64, into *tally) error {
	return d.within(ctx, func(root *os.Root) error {
		file, err := root.Open(path.Join(d.prefix, name))
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(into, io.LimitReader(untilDone{ctx, file}, n))
		return err
	})
}

// untilDone fails when its context ends.
type untilDone struct {
	ctx context.Context // io.Reader has no parameter for it; it lives as long as one call
	r   io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

func (d disk) size(ctx context.Context, name string) (size int64, err error) {
	err = d.within(ctx, func(root *os.Root) error {
		info, err := root.Lstat(path.Join(d.prefix, name))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return refuse(errNoFile)
		}
		size = info.Size()
		return nil
	})
	return size, err
}

func (d disk) rename(ctx context.Context, from, to string, replace bool) error {
	from, to = path.Join(d.prefix, from), path.Join(d.prefix, to)
	return d.within(ctx, func(root *os.Root) error {
		if replace {
			if err := root.Rename(from, to); err != nil {
				return err
			}
		} else if err := move(root, from, to); err != nil {
			return err
		}
		return flush(root, path.Dir(to))
	})
}

// move renames a file to a name that does not exist.
func move(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	switch {
	case err == nil:
		return root.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, fs.ErrNotExist):
		return err
	}
	// The file system has no hard links. Another program may create the file between these two calls.
	if _, err := root.Lstat(to); err == nil {
		return ErrExists
	}
	return root.Rename(from, to)
}

// flush writes the entries of a directory to the disk.
func flush(root *os.Root, dir string) error {
	opened, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer opened.Close()
	// Some network file systems refuse it for directories.
	if err := opened.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

func (d disk) remove(ctx context.Context, name string) error {
	return d.within(ctx, func(root *os.Root) error {
		info, err := root.Lstat(path.Join(d.prefix, name))
		if err == nil && info.IsDir() {
			return refuse(errNoFile)
		}
		if err == nil {
			err = root.Remove(path.Join(d.prefix, name))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func (d disk) list(ctx context.Context, dir string) (entries []entry, err error) {
	err = d.within(ctx, func(root *os.Root) error {
		opened, err := root.Open(path.Join(d.prefix, dir))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer opened.Close()
		found, err := opened.ReadDir(-1)
		for _, e := range found {
			entries = append(entries, entry{name: e.Name(), file: e.Type().IsRegular(), dir: e.IsDir()})
		}
		return err
	})
	return entries, err
}

func (disk) close() error { return nil }
