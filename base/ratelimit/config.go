package ratelimit

import (
	"errors"
	"fmt"
	"time"

	"adsync/base/config"
)

// Config defines how limits are kept. The limits themselves are rows of a table.
type Config struct {
	ArrivalSpread time.Duration `koanf:"arrival_spread" doc:"Largest difference between calls in the time from their grant to their arrival at the platform. Larger is safer and a little slower; a call that is not sent within it waits for a new grant."`
	Members       int           `koanf:"members" doc:"Least number of parts into which each limit is divided while Redis is away. If more processes reached Redis last, there are as many parts as processes. A process that starts without Redis has a part only if this number leaves one."`
	Plain         bool          `koanf:"plain" doc:"Counts calls with ulule/limiter only, in fixed windows. This is simpler to inspect and suits few calls. Around the start of a window up to twice a limit gets through, which the platform refuses, and each call is a request to Redis."`
	RedisTimeout  time.Duration `koanf:"redis_timeout" doc:"How long Redis may take to answer a request for calls before it counts as away. Earlier grants last for up to 2 s."`
}

// spreadMin leaves a granted call time to wake up.
const spreadMin = 50 * time.Millisecond

// DefaultConfig suits a handful of consumers near their Redis.
func DefaultConfig() Config {
	return Config{ArrivalSpread: 100 * time.Millisecond, Members: 4, RedisTimeout: time.Second}
}

// Validate returns every mistake in c, joined.
func (c Config) Validate() error {
	var errs []error
	if c.ArrivalSpread < spreadMin || c.ArrivalSpread > 10*time.Second {
		errs = append(errs, &config.FieldError{Key: "arrival_spread", Value: c.ArrivalSpread.String(),
			Want: fmt.Sprintf("%s to 10s", spreadMin)})
	}
	if c.Members < 1 || c.Members > 1000 {
		errs = append(errs, &config.FieldError{Key: "members", Value: fmt.Sprint(c.Members), Want: "1 to 1000"})
	}
	if c.RedisTimeout < 10*time.Millisecond || c.RedisTimeout > 10*time.Second {
		errs = append(errs, &config.FieldError{Key: "redis_timeout", Value: c.RedisTimeout.String(), Want: "10ms to 10s"})
	}
	return errors.Join(errs...)
}
