package redis

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"adsync/base/config"
	"adsync/base/secret"
)

// The ways a Redis can be deployed.
const (
	ModeSingle   = "single"
	ModeSentinel = "sentinel"
	ModeCluster  = "cluster"
)

// Config defines where Redis is and how to use it.
type Config struct {
	Mode             string           `koanf:"mode" doc:"How Redis is deployed: single, sentinel or cluster."`
	Addrs            []string         `koanf:"addrs" doc:"host:port of the server (single), of the sentinels, or of some nodes of the cluster."`
	MasterName       string           `koanf:"master_name" doc:"Name of the master that the sentinels watch. Only for sentinel."`
	Username         string           `koanf:"username" doc:"User of Redis's access control list. Empty means the default user."`
	Password         secret.Text      `koanf:"password" doc:"Password of that user. Empty means none."`
	SentinelUsername string           `koanf:"sentinel_username" doc:"User at the sentinels themselves. Empty means the default user."`
	SentinelPassword secret.Text      `koanf:"sentinel_password" doc:"Password at the sentinels themselves. Empty means none."`
	DB               int              `koanf:"db" doc:"Number of the database. A cluster has only 0."`
	KeyPrefix        string           `koanf:"key_prefix" doc:"Prefix of every key, so that several deployments can share a Redis."`
	TLS              config.ClientTLS `koanf:"tls"`
	PoolSize         int              `koanf:"pool_size" doc:"Maximum number of connections per server."`
	DialTimeout      time.Duration    `koanf:"dial_timeout" doc:"Longest time to open a connection."`
	ReadTimeout      time.Duration    `koanf:"read_timeout" doc:"Longest time to wait for an answer; a shorter deadline of the caller applies."`
	WriteTimeout     time.Duration    `koanf:"write_timeout" doc:"Longest time to send a command; a shorter deadline of the caller applies."`
	PoolTimeout      time.Duration    `koanf:"pool_timeout" doc:"Longest time to wait for a free connection."`
	MaxRetries       int              `koanf:"max_retries" doc:"How often a failed command is sent again. 0 means never."`
}

// DefaultConfig returns the settings of one server on this machine.
func DefaultConfig() Config {
	return Config{
		Mode:         ModeSingle,
		Addrs:        []string{"127.0.0.1:6379"},
		KeyPrefix:    "adsync",
		PoolSize:     64,
		DialTimeout:  time.Second,
		ReadTimeout:  time.Second,
		WriteTimeout: time.Second,
		PoolTimeout:  2 * time.Second,
		// One more try replaces a connection that died while idle. More tries would only delay the fallback that every user
		// of Redis has.
		MaxRetries: 1,
	}
}

// Validate returns every mistake in c, joined.
func (c Config) Validate() error {
	var errs []error
	refuse := func(key string, value any, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: fmt.Sprint(value), Want: want})
	}
	switch c.Mode {
	case ModeSingle:
		if len(c.Addrs) != 1 {
			refuse("addrs", strings.Join(c.Addrs, ","), "exactly one host:port in mode single")
		}
	case ModeSentinel:
		if c.MasterName == "" {
			refuse("master_name", "", "the name of the master that the sentinels watch")
		}
	case ModeCluster:
		if c.DB != 0 {
			refuse("db", c.DB, "0 in mode cluster")
		}
	default:
		refuse("mode", c.Mode, "single, sentinel or cluster")
	}
	if c.Mode != ModeSingle && len(c.Addrs) == 0 {
		refuse("addrs", "", "at least one host:port")
	}
	if c.Mode != ModeSentinel && c.MasterName != "" {
		refuse("master_name", c.MasterName, "nothing unless mode is sentinel")
	}
	for _, addr := range c.Addrs {
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" || strings.Contains(addr, "@") {
			refuse("addrs", addr, "host:port; set username and password separately")
		}
	}
	if c.DB < 0 {
		refuse("db", c.DB, "0 or more")
	}
	if c.KeyPrefix == "" || strings.ContainsAny(c.KeyPrefix, "{} \t\r\n") {
		refuse("key_prefix", c.KeyPrefix, "a word without braces and spaces")
	}
	errs = append(errs, c.TLS.Validate()...)
	if !c.TLS.Enabled && (c.TLS.CAFile != "" || c.TLS.CertFile != "" || c.TLS.ServerName != "" ||
		c.TLS.InsecureSkipVerify) {
		refuse("tls.enabled", c.TLS.Enabled, "true, because other settings of tls are given")
	}
	if c.PoolSize < 1 {
		refuse("pool_size", c.PoolSize, "at least 1")
	}
	for key, d := range map[string]time.Duration{
		"dial_timeout": c.DialTimeout, "read_timeout": c.ReadTimeout,
		"write_timeout": c.WriteTimeout, "pool_timeout": c.PoolTimeout,
	} {
		if d <= 0 || d > time.Minute {
			refuse(key, d, "more than 0s and at most 1m")
		}
	}
	if c.MaxRetries < 0 || c.MaxRetries > 10 {
		refuse("max_retries", c.MaxRetries, "0 to 10")
	}
	return errors.Join(errs...)
}
