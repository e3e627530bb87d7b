package publishing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"adsync/test/chaos/proxy"
	"adsync/test/services/local"
)

// The kinds of destinations, which are their names and those of their subscriptions too.
const (
	onDir  = "dir"
	onS3   = "s3"
	onSFTP = "sftp"
	onFTPS = "ftps"
)

// served are the kinds that have a server.
var served = []string{onS3, onSFTP, onFTPS}

// The login of all servers.
const (
	login    = "reports"
	password = "correct-horse-battery"
)

// shelf is a destination.
type shelf struct {
	kind   string
	row    map[string]any // its settings, for the API
	faults *faults
	// files returns all files by name, also temporary ones. An unfinished upload is "upload NAME".
	files func() (map[string][]byte, error)
	stop  func()
}

// openShelf starts a destination with its files in dir, which is absolute.
func openShelf(ctx context.Context, kind, dir string, ports *local.Ports) (*shelf, error) {
	s := &shelf{kind: kind, row: map[string]any{"kind": kind}, faults: &faults{}, stop: func() {}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s.files = func() (map[string][]byte, error) { return filesOf(dir) }
	options := map[string]any{"connections": connections}
	s.row["options"] = options
	if kind == onDir {
		s.row["address"] = dir
		return s, nil
	}
	port, err := ports.Take()
	if err != nil {
		return nil, err
	}
	if s.faults.proxy, err = proxy.Listen(local.Loopback(port)); err != nil {
		return nil, err
	}
	var address string
	options["timeout_seconds"] = 5
	switch kind {
	case onS3:
		address, s.files, s.stop, err = serveS3(ctx, s.faults)
		s.row["address"] = "http://" + s.faults.proxy.Addr() + "/" + bucket
		options["path_style"], options["part_mib"] = true, 5
	case onSFTP:
		address, s.row["host_key"], s.stop, err = serveSFTP(ctx, dir, s.faults)
		s.row["address"] = s.faults.proxy.Addr()
	case onFTPS:
		address, s.row["ca"], s.stop, err = serveFTPS(ctx, dir, s.faults, ports)
		s.row["address"] = s.faults.proxy.Addr()
	}
	if err != nil {
		return nil, fmt.Errorf("start the destination %s: %w", kind, err)
	}
	s.row["login"], s.row["password"] = login, password
	s.faults.proxy.Target(address)
	return s, nil
}

// connections is the limit of each destination. A killed or paused try holds its connection until its deadline.
const connections = 32

// away makes the server refuse all connections until the faults end.
func (s *shelf) away() { s.faults.proxy.Cut() }

// struck returns how often its faults struck.
func (s *shelf) struck() int {
	n := int(s.faults.struck.Load())
	if s.faults.proxy != nil {
		n += s.faults.proxy.Struck()
	}
	return n
}

func (s *shelf) close() {
	s.stop()
	if s.faults.proxy != nil {
		s.faults.proxy.Close()
	}
}

// filesOf returns the files below a directory.
func filesOf(dir string) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // It was renamed or deleted meanwhile.
		}
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = content
		return err
	})
	return all, err
}

// listen listens on a free port of this machine.
func listen(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}
