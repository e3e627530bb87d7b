package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"adsync/base/config"
)

// listMax is the most files that Reader.List returns.
const listMax = 10_000

// ErrChanged means that a file is not the one that was listed: it was replaced, changed or deleted since.
var ErrChanged = errors.New("the file has changed since it was listed")

// Stored is a file at a destination.
type Stored struct {
	// Name is relative to the destination's prefix.
	Name string
	// Size is the number of bytes.
	Size int64
	// Version differs after a change: it is the ETag of S3, or the time of the last change.
	Version string
}

// Reader reads the files of a directory or an S3 bucket, also those that adsync has not delivered. It is safe for
// concurrent use. Names, errors and the end of ctx are as with Place.
type Reader interface {
	// List returns the file of a name, if there is one. With a final "*" it returns the files whose names begin with
	// what is before it and continue without a slash, sorted by name. Directories and links are left out. More than
	// 10,000 files are an error.
	List(ctx context.Context, pattern string) ([]Stored, error)
	// Copy writes the bytes of a file that List returned. The error is an ErrChanged if it is not the same file any
	// more. What was written before an error is of no use.
	Copy(ctx context.Context, f Stored, to io.Writer) error
	// Close ends the connections. No other call may follow.
	Close() error
}

// OpenReader returns the Reader of a valid configuration of the kind dir or s3. It does not connect: the first call
// does. An error is a joined *config.FieldError.
func OpenReader(c Config) (Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	switch c.Kind {
	case KindDir:
		return newDisk(c), nil
	case KindS3:
		return newBucket(c), nil
	}
	return nil, &config.FieldError{Key: "kind", Value: c.Kind, Want: "dir or s3, whose files can be read"}
}

var errTooMany = refuse(fmt.Errorf("there are more than %d files: want fewer, or a longer beginning", listMax))

var (
	_ Reader = disk{}
	_ Reader = (*bucket)(nil)
)

// List implements Reader.
func (d disk) List(ctx context.Context, pattern string) (found []Stored, err error) {
	dir, base := path.Split(pattern)
	begin, all := strings.CutSuffix(base, "*")
	err = d.within(ctx, func(root *os.Root) error {
		names := []string{base}
		if all {
			if names, err = namesIn(root, path.Join(d.prefix, dir)); err != nil {
				return err
			}
		}
		for _, name := range names {
			if !strings.HasPrefix(name, begin) {
				continue
			}
			info, err := root.Lstat(path.Join(d.prefix, dir, name))
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return err
			case info.Mode().IsRegular():
				found = append(found, stored(dir+name, info))
			}
			if len(found) > listMax {
				return errTooMany
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.full(pattern), err)
	}
	return found, nil
}

// namesIn returns the names of a directory, sorted: none if it does not exist.
func namesIn(root *os.Root, dir string) ([]string, error) {
	opened, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	names, err := opened.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func stored(name string, info fs.FileInfo) Stored {
	return Stored{Name: name, Size: info.Size(), Version: info.ModTime().UTC().Format(time.RFC3339Nano)}
}

// Copy implements Reader.
func (d disk) Copy(ctx context.Context, f Stored, to io.Writer) error {
	err := d.within(ctx, func(root *os.Root) error {
		file, err := root.Open(path.Join(d.prefix, f.Name))
		if errors.Is(err, fs.ErrNotExist) {
			return ErrChanged
		}
		if err != nil {
			return err
		}
		defer file.Close()
		if info, err := file.Stat(); err != nil {
			return err
		} else if stored(f.Name, info) != f {
			return ErrChanged
		}
		return copyAll(to, untilDone{ctx, file}, f.Size)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", d.full(f.Name), err)
	}
	return nil
}

// copyAll copies a file of a known size.
func copyAll(to io.Writer, from io.Reader, size int64) error {
	n, err := io.Copy(to, io.LimitReader(from, size+1))
	if err == nil && n != size {
		err = ErrChanged
	}
	return err
}

// Close implements Reader.
func (disk) Close() error { return nil }

// List implements Reader.
func (b *bucket) List(ctx context.Context, pattern string) (found []Stored, err error) {
	begin, all := strings.CutSuffix(pattern, "*")
	root := ""
	if b.prefix != "" {
		root = b.prefix + "/"
	}
	input := &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: aws.String(root + begin), Delimiter: aws.String("/")}
	if !all {
		input.MaxKeys = aws.Int32(1) // A name is the first of those that begin with it.
	}
	pages := s3.NewListObjectsV2Paginator(b.client, input)
	for more := true; more; more = all && pages.HasMorePages() {
		page, err := send(ctx, b, func(ctx context.Context) (*s3.ListObjectsV2Output, error) {
			return pages.NextPage(ctx)
		})
		if err != nil {
			return nil, b.failed("list", pattern, err)
		}
		for _, o := range page.Contents {
			name := strings.TrimPrefix(aws.ToString(o.Key), root)
			// Some programs write an empty object that stands for a directory.
			if strings.HasSuffix(name, "/") || !all && name != pattern {
				continue
			}
			found = append(found, Stored{Name: name, Size: aws.ToInt64(o.Size), Version: bare(o.ETag)})
		}
		if len(found) > listMax {
			return nil, b.failed("list", pattern, errTooMany)
		}
	}
	slices.SortFunc(found, func(a, b Stored) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// Copy implements Reader.
func (b *bucket) Copy(ctx context.Context, f Stored, to io.Writer) error {
	if err := CheckName(f.Name); err != nil {
		return err
	}
	_, err := send(ctx, b, func(ctx context.Context) (*s3.GetObjectOutput, error) {
		out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: b.key(f.Name),
			IfMatch: aws.String(`"` + f.Version + `"`)})
		if err != nil {
			return out, err
		}
		defer out.Body.Close()
		if bare(out.ETag) != f.Version { // The server does not know the condition.
			return out, ErrChanged
		}
		return out, copyAll(to, out.Body, f.Size)
	})
	if status := statusOf(err); status == http.StatusPreconditionFailed || missing(err) {
		err = ErrChanged
	}
	if err != nil {
		return b.failed("read", f.Name, err)
	}
	return nil
}
