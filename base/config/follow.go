package config

import (
	"bytes"
	"log/slog"
	"os"
	"sync"
	"time"

	"adsync/base/clock"
)

// followAge is how long what was read from files is used before they are looked at again.
const followAge = time.Second

// Followed is what was made of files that may change while the program runs, such as certificates and keys: whoever replaces them, in whatever way, need
// not restart it. They are looked at by who needs them, at most once in a second, by what is in them. While they cannot be used, as
// between the changes of two files that belong together, what was made of them before holds.
type Followed[T any] struct {
	what  string // the settings that name the files
	files []string
	make  func(texts [][]byte) (T, error)
	log   *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	texts   [][]byte
	value   T
	refused string // why the files cannot be used now, as the log was told
}

// Follow reads files for the first time. What names them in the log; make makes of their texts what is needed, with an error that holds nothing of them.
func Follow[T any](logger *slog.Logger, what string, makeFunc func(texts [][]byte) (T, error), files ...string) (*Followed[T], error) {
	f := &Followed[T]{what: what, files: files, make: makeFunc, log: logger}
	_, err := f.read()
	f.looked = clock.Mark()
	return f, err
}

// Current returns what the files say, or said when they could last be used.
func (f *Followed[T]) Current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if clock.Since(f.looked) >= followAge {
		f.look()
	}
	return f.value
}

// Look is Current, but looks at the files in any case.
func (f *Followed[T]) Look() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return f.value
}

func (f *Followed[T]) look() {
	f.looked = clock.Mark()
	changed, err := f.read()
	switch {
	case err == nil:
		f.refused = ""
		if changed {
			f.log.Info("files that settings name have changed, and are in use", "settings", f.what)
		}
	case err.Error() != f.refused: // One line per cause, not one per look.
		f.refused = err.Error()
		f.log.Error("files that settings name have changed and cannot be used; what they said before holds", "settings", f.what, "err", err)
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
