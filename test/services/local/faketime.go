package local

import (
	"context"
	"errors"
	"io"
	"path/filepath"
)

// fakeTimePattern is where Debian has the library for programs with threads.
const fakeTimePattern = "/usr/lib/*/faketime/libfaketimeMT.so.1"

// FakeTime returns the path of a library that, preloaded, shifts a program's time (see MariaDB.Env), and installs it
// if it is missing.
func FakeTime(ctx context.Context, stderr io.Writer) (string, error) {
	if err := ensurePrograms(ctx, stderr, []string{"faketime"}, []string{"faketime"}); err != nil {
		return "", err
	}
	found, err := filepath.Glob(fakeTimePattern)
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, errors.New("libfaketime is not at "+fakeTimePattern))
	}
	return found[0], nil
}
