package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
)

func TestConfig_Validate(t *testing.T) {
	t.Parallel()
	token := func(name, text string, role Role) Token {
		return Token{Name: name, Token: secret.NewText(text), Role: role}
	}
	const long = "0123456789abcdef"
	const wantLoopback = "want a loopback address such as 127.0.0.1:8080 while api.tokens is empty: without tokens " +
		"everyone who reaches it may do everything"
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"the default", func(*Config) {}, ""},
		{"localhost", func(c *Config) { c.Listen = "localhost:1" }, ""},
		{"IPv6 loopback", func(c *Config) { c.Listen = "[::1]:1" }, ""},
		{"all addresses with a token", func(c *Config) { c.Listen = ":8080"; c.Tokens = []Token{token("a", long, Admin)} },
			""},
		{"all addresses without a token", func(c *Config) { c.Listen = ":8080" },
			`listen: ":8080" is refused: ` + wantLoopback},
		{"a network address without a token", func(c *Config) { c.Listen = "10.0.0.1:8080" },
			`listen: "10.0.0.1:8080" is refused: ` + wantLoopback},
		{"no port", func(c *Config) { c.Listen = "127.0.0.1" },
			`listen: "127.0.0.1" is refused: want host:port with a port from 0 (any free one) to 65535`},
		{"a port too high", func(c *Config) { c.Listen = "127.0.0.1:65536" },
			`listen: "127.0.0.1:65536" is refused: want host:port with a port from 0 (any free one) to 65535`},
		{"two tokens with the same name and text", func(c *Config) {
			c.Tokens = []Token{token("a", long, Admin), token("a", long, Viewer)}
		},
			"tokens[1].name: \"a\" is refused: want a name that no other token has\n" +
				"tokens[1].token: want at least 16 characters that no other token has: adsync token new makes one"},
		{"a token that can be guessed, of no role", func(c *Config) { c.Tokens = []Token{token("a", "short", "owner")} },
			"tokens[0].token: want at least 16 characters that no other token has: adsync token new makes one\n" +
				`tokens[0].role: "owner" is refused: want viewer, operator or admin`},
		{"an unusable hash", func(c *Config) {
			c.Tokens = []Token{token("a", "sha256:0123", Admin), token("b", "sha256:"+strings.Repeat("x", 64), Admin)}
		},
			"tokens[0].token: want sha256: and the 64 hexadecimal digits of a SHA-256, as adsync token new prints them\n" +
				"tokens[1].token: want sha256: and the 64 hexadecimal digits of a SHA-256, as adsync token new prints them"},
		{"a token and its hash", func(c *Config) {
			c.Tokens = []Token{token("a", long, Admin), token("b", HashToken(secret.NewText(long)), Admin)}
		}, "tokens[1].token: want at least 16 characters that no other token has: adsync token new makes one"},
		{"a hash", func(c *Config) { c.Tokens = []Token{token("a", HashToken(secret.NewText(long)), Admin)} }, ""},
		{"metrics on an address of their own", func(c *Config) { c.MetricsListen = "0.0.0.0:9464" }, ""},
		{"metrics without a host", func(c *Config) { c.MetricsListen = "9464" },
			`metrics_listen: "9464" is refused: want host:port with a port from 0 (any free one) to 65535`},
		{"metrics on the address of the API", func(c *Config) { c.MetricsListen = "127.0.0.1:8080" },
			`metrics_listen: "127.0.0.1:8080" is refused: want another port than that of api.listen, whose /metrics needs ` +
				`a token`},
		{"proxies", func(c *Config) { c.TrustedProxies = []string{"10.0.0.7", "10.0.0.0/8", "fd00::/8"} }, ""},
		{"a proxy by name", func(c *Config) { c.TrustedProxies = []string{"proxy.example"} },
			`trusted_proxies[0]: "proxy.example" is refused: want an address or a network, such as 10.0.0.7 or 10.0.0.0/8`},
		{"limits of nothing", func(c *Config) { c.RequestTimeout, c.BodyLimit, c.ShutdownDelay = 0, 0, time.Minute },
			"request_timeout: \"0s\" is refused: want more than 0s\nbody_limit: \"0\" is refused: want at least 1\n" +
				`shutdown_delay: "1m0s" is refused: want 0s to 3s`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			test.change(&c)
			err := c.Validate()
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}
