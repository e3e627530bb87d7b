package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/config"
	"adsync/base/secret"
)

func valid() broker.Config {
	cfg := broker.DefaultConfig()
	cfg.Brokers = []string{"kafka-1:9092", "[::1]:9092"}
	return cfg
}

func TestConfig_DefaultsNeedOnlyBrokers(t *testing.T) {
	t.Parallel()
	require.NoError(t, valid().Validate())
	require.EqualError(t, broker.DefaultConfig().Validate(), "brokers: want at least one host:port")
}

func TestConfig_Refuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*broker.Config)
		keys   []string
	}{
		{"an address without a port", func(c *broker.Config) { c.Brokers = []string{"kafka"} }, []string{"brokers"}},
		{"a prefix that topics cannot have", func(c *broker.Config) { c.Prefix = "a b" }, []string{"prefix"}},
		{"no partitions", func(c *broker.Config) { c.Partitions = 0 }, []string{"partitions"}},
		{"no copies", func(c *broker.Config) { c.Replication, c.MinInsync = 0, 0 }, []string{"replication"}},
		{"more copies in sync than there are", func(c *broker.Config) { c.MinInsync = 4 }, []string{"min_insync"}},
		{"a short retention", func(c *broker.Config) { c.Retention = time.Minute }, []string{"retention"}},
		{"an unknown compression", func(c *broker.Config) { c.Compression = "brotli" }, []string{"compression"}},
		{"a drain as long as the session", func(c *broker.Config) { c.DrainTimeout = c.SessionTimeout },
			[]string{"drain_timeout"}},
		{"a drain that leaves no time to release partitions",
			func(c *broker.Config) { c.SessionTimeout, c.DrainTimeout = 6*time.Second, 3*time.Second },
			[]string{"drain_timeout"}},
		{"a session brokers refuse", func(c *broker.Config) { c.SessionTimeout = time.Second; c.DrainTimeout = 0 },
			[]string{"session_timeout"}},
		{"a rebalance shorter than the drain", func(c *broker.Config) { c.RebalanceTimeout = 9 * time.Second },
			[]string{"rebalance_timeout"}},
		{"no commits", func(c *broker.Config) { c.CommitInterval = 0 }, []string{"commit_interval"}},
		{"no time to write", func(c *broker.Config) { c.WriteTimeout = 0 }, []string{"write_timeout"}},
		{"no span", func(c *broker.Config) { c.Span = 0 }, []string{"span"}},
		{"a certificate without its key", func(c *broker.Config) {
			c.TLS = config.ClientTLS{Enabled: true,
				CertFile: os.Args[0]}
		}, []string{"tls.cert_file"}},
		{"a missing file", func(c *broker.Config) { c.TLS = config.ClientTLS{Enabled: true, CAFile: "/nowhere"} },
			[]string{"tls.ca_file"}},
		{"an unknown mechanism", func(c *broker.Config) { c.SASL.Mechanism = "oauthbearer" }, []string{"sasl.mechanism"}},
		{"a mechanism without user and password", func(c *broker.Config) { c.SASL.Mechanism = "plain" },
			[]string{"sasl.username", "sasl.password"}},
		{"several at once", func(c *broker.Config) { c.Span, c.Partitions, c.Brokers = 0, 0, nil },
			[]string{"brokers", "partitions", "span"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := valid()
			test.change(&cfg)
			joined, ok := cfg.Validate().(interface{ Unwrap() []error })
			require.True(t, ok)
			var keys []string
			for _, err := range joined.Unwrap() {
				field, ok := errors.AsType[*config.FieldError](err)
				require.True(t, ok)
				require.NotEmpty(t, field.Want)
				keys = append(keys, field.Key)
			}
			require.Equal(t, test.keys, keys)
		})
	}
}

func TestConfig_PasswordStaysSecret(t *testing.T) {
	t.Parallel()
	cfg := valid()
	cfg.SASL = broker.SASLConfig{Mechanism: "kerberos", Username: "u", Password: secret.NewText("hunter2")}
	require.NotContains(t, cfg.Validate().Error(), "hunter2")
}

func TestNew_CertificatesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, cfg := range map[string]config.ClientTLS{
		"tls.ca_file":   {Enabled: true, CAFile: file},
		"tls.cert_file": {Enabled: true, CertFile: file, KeyFile: file},
	} {
		with := valid()
		with.TLS = cfg
		_, err := broker.New(with, brokertest.Logger(t), prometheus.NewRegistry())
		require.ErrorContains(t, err, name)
	}
}
