package standalone

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"adsync/base/secret"
	"adsync/standalone/live"
)

// dataDir is the directory that holds everything that survives a restart. One process at a time may open it.
type dataDir struct {
	path  string
	lock  *os.File
	temp  bool // made for this run and removed at its end
	isNew bool // it holds no world yet
}

// openDir opens or creates a data directory; path "" creates a temporary one. It refuses a directory that another
// process has open.
func openDir(path string) (*dataDir, error) {
	// Databases, logs of Kafka and keys are readable only by this user, whichever part creates them.
	syscall.Umask(0o077)
	d := &dataDir{path: path}
	if path == "" {
		made, err := os.MkdirTemp("", "adsync-once-")
		if err != nil {
			return nil, err
		}
		d.path, d.temp = made, true
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(d.path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil,
			errors.Join(fmt.Errorf("the data directory %s is in use by another adsync: stop it, or give this one another --data",
				d.path), lock.Close())
	}
	d.lock = lock
	if err := d.tighten(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d.isNew = !d.has("config.db") && !d.has(serversFile)
	return d, nil
}

// file returns a path inside the directory.
func (d *dataDir) file(name string) string { return filepath.Join(d.path, name) }

func (d *dataDir) has(name string) bool {
	_, err := os.Stat(d.file(name))
	return !errors.Is(err, os.ErrNotExist)
}

// close releases the directory, and removes it if it is temporary.
func (d *dataDir) close() error {
	// Closing alone would leave the lock to a process that is being started: it has copies of all open files at first.
	err := errors.Join(syscall.Flock(int(d.lock.Fd()), syscall.LOCK_UN), d.lock.Close())
	if d.temp {
		err = errors.Join(err, os.RemoveAll(d.path))
	}
	return err
}

// box returns the box that seals tokens, with the key from the directory; the first start creates the key.
func (d *dataDir) box() (*secret.Box, error) {
	path := d.file("secret.key")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		text = []byte(base64.StdEncoding.EncodeToString(key) + "\n")
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("the key that seals tokens: %w", err)
	}
	box, err := secret.NewBox(secret.Key{ID: "standalone", Key: secret.NewText(strings.TrimSpace(string(text)))})
	if err != nil {
		return nil, fmt.Errorf("the key in %s: %w", path, err)
	}
	return box, nil
}

// liveMark is the file that names the real account that a data directory holds.
const liveMark = "live.json"

// holds refuses a directory of a real account for another account or for a simulated world, and the reverse: a real
// token must not be sent to a simulator, nor a simulated one to a platform.
func (d *dataDir) holds(l *live.Pull) error {
	type mark struct {
		Media   string `json:"media"`
		Account string `json:"account"`
	}
	var have mark
	text, err := os.ReadFile(d.file(liveMark))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read the data directory: %w", err)
	default:
		if err := json.Unmarshal(text, &have); err != nil {
			return fmt.Errorf("%s cannot be read: %w", d.file(liveMark), err)
		}
	}
	if l == nil {
		if have.Media != "" {
			return fmt.Errorf("the data directory %s holds %s account %s: give this run another --data", d.path, have.Media,
				have.Account)
		}
		return nil
	}
	want := mark{Media: l.Media, Account: l.Account}
	if have == want {
		return nil
	}
	holds := fmt.Sprintf("%s account %s", have.Media, have.Account)
	if have.Media == "" {
		if d.isNew {
			text, _ := json.Marshal(want) // two texts
			return os.WriteFile(d.file(liveMark), append(text, '\n'), 0o600)
		}
		holds = "simulated accounts"
	}
	return fmt.Errorf("the data directory %s holds %s: give this run another --data", d.path, holds)
}

// owned holds the names of the files that standalone creates in the directory. Other files may exist next to them.
var owned = []string{"lock", "config.db*", "data.db*", partnerFile + "*", spoolDir, reportsDir, "secret.key",
	serversFile, liveMark, "kafka", "world"}

// tighten removes other users' rights from the files that an earlier release left in the directory.
func (d *dataDir) tighten() error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, pattern := range owned {
		found, err := fs.Glob(root.FS(), pattern)
		if err != nil {
			return err
		}
		for _, name := range found {
			if err := fs.WalkDir(root.FS(), name, makePrivate(root)); err != nil {
				return fmt.Errorf("take the rights of others from the data directory: %w", err)
			}
		}
	}
	return nil
}

func makePrivate(root *os.Root) fs.WalkDirFunc {
	return func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 || info.Mode().Perm()&0o077 == 0 {
			return err
		}
		return root.Chmod(path, info.Mode().Perm()&0o700)
	}
}
