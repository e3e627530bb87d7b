package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"adsync/base/config"
	"adsync/base/secret"
)

// Config defines how Kafka is reached and used.
type Config struct {
	Brokers  []string `koanf:"brokers" doc:"Addresses (host:port) of some brokers of the cluster. The others are found through them."`
	ClientID string   `koanf:"client_id" doc:"Name under which this program appears in the brokers' logs and quotas."`
	Prefix   string   `koanf:"prefix" doc:"First part of all topic and group names. Two deployments on one cluster need different ones."`

	Partitions  int           `koanf:"partitions" doc:"Partitions of a new topic. If this is raised, existing topics get more partitions. Partitions are never removed."`
	Replication int           `koanf:"replication" doc:"Copies of a new topic's partitions. -1 leaves it to the broker's own default."`
	MinInsync   int           `koanf:"min_insync" doc:"Copies that must have a message before it counts as written, for new topics. 0 leaves it to the broker's own default."`
	Retention   time.Duration `koanf:"retention" doc:"How long a new topic keeps messages. Must be longer than the longest stop of all consumers."`
	Compression string        `koanf:"compression" doc:"Compression of written messages: none, gzip, snappy, lz4 or zstd."`

	TLS  config.ClientTLS `koanf:"tls"`
	SASL SASLConfig       `koanf:"sasl"`

	SessionTimeout   time.Duration `koanf:"session_timeout" doc:"How long a consumer may be silent before its partitions go to others. Must leave room for drain_timeout."`
	RebalanceTimeout time.Duration `koanf:"rebalance_timeout" doc:"How long the group waits for its members when partitions are assigned again."`
	DrainTimeout     time.Duration `koanf:"drain_timeout" doc:"How long work in flight may continue when its partition is revoked or the consumer stops. At most two thirds of session_timeout, and more than 3s less than it."`
	CommitInterval   time.Duration `koanf:"commit_interval" doc:"How often finished offsets are committed."`
	WriteTimeout     time.Duration `koanf:"write_timeout" doc:"How long a write is tried, including all repetitions, before it fails."`
	Span             int           `koanf:"span" doc:"How many messages of a partition may be read beyond the oldest unfinished one."`

	// Dial replaces the network in tests. It is not read from the configuration.
	Dial func(ctx context.Context, network, address string) (net.Conn, error) `koanf:"-"`
}

// The mechanisms of SASLConfig.
const (
	MechanismNone        = ""
	MechanismPlain       = "plain"
	MechanismScramSHA256 = "scram-sha-256"
	MechanismScramSHA512 = "scram-sha-512"
)

// SASLConfig defines how the program signs in at the brokers.
type SASLConfig struct {
	Mechanism string      `koanf:"mechanism" doc:"How to sign in: plain, scram-sha-256 or scram-sha-512. Empty means not at all."`
	Username  string      `koanf:"username" doc:"User to sign in as."`
	Password  secret.Text `koanf:"password" doc:"Password of that user."`
}

// DefaultConfig returns the settings of a deployment on three brokers or more; Brokers has no default.
func DefaultConfig() Config {
	return Config{
		ClientID:    "adsync",
		Prefix:      "adsync",
		Partitions:  24,
		Replication: 3,
		MinInsync:   2,
		Retention:   72 * time.Hour,
		Compression: "lz4",
		// Other members read the partitions of a killed member within 30 s: the session expires (15 s), the others notice
		// (1 s), finish their current work (at most 10 s) and join (1 s). A shorter session would treat a stalled member as
		// dead. A shorter drain would repeat more work at each deployment. The drain stays well below the session, because
		// heartbeats end when the drain begins.
		SessionTimeout:   15 * time.Second,
		RebalanceTimeout: 60 * time.Second,
		DrainTimeout:     10 * time.Second,
		CommitInterval:   time.Second,
		WriteTimeout:     20 * time.Second,
		Span:             1024,
	}
}

// releaseTime is what the session needs in addition to the drain: the last heartbeat is up to a heartbeatInterval
// old, and the commits before and after the drain and GroupConfig.Assigned's released take time.
const releaseTime = 3 * time.Second

// sessionMin is the shortest session that brokers accept by default.
const sessionMin = 6 * time.Second

