package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
)

// ClientTLS are the settings of encrypted connections to servers, under the key tls.
type ClientTLS struct {
	Enabled            bool   `koanf:"enabled" doc:"Whether connections to the servers use TLS."`
	CAFile             string `koanf:"ca_file" doc:"PEM file with the authorities that sign the servers' certificates. Empty means those of the system."`
	CertFile           string `koanf:"cert_file" doc:"PEM file with this program's certificate, for servers that require one. Needs key_file."`
	KeyFile            string `koanf:"key_file" doc:"PEM file with the key of cert_file."`
	ServerName         string `koanf:"server_name" doc:"Name that the servers' certificates must carry. Empty means the name that was dialled."`
	InsecureSkipVerify bool   `koanf:"insecure_skip_verify" doc:"Accept any certificate. For tests only: it disables the protection of TLS."`
}

// Validate returns a FieldError for each setting that cannot be used, sorted by their texts. It checks whether files
// exist and does not read them.
func (c ClientTLS) Validate() []error {
	if !c.Enabled {
		return nil
	}
	var errs []error
	if (c.CertFile == "") != (c.KeyFile == "") {
		errs = append(errs, &FieldError{Key: "tls.cert_file", Value: c.CertFile,
			Want: "cert_file and key_file together, or neither"})
	}
	for key, file := range map[string]string{"tls.ca_file": c.CAFile, "tls.cert_file": c.CertFile,
		"tls.key_file": c.KeyFile} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			errs = append(errs, &FieldError{Key: key, Value: file, Want: "a file that can be read"})
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// Load reads the certificates, once: a changed one is used after the next start. It returns nil if connections are
// not encrypted.
func (c ClientTLS) Load() (*tls.Config, error) {
	if !c.Enabled {
		return nil, nil
	}
	out := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         c.ServerName,
		InsecureSkipVerify: c.InsecureSkipVerify, //nolint:gosec // The operator has set it explicitly.
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read tls.ca_file: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read tls.ca_file %s: no certificate in PEM form", c.CAFile)
		}
	}
	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read tls.cert_file and tls.key_file: %w", err)
		}
		out.Certificates = []tls.Certificate{cert}
	}
	return out, nil
}
