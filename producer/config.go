package producer

import (
	"errors"
	"fmt"
	"time"

	"adsync/base/config"
)

// Config holds the settings of a producer.
type Config struct {
	BatchSize      int           `koanf:"batch_size" doc:"Accounts that a fan-out takes at a time: one write to Kafka, one step of the run's cursor."`
	MaxFanOuts     int           `koanf:"max_fan_outs" doc:"The most runs that are fanned out at the same time; the others wait."`
	ReloadInterval time.Duration `koanf:"reload_interval" doc:"How often tasks and bindings are read again. A reload over the API does not wait for it."`
	LeaseTTL       time.Duration `koanf:"lease_ttl" doc:"How long a killed leader keeps the lead. A live one renews four times as often."`
	// FiguresInterval is that of package watch.
	FiguresInterval time.Duration `koanf:"figures_interval" doc:"How often the leader reads figures of the business from the tables for its metrics. It rests nine times as long as a read took, but at most six times this interval."`
	Schedule        bool          `koanf:"schedule" doc:"Whether tasks run by their cron. false = only orders by hand run."`
}

// DefaultConfig returns the settings of a deployment. A killed leader is replaced within 13 s: its lease and about 1 s.
func DefaultConfig() Config {
	return Config{BatchSize: 500, MaxFanOuts: 16, ReloadInterval: time.Minute, LeaseTTL: 12 * time.Second,
		FiguresInterval: time.Minute, Schedule: true}
}

// Validate returns every refused setting, joined, each as a *config.FieldError.
func (c Config) Validate() error {
	var errs []error
	refuse := func(key string, value any, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: fmt.Sprint(value), Want: want})
	}
	if c.BatchSize < 1 || c.BatchSize > 1000 {
		refuse("batch_size", c.BatchSize, "1 to 1000")
	}
	if c.MaxFanOuts < 1 || c.MaxFanOuts > 256 {
		refuse("max_fan_outs", c.MaxFanOuts, "1 to 256")
	}
	if c.ReloadInterval < time.Second || c.ReloadInterval > time.Minute {
		// The docs promise that edits by SQL take effect within about a minute.
		refuse("reload_interval", c.ReloadInterval, "1s to 1m")
	}
	if c.LeaseTTL < 6*time.Second || c.LeaseTTL > time.Minute {
		refuse("lease_ttl", c.LeaseTTL, "6s to 1m")
	}
	if c.FiguresInterval < 5*time.Second || c.FiguresInterval > 10*time.Minute {
		refuse("figures_interval", c.FiguresInterval, "5s to 10m")
	}
	return errors.Join(errs...)
}
