package publishing

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"goftp.io/server/v2"
	ftpfile "goftp.io/server/v2/driver/file"

	"adsync/test/services/local"
)

// serveFTPS starts an FTP server with explicit TLS on a directory, and returns its address and its certificate. Clients
// reach its data connections without the proxy.
func serveFTPS(ctx context.Context, dir string, f *faults, ports *local.Ports) (address, ca string, stop func(),
	err error) {
	key, ca, err := local.NewCertificate()
	if err != nil {
		return "", "", nil, err
	}
	certificate, err := tls.X509KeyPair([]byte(ca), []byte(key))
	if err != nil {
		return "", "", nil, err
	}
	driver, err := ftpfile.NewDriver(dir)
	if err != nil {
		return "", "", nil, err
	}
	port, err := ports.Take()
	if err != nil {
		return "", "", nil, err
	}
	s, err := server.NewServer(&server.Options{
		Driver: &ftpDir{Driver: driver, dir: dir, faults: f}, Perm: server.NewSimplePerm(login, login),
		Auth: &server.SimpleAuth{Name: login, Password: password}, Hostname: "127.0.0.1", PublicIP: "127.0.0.1",
		Port: port, TLS: true, ExplicitFTPS: true, Logger: &server.DiscardLogger{},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		return "", "", nil, err
	}
	go func() { _ = s.ListenAndServe() }()
	address = local.Loopback(port)
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			// The library has set its listener only when it accepts a connection.
			_, err = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
		if err == nil {
			return address, ca, func() { _ = s.Shutdown() }, nil
		}
		select {
		case <-ctx.Done():
			return "", "", nil, errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ftpDir serves a directory with faults.
type ftpDir struct {
	server.Driver
	dir    string
	faults *faults
}

// Rename implements server.Driver.
func (d *ftpDir) Rename(_ *server.Context, from, to string) error {
	return d.faults.rename(filepath.Join(d.dir, from), filepath.Join(d.dir, to), true)
}

// MakeDir implements server.Driver.
func (d *ftpDir) MakeDir(_ *server.Context, name string) error {
	if err := d.faults.mayChange(); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(d.dir, name), 0o755)
}

// DeleteFile implements server.Driver.
func (d *ftpDir) DeleteFile(ctx *server.Context, name string) error {
	if err := d.faults.mayChange(); err != nil {
		return err
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
	if err != nil {
		return n, err
	}
	return n, d.faults.stored(filepath.Join(d.dir, name))
}

// ftpData is what an upload receives.
type ftpData struct {
	io.Reader
	faults *faults
	total  int64
}

// Read implements io.Reader.
func (d *ftpData) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.total += int64(n)
	if wrong := d.faults.received(d.total); wrong != nil {
		return 0, wrong
	}
	return n, err
}
