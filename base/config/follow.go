package config

import (
	"bytes"
	"log/slog"
	"os"
	"sync"
	"time"

	"adsync/base/clock"
)

// followAge is how long what was read from files is used before they are read again.
const followAge = time.Second

// Followed holds a value made from files that may change while the program runs, such as certificates and keys:
// replacing them, in whatever way, needs no restart. The files are read when the value is used, at most once a
// second, and compared by content. While they cannot be used, for example between the changes of two files that
// belong together, the earlier value stays.
type Followed[T any] struct {
	what  string // the settings that name the files
	files []string
	make  func(texts [][]byte) (T, error)
	log   *slog.Logger

	mu      sync.Mutex
	readAt  time.Time
	texts   [][]byte
	value   T
	refused string // why the files cannot be used now, as logged
}

// Follow reads files for the first time. What names them in the log. makeFunc makes the value from their texts; its
// errors must not contain any of the texts.
func Follow[T any](logger *slog.Logger, what string, makeFunc func(texts [][]byte) (T, error),
	files ...string) (*Followed[T], error) {
	f := &Followed[T]{what: what, files: files, make: makeFunc, log: logger}
	_, err := f.read()
	f.readAt = clock.Mark()
	return f, err
}

// Current returns the value of the files, or the last valid one.
func (f *Followed[T]) Current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if clock.Since(f.readAt) >= followAge {
		f.reload()
	}
	return f.value
}

// Reload is Current, but always reads the files.
func (f *Followed[T]) Reload() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reload()
	return f.value
}

func (f *Followed[T]) reload() {
	f.readAt = clock.Mark()
	changed, err := f.read()
	switch {
	case err == nil:
		f.refused = ""
		if changed {
			f.log.Info("files named by settings have changed and are in use", "settings", f.what)
		}
	case err.Error() != f.refused: // One line per cause, not one per reading.
		f.refused = err.Error()
		f.log.Error("changed files cannot be used: their earlier contents stay in use", "settings", f.what, "err", err)
	}
}

func (f *Followed[T]) read() (changed bool, err error) {
	texts := make([][]byte, len(f.files))
	same := len(f.texts) == len(texts)
	for i, file := range f.files {
		if texts[i], err = os.ReadFile(file); err != nil {
			return false, err
		}
		same = same && bytes.Equal(texts[i], f.texts[i])
	}
	if same {
		return false, nil
	}
	value, err := f.make(texts)
	if err != nil {
		return false, err
	}
	f.texts, f.value = texts, value
	return true, nil
}
