package consumer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"adsync/base/config"
)

// Config holds the settings of a consumer.
type Config struct {
	Subscriptions   []string      `koanf:"subscriptions" doc:"What this consumer works on, as media:lane; a * stands for any. acme:important is one lane of one platform, *:* is everything."`
	PoolReload      time.Duration `koanf:"pool_reload" doc:"How often the table lane is read for new lanes and changed pool sizes."`
	DrainTimeout    time.Duration `koanf:"drain_timeout" doc:"How long work under way may continue when its partition is taken away or the consumer stops. Then it is interrupted, and the next owner does it again. Below broker.drain_timeout, so that outcomes of work that ends in time are also written and committed."`
	BackoffCap      time.Duration `koanf:"backoff_cap" doc:"Longest pause before a failed subtask is tried again. A longer pause that the platform asks for is kept."`
	OutcomeBatch    int           `koanf:"outcome_batch" doc:"The most outcomes that one transaction writes."`
	OutcomeInterval time.Duration `koanf:"outcome_interval" doc:"How long an outcome may wait for others before it is written."`
}

// DefaultConfig returns the settings of a consumer that works on everything.
func DefaultConfig() Config {
	return Config{
		Subscriptions:   []string{"*:*"},
		PoolReload:      5 * time.Second,
		DrainTimeout:    9 * time.Second,
		BackoffCap:      10 * time.Minute,
		OutcomeBatch:    500,
		OutcomeInterval: 50 * time.Millisecond,
	}
}

var subscriptionPattern = regexp.MustCompile(`^(\*|[a-z0-9_-]+):(\*|[a-z0-9_-]+)$`)

// Validate returns the settings that are refused, joined, each as a *config.FieldError.
func (c Config) Validate() error {
	var errs []error
	refuse := func(key string, value any, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: fmt.Sprint(value), Want: want})
	}
	if len(c.Subscriptions) == 0 {
		errs = append(errs, &config.FieldError{Key: "subscriptions", Want: `at least one media:lane, such as "*:*"`})
	}
	for i, s := range c.Subscriptions {
		if !subscriptionPattern.MatchString(s) {
			refuse(fmt.Sprintf("subscriptions[%d]", i), s, "media:lane of small letters, digits, _ and -, or * for any")
		}
	}
	if c.PoolReload < 100*time.Millisecond || c.PoolReload > 10*time.Minute {
		refuse("pool_reload", c.PoolReload, "100ms to 10m")
	}
	if c.DrainTimeout < 0 || c.DrainTimeout > time.Minute {
		refuse("drain_timeout", c.DrainTimeout, "0s to 1m")
	}
	if c.BackoffCap < time.Second || c.BackoffCap > 24*time.Hour {
		refuse("backoff_cap", c.BackoffCap, "1s to 24h")
	}
	if c.OutcomeBatch < 1 || c.OutcomeBatch > 10_000 {
		refuse("outcome_batch", c.OutcomeBatch, "1 to 10000")
	}
	if c.OutcomeInterval < 0 || c.OutcomeInterval > 10*time.Second {
		refuse("outcome_interval", c.OutcomeInterval, "0s to 10s")
	}
	return errors.Join(errs...)
}

// subscribed reports whether a subscription covers the lane of the platform.
func (c Config) subscribed(media, lane string) bool {
	for _, s := range c.Subscriptions {
		m, l, _ := strings.Cut(s, ":")
		if (m == "*" || m == media) && (l == "*" || l == lane) {
			return true
		}
	}
	return false
}
