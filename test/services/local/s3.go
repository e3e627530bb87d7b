package local

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// s3Bucket is the one bucket of an S3 server.
const s3Bucket = "reports"

// S3 is an S3-compatible server with one bucket, which keeps each object as a file: versitygw, with TLS.
type S3 struct {
	FileLogin

	dir    string
	listen string
}

// Name implements Kind.
func (*S3) Name() string { return "s3" }

// Install implements Kind. It installs nothing: the program must be on the PATH.
func (*S3) Install(context.Context, io.Writer) error {
	if _, err := lookProgram("versitygw"); err != nil {
		return fmt.Errorf("versitygw: %w on the PATH: `make demo` builds it", ErrNotInstalled)
	}
	return nil
}

func (s *S3) prepare(_ context.Context, dir string, ports *Ports) error {
	if _, err := s.FileLogin.prepare(dir, ports); err != nil {
		return err
	}
	key, certificate, err := NewCertificate()
	if err != nil {
		return err
	}
	s.dir, s.listen = dir, s.Address
	s.Address, s.User, s.Password, s.CA = "https://"+s.listen+"/"+s3Bucket, "reports", rand.Text(), certificate
	s.Dir = filepath.Join(s.Dir, s3Bucket)
	return errors.Join(
		os.Mkdir(s.Dir, 0o755),
		os.Mkdir(filepath.Join(dir, "attributes"), 0o755),
		os.WriteFile(filepath.Join(dir, "key"), []byte(key), 0o600),
		os.WriteFile(filepath.Join(dir, "certificate"), []byte(certificate), 0o600))
}

func (s *S3) command() (*exec.Cmd, error) {
	program, err := lookProgram("versitygw")
	if err != nil {
		return nil, err
	}
	// Not CommandContext: the server is stopped by its process group, with time to end on its own. Attributes are files
	// of their own, because a file system in memory may have none.
	cmd := exec.Command(program, "--port", s.listen, "--cert", filepath.Join(s.dir, "certificate"),
		"--key", filepath.Join(s.dir, "key"), "posix", "--sidecar", filepath.Join(s.dir, "attributes"),
		filepath.Dir(s.Dir))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.User, "ROOT_SECRET_KEY="+s.Password)
	return cmd, nil
}

// Setting implements Kind.
func (s *S3) Setting() string { return s.setting("ADSYNC_TEST_S3") }

// Ready implements Kind.
func (s *S3) Ready(ctx context.Context) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(s.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.Address, s3Bucket), nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close() // Any answer will do: the request is not signed.
}
