package ratelimit

import (
	"errors"
	"fmt"
	"time"

	"adsync/base/config"
)

// Config says how limits are kept. The limits themselves are rows.
type Config struct {
	ArrivalSpread time.Duration `koanf:"arrival_spread" doc:"Largest difference between calls in the time from their grant to their arrival at the platform. Larger is safer and a little slower; a call that is not sent within it is granted anew."`
	Members       int           `koanf:"members" doc:"Into how many parts each limit is divided at least while Redis is away: as many as there are processes that reached it last, if they are more. One that begins without Redis has a part only if this number leaves one."`
	Plain         bool          `koanf:"plain" doc:"Counts calls by ulule/limiter alone, in windows that begin anew: simpler to look into, and good for a few calls. Around the beginning of a window up to twice a limit gets through, which the platform refuses, and each call asks Redis."`
	RedisTimeout  time.Duration `koanf:"redis_timeout" doc:"How long Redis may take to answer an ask for calls before it counts as away. What was granted before lasts for up to 2 s."`
}

// spreadMin leaves a granted call time to wake up in.
const spreadMin = 50 * time.Millisecond

// DefaultConfig suits a handful of consumers near their Redis.
func DefaultConfig() Config {
	return Config{ArrivalSpread: 100 * time.Millisecond, Members: 4, RedisTimeout: time.Second}
}

// Validate returns every mistake in c, joined.
func (c Config) Validate() error {
	var errs []error
	if c.ArrivalSpread < spreadMin || c.ArrivalSpread > 10*time.Second {
		errs = append(errs, &config.FieldError{Key: "arrival_spread", Value: c.ArrivalSpread.String(), Want: fmt.Sprintf("%s to 10s", spreadMin)})
	}
	if c.Members < 1 || c.Members > 1000 {
		errs = append(errs, &config.FieldError{Key: "members", Value: fmt.Sprint(c.Members), Want: "1 to 1000"})
	}
	if c.RedisTimeout < 10*time.Millisecond || c.RedisTimeout > 10*time.Second {
		errs = append(errs, &config.FieldError{Key: "redis_timeout", Value: c.RedisTimeout.String(), Want: "10ms to 10s"})
	}
	return errors.Join(errs...)
}
