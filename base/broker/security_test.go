package broker_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/config"
	"adsync/base/secret"
)

// useAll does everything that a client can do, over every kind of connection.
func useAll(t *testing.T, c *broker.Client) {
	t.Helper()
	require.NoError(t, c.Ping(testContext(t)))
	require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: "jobs"}}))
	write(t, c, numbered("jobs", 0, 60, 30))
	in := newInbox()
	join(t, c, "g", "jobs", in.finish)
	in.wait(t, 60)
	waitCommitted(t, c, "g", "jobs", 60)
}

func TestSASL(t *testing.T) {
	t.Parallel()
	mechanisms := map[string]string{
		broker.MechanismPlain: "PLAIN", broker.MechanismScramSHA256: "SCRAM-SHA-256",
		broker.MechanismScramSHA512: "SCRAM-SHA-512",
	}
	for mechanism, wire := range mechanisms {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			b := brokertest.NewFake(t, nil, kfake.EnableSASL(), kfake.Superuser(wire, "adsync", "right"))
			with := func(mechanism, password string) *broker.Client {
				return b.Client(t, func(cfg *broker.Config) {
					cfg.SASL = broker.SASLConfig{Mechanism: mechanism, Username: "adsync", Password: secret.NewText(password)}
					if password != "right" {
						cfg.WriteTimeout = 200 * time.Millisecond
					}
				})
			}
			useAll(t, with(mechanism, "right"))

			wrong := with(mechanism, "wrong")
			// This broker hangs up on a wrong password, as on a request before signing in, so the request is repeated.
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			require.Error(t, wrong.Ping(ctx))
			_, err := wrong.Write(testContext(t), numbered("jobs", 0, 1, 1))
			failed, ok := errors.AsType[*broker.WriteError](err)
			require.True(t, ok)
			require.Equal(t, []int{0}, failed.Failed, "a refused password means that nothing was sent")
			require.Error(t, with(broker.MechanismNone, "").Ping(ctx))
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server, client := ca.issue(t, "broker"), ca.issue(t, "adsync")
	strangers := newAuthority(t)
	pair, err := tls.LoadX509KeyPair(server.cert, server.key)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)

	start := func(t *testing.T, auth tls.ClientAuthType) *brokertest.Broker {
		t.Helper()
		return brokertest.NewFake(t, nil, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool,
			ClientAuth: auth}))
	}
	connect := func(t *testing.T, b *brokertest.Broker, cfg config.ClientTLS) *broker.Client {
		t.Helper()
		return b.Client(t, func(c *broker.Config) {
			cfg.Enabled = true
			c.TLS = cfg
		})
	}
	t.Run("a broker with the right certificate", func(t *testing.T) {
		t.Parallel()
		useAll(t, connect(t, start(t, tls.NoClientCert), config.ClientTLS{CAFile: ca.file}))
	})
	t.Run("a broker that requires a certificate", func(t *testing.T) {
		t.Parallel()
		b := start(t, tls.RequireAndVerifyClientCert)
		useAll(t, connect(t, b, config.ClientTLS{CAFile: ca.file, CertFile: client.cert, KeyFile: client.key}))
		require.Error(t, connect(t, b, config.ClientTLS{CAFile: ca.file}).Ping(testContext(t)))
	})
	t.Run("a certificate of an unknown authority is refused", func(t *testing.T) {
		t.Parallel()
		c := connect(t, start(t, tls.NoClientCert), config.ClientTLS{CAFile: strangers.file})
		require.ErrorContains(t, c.Ping(testContext(t)), "certificate")
		_, err := c.Write(testContext(t), numbered("jobs", 0, 1, 1))
		failed, ok := errors.AsType[*broker.WriteError](err)
		require.True(t, ok)
		require.Equal(t, []int{0}, failed.Failed)
	})
	t.Run("another name is refused", func(t *testing.T) {
		t.Parallel()
		c := connect(t, start(t, tls.NoClientCert), config.ClientTLS{CAFile: ca.file, ServerName: "elsewhere"})
		require.ErrorContains(t, c.Ping(testContext(t)), "elsewhere")
	})
	t.Run("any certificate passes if configured", func(t *testing.T) {
		t.Parallel()
		useAll(t, connect(t, start(t, tls.NoClientCert), config.ClientTLS{InsecureSkipVerify: true}))
	})
	t.Run("with a password in addition", func(t *testing.T) {
		t.Parallel()
		b := brokertest.NewFake(t, nil, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}), kfake.EnableSASL(),
			kfake.Superuser("PLAIN", "adsync", "right"))
		useAll(t, b.Client(t, func(c *broker.Config) {
			c.TLS = config.ClientTLS{Enabled: true, CAFile: ca.file}
			c.SASL = broker.SASLConfig{Mechanism: broker.MechanismPlain, Username: "adsync", Password: secret.NewText("right")}
		}))
	})
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

type keyPair struct{ cert, key string }

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{cert: cert, key: key, file: writePEM(t, "CERTIFICATE", der)}
}

func (a *authority) issue(t *testing.T, name string) keyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return keyPair{cert: writePEM(t, "CERTIFICATE", der), key: writePEM(t, "EC PRIVATE KEY", keyDER)}
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return file
}
