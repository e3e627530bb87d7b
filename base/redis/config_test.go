package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/secret"
)

func TestConfig_Validate(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string // empty means valid
	}{
		{"sentinel", func(c *Config) { c.Mode, c.Addrs, c.MasterName = ModeSentinel, []string{"a:1", "b:1"}, "main" }, ""},
		{"cluster", func(c *Config) { c.Mode, c.Addrs = ModeCluster, []string{"a:1"} }, ""},
		{"an IPv6 address", func(c *Config) { c.Addrs = []string{"[::1]:6379"} }, ""},
		{"an unknown mode", func(c *Config) { c.Mode = "ring" }, `mode: "ring" is refused: want single, sentinel or cluster`},
		{"two servers in mode single", func(c *Config) { c.Addrs = []string{"a:1", "b:1"} }, "exactly one host:port"},
		{"no address", func(c *Config) { c.Mode, c.Addrs = ModeCluster, nil }, "addrs: want at least one host:port"},
		{"an address without port", func(c *Config) { c.Addrs = []string{"localhost"} },
			`addrs: "localhost" is refused: want host:port`},
		{"sentinel without master", func(c *Config) { c.Mode = ModeSentinel }, "master_name: want the name"},
		{"a master without sentinel", func(c *Config) { c.MasterName = "main" }, "nothing unless mode is sentinel"},
		{"a database in a cluster", func(c *Config) { c.Mode, c.DB = ModeCluster, 2 }, "0 in mode cluster"},
		{"a negative database", func(c *Config) { c.DB = -1 }, "db: "},
		{"no prefix", func(c *Config) { c.KeyPrefix = "" }, "key_prefix: want"},
		{"braces in the prefix", func(c *Config) { c.KeyPrefix = "{a}" }, "without braces"},
		{"a certificate without key", func(c *Config) { c.TLS = config.ClientTLS{Enabled: true, CertFile: "x"} },
			"cert_file and key_file together"},
		{"TLS settings without TLS", func(c *Config) { c.TLS.CAFile = "x" }, "tls.enabled"},
		{"no connections", func(c *Config) { c.PoolSize = 0 }, "pool_size"},
		{"no timeout", func(c *Config) { c.ReadTimeout = 0 }, `read_timeout: "0s"`},
		{"an endless timeout", func(c *Config) { c.DialTimeout = time.Hour }, `dial_timeout: "1h0m0s"`},
		{"many retries", func(c *Config) { c.MaxRetries = 11 }, "max_retries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			tt.change(&c)
			if err := c.Validate(); tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
	all := Config{Mode: "?", Password: secret.NewText("hunter2")}
	err := all.Validate()
	for _, key := range []string{"mode", "addrs", "key_prefix", "pool_size", "dial_timeout"} {
		require.ErrorContains(t, err, key+":", "all mistakes are reported at once")
	}
	require.NotContains(t, err.Error(), "hunter2")
}
