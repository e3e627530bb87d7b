// Package place delivers report files to a directory, an SFTP, FTP or FTPS server, or an S3 bucket.
//
// A file becomes visible under its name at one moment and whole. Until then its bytes are in a temporary file next to
// it, or in the parts of a multipart upload. The caller takes a delivery through these steps and records each:
//
//	Upload → Verify → Discard the other deliveries of the name → Reveal
//
// Every step may be repeated, by another process too. Discard before Reveal makes sure that an earlier delivery of the
// name, whose process was paused, finds nothing left that it could make visible.
//
// Where a server has no operation that is atomic, the gap is described at Place.Reveal.
//
// A Reader reads the files of a directory or an S3 bucket, as sources of reports.
package place

import (
	"context"
	"errors"
	"fmt"
	"io"

	"adsync/base/config"
)

// Place is a destination that files are delivered to. Names are slash-separated and relative to the destination's
// prefix; see CheckName. A Place is safe for concurrent use. Calls to an SFTP, FTP or FTPS server use one connection
// and wait for each other.
//
// An error names the step and the remote path, and contains no secret. Refused reports whether a repetition can help.
// Each call returns soon after ctx ends, with its error.
type Place interface {
	// Upload writes f.Size bytes to where readers do not see them under the name. Before the first byte it calls keep
	// with the token that the later steps need, and returns without writing if keep fails. Directories are created as
	// needed. An Upload of the same delivery begins from the start.
	Upload(ctx context.Context, f File, keep func(token string) error) (token string, err error)
	// Verify checks what Upload wrote, before it is visible: the size, and with readback the SHA-256 of what the
	// destination returns. S3 cannot read an upload back: there the sizes and MD5 sums of all parts are compared with
	// f.Content, with and without readback. The error is an ErrNotWhole if the file must be uploaded again.
	Verify(ctx context.Context, f File, token string, readback bool) error
	// Reveal makes the file visible under its name. With replace it takes the place of an existing file; without, it
	// returns ErrExists if there is another file. A file of the name that is equal to f counts as revealed, so that
	// Reveal may be repeated. If the server's answer was lost, the file is read back to find out what happened. The
	// error is an ErrNotWhole if the file must be uploaded again.
	//
	// Not every server can do this in one operation. Without replace, SFTP and FTP servers, and S3 servers that do not
	// know If-None-Match, are asked for the name first: a file that another program writes in between is replaced. With
	// replace, an FTP server, or an SFTP server without posix-rename@openssh.com, that refuses to rename onto an
	// existing file has that file deleted first: the name does not exist for a moment, and for longer if the
	// connection fails just then. The next Reveal completes the step.
	Reveal(ctx context.Context, f File, token string, replace bool) error
	// Visible reports whether the file of that name is equal to f, and whether there is any. Files of the same size are
	// read back, except where the S3 server's ETag proves that they are equal.
	Visible(ctx context.Context, f File) (same, exists bool, err error)
	// Discard deletes the temporary files, and aborts the uploads, of all deliveries of the name but one; 0 means of
	// all. S3 does not record the delivery of an upload: the upload of that delivery is only spared if this Place has
	// seen its token, in Upload, Verify or Reveal. Otherwise it is aborted too and has to be repeated.
	Discard(ctx context.Context, name string, but int64) error
	// Sweep deletes the leftovers of deliveries for which open returns false, below the prefix, and returns how many. It
	// spares those of probes, which may be running.
	// For an S3 upload of another process it calls open with delivery 0, which must report whether any delivery of the
	// name is open, and it spares uploads that are younger than 7 days: they may be those of another program.
	Sweep(ctx context.Context, open func(name string, delivery int64) bool) (int, error)
	// Names returns the names of the visible files of a directory, without its path, sorted. dir is relative to the
	// prefix; "" is the prefix itself. A missing directory has none.
	Names(ctx context.Context, dir string) ([]string, error)
	// Delete deletes a visible file. A missing file is no error.
	Delete(ctx context.Context, name string) error
	// Probe delivers a small file with a random name, reads it back and deletes it. Its error names the step that
	// failed and what would help.
	Probe(ctx context.Context) error
	// Close ends the connections. No other call may follow.
	Close() error
}

// File is a file to deliver.
type File struct {
	// Name is where it becomes visible; see CheckName.
	Name string
	// Delivery is greater than 0 and differs for each delivery of the name.
	Delivery int64
	// Size is the number of bytes.
	Size int64
	// SHA256 is the sum of the bytes.
	SHA256 [32]byte
	// Content returns the bytes. Upload needs it, and the other steps of S3, which compute sums of it.
	Content io.ReaderAt
}

// check refuses a file that the caller described wrongly.
func (f File) check() error {
	if err := CheckName(f.Name); err != nil {
		return err
	}
	if f.Delivery <= 0 {
		return refuse(fmt.Errorf("file %q: delivery %d is refused: want a number greater than 0", f.Name, f.Delivery))
	}
	if f.Size < 0 {
		return refuse(fmt.Errorf("file %q: size %d is refused: want 0 or more bytes", f.Name, f.Size))
	}
	return nil
}

var (
	// ErrExists means that another file of the name exists and must not be replaced.
	ErrExists = errors.New("another file of that name exists")
	// ErrNotWhole means that what was uploaded is missing, incomplete or damaged. A new Upload is needed.
	ErrNotWhole = errors.New("it must be uploaded again")
)

// Refused reports whether an error stays until someone changes the configuration, the rights or the files at the
// destination: a wrong password, an unknown host key, a missing bucket, a name that is not allowed, or ErrExists. A
// repetition may succeed after any other error.
func Refused(err error) bool {
	if errors.Is(err, ErrExists) {
		return true
	}
	_, refused := errors.AsType[*refusedError](err)
	if !refused {
		_, refused = errors.AsType[*config.FieldError](err)
	}
	return refused
}

// refusedError marks an error as one that Refused reports.
type refusedError struct{ err error }

func (r *refusedError) Error() string { return r.err.Error() }
func (r *refusedError) Unwrap() error { return r.err }

// refuse marks an error as one that Refused reports.
func refuse(err error) error { return &refusedError{err: err} }

// Open returns the destination of a valid configuration. It does not connect: the first call does. An error is a
// joined *config.FieldError.
func Open(_ context.Context, c Config) (Place, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	switch c.Kind {
	case KindS3:
		return newBucket(c), nil
	case KindDir:
		return newFiles(newDisk(c), c), nil
	case KindSFTP:
		return newFiles(newSFTP(c), c), nil
	default:
		return newFiles(newFTP(c), c), nil
	}
}
