package place_test

import (
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"goftp.io/server/v2"
	ftpfile "goftp.io/server/v2/driver/file"

	"adsync/publish/place"
	"adsync/test/services/local"
)

// newCertificate returns a certificate for 127.0.0.1, and its PEM form for the client.
func newCertificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, ca, err := local.NewCertificate()
	require.NoError(t, err)
	certificate, err := tls.X509KeyPair([]byte(ca), []byte(key))
	require.NoError(t, err)
	return certificate, ca
}

// newFTPRig starts an FTP or FTPS server on a directory. An FTP server does not know some commands.
func newFTPRig(t *testing.T, kind string, options place.Options, unknown ...string) *rig {
	t.Helper()
	dir, f := t.TempDir(), &faults{}
	driver, err := ftpfile.NewDriver(dir)
	require.NoError(t, err)
	opt := &server.Options{
		Driver: &ftpDir{Driver: driver, dir: dir, faults: f}, Perm: server.NewSimplePerm("reports", "reports"),
		Auth: &server.SimpleAuth{Name: user, Password: password}, Hostname: "127.0.0.1", PublicIP: "127.0.0.1",
	}
	r := &rig{t: t, faults: f, config: place.Config{Kind: kind, Prefix: "daily/reports", User: user,
		Password: newSecret(password), Options: options}}
	if kind == place.KindFTPS {
		certificate, ca := newCertificate(t)
		r.config.CA = ca
		opt.TLS, opt.ExplicitFTPS = true, true
		opt.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
		opt.TLSConfig.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if hello.Conn.LocalAddr().(*net.TCPAddr).Port == opt.Port {
				return nil, nil
			}
			data := opt.TLSConfig.Clone()
			data.VerifyConnection = func(state tls.ConnectionState) error {
				if !state.DidResume {
					return errors.New("a data connection must resume the session of the control connection")
				}
				return nil
			}
			return data, nil
		}
	}
	if kind == place.KindFTP {
		opt.Commands = maps.Clone(server.DefaultCommands())
		maps.DeleteFunc(opt.Commands, func(command string, _ server.Command) bool {
			return slices.Contains(unknown, command)
		})
	}
	f.proxy = newProxy(t, startFTP(t, opt))
	r.config.Address = f.proxy.address()
	return r.onDisk(filepath.Join(dir, "daily/reports"))
}

// startFTP starts a server, which stops with the test, and returns its address. The library accepts no port 0, and
// no listener with explicit TLS: another process may take the port in between, and another one is tried then.
func startFTP(t *testing.T, opt *server.Options) string {
	t.Helper()
	for range 10 {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		opt.Port = listener.Addr().(*net.TCPAddr).Port
		require.NoError(t, listener.Close())
		up := make(chan struct{})
		opt.Logger = &ftpLog{listening: sync.OnceFunc(func() { close(up) })}
		s, err := server.NewServer(opt)
		require.NoError(t, err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.ListenAndServe()
		}()
		select {
		case <-ended:
			continue
		case <-up:
		}
		// The library has set its listener only when it accepts a connection.
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 1))
		require.NoError(t, err)
		_ = conn.Close()
		t.Cleanup(func() {
			_ = s.Shutdown()
			<-ended
		})
		return listener.Addr().String()
	}
	require.Fail(t, "no free port")
	return ""
}

// ftpLog notices that a server listens.
type ftpLog struct{ listening func() }

// Print implements server.Logger.
func (l *ftpLog) Print(string, any) {}

// Printf implements server.Logger.
func (l *ftpLog) Printf(_, format string, _ ...any) {
	if strings.Contains(format, "listening on") {
		l.listening()
	}
}

// PrintCommand implements server.Logger.
func (l *ftpLog) PrintCommand(string, string, string) {}

// PrintResponse implements server.Logger.
func (l *ftpLog) PrintResponse(string, int, string) {}

// ftpDir serves a directory with faults.
type ftpDir struct {
	server.Driver
	dir    string
	faults *faults
}

// Rename implements server.Driver.
func (d *ftpDir) Rename(_ *server.Context, from, to string) error {
	return d.faults.rename(filepath.Join(d.dir, from), filepath.Join(d.dir, to))
}

// MakeDir implements server.Driver. The library's also creates the directories above it, unlike other servers.
func (d *ftpDir) MakeDir(_ *server.Context, name string) error {
	return errors.Join(d.faults.mayChange(), os.Mkdir(filepath.Join(d.dir, name), 0o755))
}

// DeleteFile implements server.Driver.
func (d *ftpDir) DeleteFile(ctx *server.Context, name string) error {
	if err := d.faults.mayChange(); err != nil {
		return err
	}
	if d.faults.late.Swap(false) {
		return errors.Join(fs.ErrNotExist, os.WriteFile(filepath.Join(d.dir, name), []byte("late"), 0o600))
	}
	return d.Driver.DeleteFile(ctx, name)
}

// PutFile implements server.Driver.
func (d *ftpDir) PutFile(ctx *server.Context, name string, data io.Reader, at int64) (int64, error) {
	if err := d.faults.mayChange(); err != nil {
		// The library does not close the connection: the client waits for the handshake of TLS.
		_, _ = data.Read(make([]byte, 1))
		return 0, err
	}
	n, err := d.Driver.PutFile(ctx, name, &ftpData{Reader: data, faults: d.faults}, at)
	return n, errors.Join(err, d.faults.stored(filepath.Join(d.dir, name)))
}

// ftpData is what an upload receives.
type ftpData struct {
	io.Reader
	faults *faults
	total  int
}

// Read implements io.Reader.
func (d *ftpData) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.total += n
	if wrong := d.faults.received(d.total); wrong != nil {
		return 0, wrong
	}
	return n, err
}
