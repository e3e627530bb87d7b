package place_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/publish/place"
)

const (
	user     = "reports"
	password = "correct-horse-battery"
)

// rig is a destination under test.
type rig struct {
	t      *testing.T
	config place.Config
	// faults are the faults of its server, nil for a directory.
	faults *faults
	// read returns a visible file, write makes one as another program does.
	read  func(name string) (content string, exists bool)
	write func(name, content string)
	// files returns the names of all files, sorted, with temporary ones and with "upload NAME" for an open upload.
	files func() []string
	// damage replaces the temporary file of a delivery, if the destination allows it.
	damage func(name, content string)
}

// kinds are the destinations that every test of the suite runs with.
var kinds = []string{"dir", "s3", "sftp", "sftp without posix-rename", "ftp", "ftp without SIZE and EPSV",
	"ftps", "ftps with TLS 1.2", "ftps implicit"}

// newRig starts a destination of a kind.
func newRig(t *testing.T, kind string) *rig {
	t.Helper()
	switch kind {
	case "dir":
		return newDirRig(t)
	case "s3":
		return newS3Rig(t).rig
	case "sftp":
		return newSFTPRig(t, true)
	case "sftp without posix-rename":
		return newSFTPRig(t, false)
	case "ftp":
		return newFTPRig(t, place.KindFTP, place.Options{})
	case "ftp without SIZE and EPSV":
		return newFTPRig(t, place.KindFTP, place.Options{}, "SIZE", "EPSV")
	case "ftps implicit":
		return newImplicitRig(t)
	case "ftps":
		return newFTPRig(t, place.KindFTPS, place.Options{})
	case "OpenSSH", "vsftpd", "vsftpd with TLS 1.2":
		return newPackageRig(t, kind)
	default:
		return newFTPRig(t, place.KindFTPS, place.Options{TLSMax: "1.2"})
	}
}

// each runs a test with each kind of destination, and with the servers of packages that run.
func each(t *testing.T, test func(r *rig)) {
	t.Helper()
	eachKind(t, slices.Concat(kinds, packageKinds()), test)
}

// eachServer runs a test with each kind of destination that has a server with faults.
func eachServer(t *testing.T, test func(r *rig)) {
	t.Helper()
	eachKind(t, kinds[1:], test)
}

// eachFTP runs a test with each kind of FTP and FTPS: an upload has a connection of its own there.
func eachFTP(t *testing.T, test func(r *rig)) {
	t.Helper()
	eachKind(t, slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool {
		return !strings.HasPrefix(kind, "ftp")
	}), test)
}

func eachKind(t *testing.T, kinds []string, test func(r *rig)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(newRig(t, kind))
		})
	}
}

// open returns the destination, which is closed with the test.
func (r *rig) open(t *testing.T) place.Place {
	t.Helper()
	p, err := place.Open(t.Context(), r.config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// file returns a file to deliver.
func file(name string, delivery int64, content string) place.File {
	return place.File{Name: name, Delivery: delivery, Size: int64(len(content)),
		SHA256: sha256.Sum256([]byte(content)), Content: bytes.NewReader([]byte(content))}
}

// large returns n bytes that do not repeat soon.
func large(n int) string {
	out := make([]byte, 0, n+32)
	sum := sha256.Sum256(nil)
	for len(out) < n {
		out = append(out, sum[:]...)
		sum = sha256.Sum256(sum[:])
	}
	return string(out[:n])
}

func noKeep(string) error { return nil }

// upload uploads a file and returns its token.
func upload(t *testing.T, p place.Place, f place.File) string {
	t.Helper()
	token, err := p.Upload(t.Context(), f, noKeep)
	require.NoError(t, err)
	return token
}

// deliver takes a file through all steps.
func deliver(t *testing.T, p place.Place, f place.File) {
	t.Helper()
	token := upload(t, p, f)
	require.NoError(t, p.Verify(t.Context(), f, token, true))
	require.NoError(t, p.Discard(t.Context(), f.Name, f.Delivery))
	require.NoError(t, p.Reveal(t.Context(), f, token, true))
}

// requireFile checks a visible file.
func (r *rig) requireFile(t *testing.T, name, content string) {
	t.Helper()
	got, exists := r.read(name)
	require.True(t, exists, "%s is visible", name)
	require.Equal(t, content, got)
}

// onDisk completes a rig whose files are in a local directory.
func (r *rig) onDisk(dir string) *rig {
	r.read = func(name string) (string, bool) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return "", false
		}
		require.NoError(r.t, err)
		return string(content), true
	}
	r.write = func(name, content string) {
		require.NoError(r.t, os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o755))
		require.NoError(r.t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	r.damage = func(name, content string) {
		_, exists := r.read(name)
		require.True(r.t, exists, "there is a temporary file")
		r.write(name, content)
	}
	r.files = func() []string {
		names := []string{}
		err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name, _ := filepath.Rel(dir, at)
				names = append(names, filepath.ToSlash(name))
			}
			return err
		})
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(r.t, err)
		}
		slices.Sort(names)
		return names
	}
	return r
}

func newDirRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, config: place.Config{Kind: place.KindDir, Address: dir, Prefix: "daily/reports"}}
	return r.onDisk(filepath.Join(dir, "daily/reports"))
}

// faults are what a server does wrong. They can change while it runs.
type faults struct {
	readOnly   atomic.Bool  // refuses every change
	full       atomic.Bool  // has no space for any byte
	loses      atomic.Bool  // confirms every upload and stores half of it
	cutsUpload atomic.Bool  // cuts the connection in the middle of the next upload
	cutsStored atomic.Bool  // stores the next upload, and cuts the connection instead of an answer
	cutsRename atomic.Bool  // renames, and cuts the connection instead of an answer
	late       atomic.Bool  // finds no file to delete, and makes it then for an upload whose client has ended
	keepsOld   atomic.Bool  // refuses to rename onto an existing file
	renames    atomic.Int64 // counts renames that were done
	proxy      *proxy
	posix      bool                   // an SFTP server offers posix-rename@openssh.com
	key        atomic.Pointer[string] // the public key of an SFTP user
}

// mayChange returns the error of a server that refuses changes.
func (f *faults) mayChange() error {
	if f.readOnly.Load() {
		return syscall.EACCES
	}
	return nil
}

// rename renames a file of the server's directory.
func (f *faults) rename(from, to string) error {
	if err := f.mayChange(); err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil && f.keepsOld.Load() {
		return fs.ErrExist
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	f.renames.Add(1)
	if f.cutsRename.Swap(false) {
		f.proxy.cut()
	}
	return nil
}

// stored is called by a server when it has written an uploaded file.
func (f *faults) stored(file string) error {
	var err error
	if f.loses.Load() {
		var info fs.FileInfo
		if info, err = os.Stat(file); err == nil {
			err = os.Truncate(file, info.Size()/2)
		}
	}
	// Last: the client looks at the file as soon as the connection is cut.
	if f.cutsStored.Swap(false) {
		f.proxy.cut()
	}
	return err
}

// received is called by a server for the bytes of an upload before they are stored.
func (f *faults) received(total int) error {
	if f.full.Load() {
		return syscall.ENOSPC
	}
	if total > 100_000 && f.cutsUpload.Swap(false) {
		f.proxy.cut()
		return net.ErrClosed
	}
	return nil
}

// proxy passes the bytes of TCP connections to a server, until it is cut.
type proxy struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// newProxy starts a proxy for a server's address. It stops with the test.
func newProxy(t *testing.T, backend string) *proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener}
	p.wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(t.Context(), "tcp", backend)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			p.wg.Go(func() { p.pass(server, client) })
			p.wg.Go(func() { p.pass(client, server) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// pass copies the bytes of one direction.
func (p *proxy) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	_, _ = io.Copy(to, from)
}

// cut closes all connections. New ones can be opened.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func newSecret(text string) secret.Text { return secret.NewText(text) }
