package httpapi

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"adsync/base/config"
)

// TLSConfig is the server's certificate; connections are encrypted if it is set.
type TLSConfig struct {
	CertFile string `koanf:"cert_file" doc:"PEM file with the server's certificate and its chain. Empty means no TLS. Both files are read again when they change."`
	KeyFile  string `koanf:"key_file" doc:"PEM file with the key of cert_file."`
}

func (c TLSConfig) validate() []error {
	if (c.CertFile == "") != (c.KeyFile == "") {
		return []error{&config.FieldError{Key: "tls.cert_file", Value: c.CertFile,
			Want: "cert_file and key_file together, or neither"}}
	}
	return nil
}

// load returns the TLS settings of connections; nil means no TLS. A changed certificate is used from the next
// connection on.
func (c TLSConfig) load(logger *slog.Logger) (*tls.Config, error) {
	if c.CertFile == "" {
		return nil, nil
	}
	pair, err := config.Follow(logger, "api.tls", func(texts [][]byte) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(texts[0], texts[1])
		return &pair, err
	}, c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read api.tls.cert_file and api.tls.key_file: %w", err)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12, // All our callers speak it, and most speak 1.3.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Current(), nil },
	}, nil
}
