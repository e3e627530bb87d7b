package httpapi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"adsync/base/config"
	"adsync/base/localhost"
	"adsync/base/secret"
)

// Config holds the addresses, callers and bounds of the HTTP server.
type Config struct {
	Listen         string        `koanf:"listen" doc:"The address of the API, health and, for callers with a token, metrics, as host:port. Without tokens it must be a loopback address; an empty host means all addresses."`
	MetricsListen  string        `koanf:"metrics_listen" doc:"An address that serves /metrics alone and without a token, as host:port, for a Prometheus that has none. The metrics show spend by game: use an address that only your monitoring reaches. Empty means none."`
	Tokens         []Token       `koanf:"tokens" doc:"Who may call the API. With none, every caller on this machine may do everything."`
	TrustedProxies []string      `koanf:"trusted_proxies" doc:"Addresses or networks (10.0.0.0/8) of trusted proxies. Their X-Forwarded-For gives the client's address, for the log and for counting wrong tokens. Their X-Forwarded-Proto shows whether the client speaks TLS, so that the page's cookie is Secure. Empty means that no proxy is trusted."`
	RequestTimeout time.Duration `koanf:"request_timeout" doc:"The time after which a request is ended."`
	BodyLimit      int64         `koanf:"body_limit" doc:"The largest request body, in bytes."`
	TLS            TLSConfig     `koanf:"tls"`
	ShutdownDelay  time.Duration `koanf:"shutdown_delay" doc:"How long requests are still taken at a stop after /readyz begins to answer 503, so that load balancers notice. 0s without a load balancer; at most 3s, so that the program stops within 15s."`
}

// Token is the credential of a caller.
type Token struct {
	Name  string      `koanf:"name" doc:"The name of the token's owner, as logs and the audit trail show it."`
	Token secret.Text `koanf:"token" doc:"The line that adsync token new prints for it: sha256: and the hash of the token, which must have at least 32 characters. Or the bearer token itself, of at least 16 characters: then keep it out of files that others read."`
	Role  Role        `koanf:"role" doc:"What it allows: viewer reads, operator also runs and repeats work, admin also changes settings."`
}

const (
	tokenLengthMin   = 16
	shutdownDelayMax = 3 * time.Second
)

// DefaultConfig serves callers on this machine.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8080", RequestTimeout: 30 * time.Second, BodyLimit: 1 << 20}
}

// Validate reports every setting that cannot be used.
func (c Config) Validate() error {
	var errs []error
	refuse := func(key, value, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: value, Want: want})
	}
	host, port, ok := splitAddress(c.Listen)
	if !ok {
		refuse("listen", c.Listen, addressWanted)
	} else if len(c.Tokens) == 0 && !localhost.Is(host) {
		refuse("listen", c.Listen,
			"a loopback address such as 127.0.0.1:8080 while api.tokens is empty: without tokens everyone who reaches it may "+
				"do everything")
	}
	if _, metricsPort, ok := splitAddress(c.MetricsListen); c.MetricsListen != "" && !ok {
		refuse("metrics_listen", c.MetricsListen, addressWanted)
	} else if c.MetricsListen != "" && metricsPort == port && port != "0" {
		refuse("metrics_listen", c.MetricsListen, "another port than that of api.listen, whose /metrics needs a token")
	}
	names := map[string]bool{}
	hashes := map[[sha256.Size]byte]bool{}
	for i, t := range c.Tokens {
		at := fmt.Sprintf("tokens[%d]", i)
		if t.Name == "" || names[t.Name] {
			refuse(at+".name", t.Name, "a name that no other token has")
		}
		names[t.Name] = true
		hash, _, ok := t.hash()
		if !ok {
			refuse(at+".token", "", hashMark+" and the 64 hexadecimal digits of a SHA-256, as adsync token new prints them")
		} else if len(t.Token.Reveal()) < tokenLengthMin || hashes[hash] {
			refuse(at+".token", "", fmt.Sprintf("at least %d characters that no other token has: adsync token new makes one",
				tokenLengthMin))
		}
		hashes[hash] = true
		if t.Role.rank() == 0 {
			refuse(at+".role", string(t.Role), "viewer, operator or admin")
		}
	}
	for i, proxy := range c.TrustedProxies {
		_, prefixErr := netip.ParsePrefix(proxy)
		if _, err := netip.ParseAddr(proxy); err != nil && prefixErr != nil {
			refuse(fmt.Sprintf("trusted_proxies[%d]", i), proxy, "an address or a network, such as 10.0.0.7 or 10.0.0.0/8")
		}
	}
	if c.RequestTimeout <= 0 {
		refuse("request_timeout", c.RequestTimeout.String(), "more than 0s")
	}
	if c.BodyLimit <= 0 {
		refuse("body_limit", strconv.FormatInt(c.BodyLimit, 10), "at least 1")
	}
	errs = append(errs, c.TLS.validate()...)
	if c.ShutdownDelay < 0 || c.ShutdownDelay > shutdownDelayMax {
		refuse("shutdown_delay", c.ShutdownDelay.String(), "0s to "+shutdownDelayMax.String())
	}
	return errors.Join(errs...)
}

const addressWanted = "host:port with a port from 0 (any free one) to 65535"

// proxies returns the networks of trusted_proxies.
func (c Config) proxies() []netip.Prefix {
	var all []netip.Prefix
	for _, proxy := range c.TrustedProxies {
		if address, err := netip.ParseAddr(proxy); err == nil {
			all = append(all, netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()))
		} else if network, err := netip.ParsePrefix(proxy); err == nil {
			all = append(all, network)
		}
	}
	return all
}

func splitAddress(address string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(address)
	n, portErr := strconv.Atoi(port)
	return host, port, err == nil && portErr == nil && n >= 0 && n <= 65535
}
