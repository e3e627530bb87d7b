package httpapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// issue writes a self-signed certificate of 127.0.0.1 with a serial number, and its key.
func issue(t *testing.T, cfg TLSConfig, number int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: "adsync"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cfg.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(cfg.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
		0o600))
}

// encrypted starts a server with the certificate 1.
func encrypted(t *testing.T) (*bundle, TLSConfig) {
	t.Helper()
	files := TLSConfig{CertFile: filepath.Join(t.TempDir(), "tls.crt"), KeyFile: filepath.Join(t.TempDir(), "tls.key")}
	issue(t, files, 1)
	b := setup(t, withTokens, func(c *Config) { c.TLS = files })
	require.NoError(t, b.Start(t.Context()))
	t.Cleanup(b.Stop)
	return b.open(t), files
}

// served returns the serial number of the certificate of a new connection.
func (b *bundle) served(t *testing.T) int64 {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(t.Context(), "tcp", b.Addr())
	require.NoError(t, err)
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestTLS_AnswersOnlyTLS(t *testing.T) {
	t.Parallel()
	b, files := encrypted(t)
	text, err := os.ReadFile(files.CertFile)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	ask := func(scheme string, settings *tls.Config) (int, error) {
		transport := &http.Transport{TLSClientConfig: settings}
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+b.Addr()+"/api/who", http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+viewerToken)
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}

	status, err := ask("https", &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS12})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	status, err = ask("https", &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	_, err = ask("https", &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	require.ErrorContains(t, err, "protocol version")
	status, err = ask("http", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status, "a token that is sent in the clear is noticed")
}

func TestTLS_ServesNewCertificatesWithoutARestart(t *testing.T) {
	t.Parallel()
	b, files := encrypted(t)
	require.EqualValues(t, 1, b.served(t))

	issue(t, files, 2)
	require.Eventually(t, func() bool { return b.served(t) == 2 }, 10*time.Second, 50*time.Millisecond)

	// In the middle of the next change: a certificate that is not the key's.
	key, err := os.ReadFile(files.KeyFile)
	require.NoError(t, err)
	issue(t, files, 3)
	next, err := os.ReadFile(files.KeyFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.KeyFile, key, 0o600))
	require.Eventually(t, func() bool {
		require.NotEqualValues(t, 1, b.served(t))
		return strings.Contains(b.log.String(), "cannot be used")
	}, 10*time.Second, 50*time.Millisecond)
	require.EqualValues(t, 2, b.served(t), "the previous pair is served")
	require.NoError(t, os.WriteFile(files.KeyFile, next, 0o600))
	require.Eventually(t, func() bool { return b.served(t) == 3 }, 10*time.Second, 50*time.Millisecond)
}

func TestTLS_UnusableFilesEndTheStart(t *testing.T) {
	t.Parallel()
	files := TLSConfig{CertFile: filepath.Join(t.TempDir(), "tls.crt"), KeyFile: filepath.Join(t.TempDir(), "tls.key")}
	_, err := files.load(slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "read api.tls.cert_file and api.tls.key_file: open "+files.CertFile)
	require.NoError(t, os.WriteFile(files.CertFile, []byte("hunter2"), 0o600))
	require.NoError(t, os.WriteFile(files.KeyFile, []byte("hunter2"), 0o600))
	_, err = files.load(slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "read api.tls.cert_file and api.tls.key_file: ")
	require.NotContains(t, err.Error(), "hunter2")

	cfg := DefaultConfig()
	cfg.TLS.KeyFile = "x"
	require.ErrorContains(t, cfg.Validate(), "tls.cert_file: want cert_file and key_file together, or neither")
}
