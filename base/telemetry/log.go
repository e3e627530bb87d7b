// Package telemetry sets up the program's logs, metrics and build information.
package telemetry

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"adsync/base/config"
)

// Config defines how the program logs.
type Config struct {
	Level  string `koanf:"level" doc:"The lowest level that is logged: debug, info, warn or error."`
	Format string `koanf:"format" doc:"How a record is written: json, or text for people."`
}

// DefaultConfig returns the settings of a service.
func DefaultConfig() Config { return Config{Level: "info", Format: "json"} }

// Validate reports an unknown level or format.
func (c Config) Validate() error {
	var errs []error
	if _, err := ParseLevel(c.Level); err != nil {
		errs = append(errs, &config.FieldError{Key: "level", Value: c.Level, Want: "debug, info, warn or error"})
	}
	if c.Format != "json" && c.Format != "text" {
		errs = append(errs, &config.FieldError{Key: "format", Value: c.Format, Want: "json or text"})
	}
	return errors.Join(errs...)
}

// ParseLevel parses one of the four level names, in lower case.
func ParseLevel(name string) (slog.Level, error) {
	switch name {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	default:
		return 0, errors.New("want debug, info, warn or error")
	}
}

// NewLogger returns the program's logger, whose records have UTC times. The level may be changed while it is used.
func NewLogger(c Config, w io.Writer) (*slog.Logger, *slog.LevelVar, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	level := new(slog.LevelVar)
	initial, err := ParseLevel(c.Level)
	if err != nil {
		return nil, nil, err
	}
	level.Set(initial)
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: inUTC}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(w, options)), level, nil
	}
	return slog.New(slog.NewJSONHandler(w, options)), level, nil
}

// inUTC makes the logs of processes in several zones comparable.
func inUTC(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC().Truncate(time.Millisecond))
	}
	return a
}
