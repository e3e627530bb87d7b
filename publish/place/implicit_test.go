package place_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/place"
)

// newImplicitRig starts an FTP server behind a front that encrypts its connections from their first byte. The library's
// own implicit TLS does not encrypt data connections.
func newImplicitRig(t *testing.T) *rig {
	t.Helper()
	r := newFTPRig(t, place.KindFTP, place.Options{})
	certificate, ca := newCertificate(t)
	front := &implicitFront{backend: r.config.Address, config: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	front.wg.Go(func() { front.serve(t.Context(), listener) })
	t.Cleanup(front.wg.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	r.faults.proxy = newProxy(t, listener.Addr().String())
	r.config.Kind, r.config.Address, r.config.CA = place.KindFTPS, r.faults.proxy.address(), ca
	r.config.Options.Implicit = true
	return r
}

// implicitFront passes encrypted connections to an FTP server without encryption.
type implicitFront struct {
	backend string
	config  *tls.Config
	wg      sync.WaitGroup
}

func (f *implicitFront) serve(ctx context.Context, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() {
			client := tls.Server(conn, f.config)
			defer client.Close()
			server, err := new(net.Dialer).DialContext(ctx, "tcp", f.backend)
			if err != nil {
				return
			}
			defer server.Close()
			f.wg.Go(func() {
				defer server.Close()
				f.commands(server, client)
			})
			f.replies(ctx, client, server)
		})
	}
}

// commands passes the client's commands, and confirms itself those about encryption.
func (f *implicitFront) commands(server io.Writer, client io.ReadWriter) {
	for lines := bufio.NewScanner(client); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "PBSZ") || strings.HasPrefix(line, "PROT") {
			_, _ = io.WriteString(client, "200 OK\r\n")
			continue
		}
		if _, err := io.WriteString(server, lines.Text()+"\r\n"); err != nil {
			return
		}
	}
}

// replies passes the server's replies, with the port of an encrypted data connection.
func (f *implicitFront) replies(ctx context.Context, client io.Writer, server io.Reader) {
	for lines := bufio.NewScanner(server); lines.Scan(); {
		line := lines.Text()
		if before, after, passive := strings.Cut(line, "(|||"); passive {
			port := f.data(ctx, strings.TrimSuffix(after, "|)"))
			line = fmt.Sprintf("%s(|||%d|)", before, port)
		}
		if _, err := io.WriteString(client, line+"\r\n"); err != nil {
			return
		}
	}
}

// data encrypts the next connection to a port of the server, and returns its own port.
func (f *implicitFront) data(ctx context.Context, port string) int {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	f.wg.Go(func() {
		defer stop()
		defer listener.Close()
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		client := tls.Server(conn, f.config)
		defer client.Close()
		if client.HandshakeContext(ctx) != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err != nil {
			return
		}
		defer server.Close()
		var up sync.WaitGroup
		up.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.Close() // The library does not close its side after an upload.
		})
		_, _ = io.Copy(client, server)
		_ = client.CloseWrite()
		up.Wait()
	})
	return listener.Addr().(*net.TCPAddr).Port
}