// kafkaName matches what Kafka accepts in names of topics. The prefix leaves room for media and lane.
var kafkaName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// Validate returns every invalid setting, joined, each as a *config.FieldError.
func (c Config) Validate() error {
	var errs []error
	refuse := func(key string, value any, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: fmt.Sprint(value), Want: want})
	}
	if len(c.Brokers) == 0 {
		errs = append(errs, &config.FieldError{Key: "brokers", Want: "at least one host:port"})
	}
	for _, address := range c.Brokers {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" ||
			strings.Contains(address, "@") {
			refuse("brokers", address, "addresses of the form host:port; set sasl.username and sasl.password separately")
		}
	}
	if !kafkaName.MatchString(c.Prefix) {
		refuse("prefix", c.Prefix, "1 to 100 letters, digits, dots, dashes and underscores")
	}
	if c.Partitions < 1 || c.Partitions > 10_000 {
		refuse("partitions", c.Partitions, "1 to 10000")
	}
	if c.Replication != -1 && (c.Replication < 1 || c.Replication > 100) {
		refuse("replication", c.Replication, "1 or more, or -1 for the broker's default")
	}
	if c.MinInsync < 0 || (c.Replication > 0 && c.MinInsync > c.Replication) {
		refuse("min_insync", c.MinInsync, "0 for the broker's default, or 1 up to replication")
	}
	if c.Retention < time.Hour {
		refuse("retention", c.Retention, "one hour or more, such as 72h")
	}
	if _, ok := compressions[c.Compression]; !ok {
		refuse("compression", c.Compression, "none, gzip, snappy, lz4 or zstd")
	}
	errs = append(errs, c.validateTimes()...)
	if c.Span < 1 || c.Span > 1_000_000 {
		refuse("span", c.Span, "1 to 1000000")
	}
	errs = append(errs, c.TLS.Validate()...)
	errs = append(errs, c.SASL.validate()...)
	return errors.Join(errs...)
}

func (c Config) validateTimes() []error {
	var errs []error
	refuse := func(key string, value time.Duration, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: value.String(), Want: want})
	}
	// Brokers refuse sessions outside group.min.session.timeout.ms and group.max.session.timeout.ms.
	if c.SessionTimeout < sessionMin || c.SessionTimeout > 30*time.Minute {
		refuse("session_timeout", c.SessionTimeout, "6s to 30m")
	}
	if c.RebalanceTimeout < time.Second || c.RebalanceTimeout <= c.DrainTimeout {
		refuse("rebalance_timeout", c.RebalanceTimeout, "longer than drain_timeout")
	}
	// Heartbeats end with the generation: a drain that is longer than the session cannot commit.
	if c.DrainTimeout < 0 || c.DrainTimeout > c.SessionTimeout*2/3 || c.DrainTimeout+
		releaseTime >= max(c.SessionTimeout, sessionMin) {
		refuse("drain_timeout", c.DrainTimeout,
			fmt.Sprintf("0s to two thirds of session_timeout, and more than %s less than it", releaseTime))
	}
	if c.CommitInterval < 10*time.Millisecond || c.CommitInterval > time.Minute {
		refuse("commit_interval", c.CommitInterval, "10ms to 1m")
	}
	if c.WriteTimeout < 100*time.Millisecond || c.WriteTimeout > 10*time.Minute {
		refuse("write_timeout", c.WriteTimeout, "100ms to 10m")
	}
	return errs
}

func (c SASLConfig) validate() []error {
	known := []string{MechanismNone, MechanismPlain, MechanismScramSHA256, MechanismScramSHA512}
	if !slices.Contains(known, c.Mechanism) {
		return []error{&config.FieldError{Key: "sasl.mechanism", Value: c.Mechanism,
			Want: "plain, scram-sha-256, scram-sha-512 or nothing"}}
	}
	if c.Mechanism == MechanismNone {
		return nil
	}
	var errs []error
	if c.Username == "" {
		errs = append(errs, &config.FieldError{Key: "sasl.username", Want: "a user name, because sasl.mechanism is set"})
	}
	if c.Password.Reveal() == "" {
		errs = append(errs, &config.FieldError{Key: "sasl.password", Want: "a password, because sasl.mechanism is set"})
	}
	return errs
}
