package place

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// probePrefix begins the names of probes, followed by a random text.
const probePrefix = "adsync-probe-"

// probe delivers a small file with a random name, reads it back and deletes it.
func probe(ctx context.Context, p Place) error {
	name := probePrefix + rand.Text()
	content := []byte("adsync wrote this file to check its rights here. It can be deleted.\n")
	f := File{Name: name, Delivery: 1, Size: int64(len(content)), SHA256: sha256.Sum256(content),
		Content: bytes.NewReader(content)}
	var token string
	steps := []struct {
		what, remedy string
		do           func() error
	}{
		{"writing a file", "the user needs the right to create files and directories below the prefix, and free space",
			func() (err error) {
				token, err = p.Upload(ctx, f, func(string) error { return nil })
				return err
			}},
		{"reading the file back", "the user needs the right to read the files below the prefix",
			func() error { return p.Verify(ctx, f, token, true) }},
		{"making the file visible", "the user needs the right to rename files; for S3, to complete uploads",
			func() error { return p.Reveal(ctx, f, token, false) }},
		{"finding the file", "a file that was just written must be there: no other program may move it at once",
			func() error {
				same, _, err := p.Visible(ctx, f)
				if err == nil && !same {
					err = fmt.Errorf("%q is not there, or has other bytes", name)
				}
				return err
			}},
		{"listing temporary files", "the user needs the right to list directories; for S3, the uploads of the bucket",
			func() error { return p.Discard(ctx, name, 0) }},
		{"deleting the file", "the user needs the right to delete the files below the prefix",
			func() error { return p.Delete(ctx, name) }},
	}
	for _, step := range steps {
		err := step.do()
		if err == nil {
			continue
		}
		// The probe leaves nothing behind if it can: what it may not delete, it reports only once.
		_ = p.Discard(ctx, name, 0)
		_ = p.Delete(ctx, name)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if _, stalled := errors.AsType[*stalledError](err); stalled {
			return fmt.Errorf("%s failed: %w", step.what, err)
		}
		return fmt.Errorf("%s failed: %w: %s", step.what, err, step.remedy)
	}
	return nil
}
