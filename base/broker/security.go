package broker

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// compressions maps the names of Config.Compression to the codecs.
var compressions = map[string]kafka.Compression{
	"none":   0,
	"gzip":   kafka.Gzip,
	"snappy": kafka.Snappy,
	"lz4":    kafka.Lz4,
	"zstd":   kafka.Zstd,
}

// tlsConfig reads the certificates; nil means no TLS.
func (c TLSConfig) tlsConfig() (*tls.Config, error) {
	if !c.Enabled {
		return nil, nil
	}
	out := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         c.ServerName,
		InsecureSkipVerify: c.InsecureSkipVerify, //nolint:gosec // The operator asked for it by name.
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read tls.ca_file: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read tls.ca_file %s: no certificate in it", c.CAFile)
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

// mechanism returns how to sign in; nil means not at all.
func (c SASLConfig) mechanism() (sasl.Mechanism, error) {
	switch c.Mechanism {
	case MechanismNone:
		return nil, nil
	case MechanismPlain:
		return plain.Mechanism{Username: c.Username, Password: c.Password.Reveal()}, nil
	case MechanismScramSHA256:
		return scram.Mechanism(scram.SHA256, c.Username, c.Password.Reveal())
	case MechanismScramSHA512:
		return scram.Mechanism(scram.SHA512, c.Username, c.Password.Reveal())
	default:
		return nil, fmt.Errorf("sasl.mechanism %q is not known", c.Mechanism)
	}
}
